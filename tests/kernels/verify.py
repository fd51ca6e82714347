#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verify.py DATA: what tests/kernels/init wrote: ready, samples, right pids, named frames, and a name,
a cost and a remedy for each feature that this kernel lacks."""
import json
import sys


def parts(path):
    out, name = {}, None
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            line = line.rstrip("\r\n")
            if line.startswith("=== "):
                name = line[4:]
                out[name] = []
            elif name:
                out[name].append(line)
    return out


def samples_of(lines):
    out = []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record.get("kind") == "sample":
            out.append(record)
    return out


def functions(sample):
    return [f.get("function") for f in sample.get("stack", [])]


def verify(p):
    """Yields (claim, holds, detail)."""
    yield "it booted and ended", "end" in p, "the machine did not get to its end"
    log = p.get("log", [])
    yield "ready", any(line.startswith("ringsided: ready: ") for line in log), "\n".join(log[-15:])
    samples = samples_of(p.get("samples", []))
    yield "at least 100 samples", len(samples) >= 100, "%d samples" % len(samples)
    demo = [s for s in samples if s.get("comm") == "demo_workload"]
    pid = int((p.get("demo") or ["0"])[0] or 0)
    yield "demo samples", len(demo) >= 50, "%d" % len(demo)
    wrong = [s.get("pid") for s in demo if s.get("pid") != pid]
    yield "right pids", not wrong, "want %d, got %r" % (pid, wrong[:5])
    named = [s for s in demo if any(n and n.startswith("burn_") for n in functions(s)[:8])]
    yield "named frames", len(named) >= 0.8 * len(demo) and named, "%d of %d" % (len(named), len(demo))
    whole = [s for s in demo if "main" in functions(s) or "serve" in functions(s)]
    yield "stacks that go on to the caller", len(whole) >= 0.8 * len(demo), "%d of %d" % (len(whole), len(demo))
    shop = [s for s in demo if (s.get("resource") or {}).get("service.name") == "shop"]
    yield "service name", len(shop) >= 0.8 * len(demo), "%d of %d" % (len(shop), len(demo))
    hooked = [s for s in samples if s.get("comm") == "ctx_publish"]
    told = [s for s in hooked if (s.get("resource") or {}).get("service.name") == "hooked"]
    yield "a context told of by the hook", len(told) >= 0.8 * len(hooked) and told, "%d of %d" % (
        len(told), len(hooked))
    writer = [s for s in samples if s.get("comm") == "tls_writer"]
    traced = [s for s in writer if s.get("trace_id") == "5a" * 16 and
              (s.get("attributes") or {}).get("which") == "case"]
    yield "thread contexts", len(traced) >= 0.8 * len(writer) and traced, "%d of %d: %s" % (
        len(traced), len(writer), [s.get("context_state") for s in writer[:5]])
    try:
        status = json.loads("".join(p.get("status", [])))
        yield "status", status.get("alive") is True, repr(status)[:300]
    except ValueError as e:
        yield "status", False, str(e)
    try:
        rows = json.loads("\n".join(p.get("probe", [])))
    except ValueError as e:
        rows = []
        yield "probe is JSON", False, str(e)
    yield "probe has rows", len(rows) >= 3, repr(rows)[:200]
    mute = [r.get("name") for r in rows if not r.get("ok") and not (r.get("effect") and r.get("remedy"))]
    yield "what is missing is named with its cost and remedy", not mute, repr(mute)
    missing = [r.get("name") for r in rows if not r.get("ok")]
    yield "clean stop", (p.get("sidecar-status") or ["?"])[0] == "0", repr(p.get("sidecar-status"))
    print("  %s: %d samples, %d of the demo; missing there: %s" % (
        " ".join(p.get("kernel", ["?"])), len(samples), len(demo), ", ".join(map(str, missing)) or "nothing"))


def main():
    bad = 0
    try:
        p = parts(sys.argv[1])
    except OSError as e:
        print("  not ok nothing was written: %s" % e)
        return 1
    for claim, holds, detail in verify(p):
        print("  %s %s%s" % ("ok" if holds else "not ok", claim, "" if holds else ": " + detail))
        bad += not holds
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
