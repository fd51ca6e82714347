# SPDX-License-Identifier: Apache-2.0
"""root_query.py FILE ARGS... <CODE: runs CODE over the records in FILE (`ringside tail -o json`).

CODE sees `records`, `args` and the functions below; it calls check() and fails when one did.
"""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    records = [json.loads(line) for line in f]		# each line is one whole object
args = sys.argv[2:]
failed = 0


def check(ok, what):
    global failed
    if not ok:
        failed += 1
        print("  not so: " + what)


def kind(k):
    return [r for r in records if r["kind"] == k]


def samples(pid=None, comm=None):
    return [r for r in kind("sample") if (pid is None or r["pid"] == int(pid))
            and (comm is None or r.get("comm") == comm)]


def exe(r):
    return r.get("resource", {}).get("process.executable.path")


def leaf(r):
    return r["stack"][0].get("function") if r.get("stack") else None


def functions(r):
    return [f.get("function") for f in r.get("stack", [])]


def percent(part, whole):
    return 100.0 * len(part) / len(whole) if whole else 0.0


def share(ss, function):
    return percent([s for s in ss if leaf(s) == function], ss)


def settled(ss):
    """The later half: what is new is named a little after it is first seen."""
    return sorted(ss, key=lambda s: int(s["boot_nano"]))[len(ss) // 2:]


def user_frames(ss):
    return [f for s in ss for f in s.get("stack", []) if f.get("type") != "kernel"]


def lost_by_cause():
    out = {}
    for r in kind("lost"):
        out[r["cause"]] = out.get(r["cause"], 0) + int(r["count"])
    return out


def unaccounted():
    """Sequence numbers that neither stand in a record nor were reported lost by the reader."""
    missing, reported, last = 0, 0, None
    for r in records:
        if r["kind"] == "incarnation":
            last = None				# a new file numbers anew
        if r["kind"] == "lost" and r["by"] == "reader":
            reported += int(r["count"])
        elif "seq" in r:
            if last is not None:
                missing += int(r["seq"]) - last - 1
            last = int(r["seq"])
    return missing - reported


exec(compile(sys.stdin.read(), sys.argv[0] + ": query", "exec"))
sys.exit(1 if failed else 0)
