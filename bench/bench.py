# SPDX-License-Identifier: Apache-2.0
"""Every figure is a ratio taken in one run, printed as one line that ends in `met` or `missed`.

S = `perf record -g -o - | perf script -i -`, P = `perf record -g` to a file, F = bench/floor: a BPF program
with a ring buffer polled each 50 ms, samples thrown away.  bench.py --build DIR [--long] [--only WORD].
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from measure import Bench, Group, Skip, boot_ns, finish, median, result, until

rows = []
RATES = (4000, 999, 99)


def figure(what, value, unit, goal, ok, note=""):
    """One row.  ok None: a figure without a goal of its own."""
    verdict = "" if ok is None else "met" if ok else "missed"
    rows.append((what, "%.4g %s" % (value, unit), goal, note, verdict))
    show(rows[-1])


def skipped(what, why):
    rows.append((what, "skipped", "", str(why), "skipped"))
    show(rows[-1])


def show(row):
    what, value, goal, note, verdict = row
    print("%-52s %12s  %-18s %s %s" % (what, value, goal, note and "(%s)" % note, verdict), flush=True)


def have_perf():
    if not shutil.which("perf"):
        raise Skip("no perf on this machine (apt-get install linux-perf)")


# --- CPU of a sample, and how late it is -------------------------------------------------------------


def cost_window(load, groups, hz, seconds):
    """CPU ms of each group per 1000 samples that the load's CPU time stands for."""
    before = [g.cpu() for g in groups]
    load_before = load.cpu()
    time.sleep(seconds)
    samples = (load.cpu() - load_before) * hz
    return [(g.cpu() - b) * 1e6 / samples for g, b in zip(groups, before)]


def settle_time(hz):
    """At 999 Hz the first naming counts, too; at the other rates what goes on after it."""
    return 0 if hz == 999 else 2


def cost_peer(b, start, hz, seconds):
    with Group() as load, Group() as group:
        w1 = b.w1(load, "--seconds", seconds + 6)
        start(group, w1.pid)
        time.sleep(settle_time(hz))
        cost, = cost_window(load, [group], hz, seconds)
        return cost, group.memory()


def cost_ringside(b, hz, seconds, *options):
    with Group() as load, Group() as own, Group() as reader:
        w1 = b.w1(load, "--seconds", seconds + 6)
        b.ringside(own, hz, "--scope", "pid:%d" % w1.pid, *options)
        r = b.reader(reader, "--pid", w1.pid)
        time.sleep(settle_time(hz))
        costs = cost_window(load, [own, reader], hz, seconds)
        return costs, own.memory(without=b.ring), finish(r), b.status()


def row_cost(b, a):
    for hz in RATES:
        window = a.window * 2 if hz == 999 else a.window
        (own, reader), memory, seen, status = cost_ringside(b, hz, window)
        floor, _ = cost_peer(b, lambda g, pid: b.floor(g, "poll", hz, window + 6, pid), hz, window)
        note = "sidecar %.2f + reader %.2f ms; F %.2f ms" % (own, reader, floor)
        try:
            have_perf()
            script, script_memory = cost_peer(b, lambda g, pid: b.perf_script(g, hz, "-p", pid), hz, window)
            goal = {4000: "<= 0.25 S, 12 F", 999: "<= 0.25 S", 99: ""}[hz]
            ratio = (own + reader) / script
            ok = ratio <= 0.25 and (hz != 4000 or own + reader <= 12 * floor)
            figure("CPU per 1000 named samples, %d Hz" % hz, ratio, "S", goal, ok if goal else None,
                   note + "; S %.2f ms; %.1f F" % (script, (own + reader) / floor))
            if hz == 999:
                total = sum(memory)
                figure("memory: PSS + BPF maps, W1, 999 Hz", total / sum(script_memory), "S", "<= 0.5 S",
                       total <= 0.5 * sum(script_memory), "%.1f + %.1f MiB beside a ring of %.0f; S %.1f MiB"
                       % (*memory, status["ring_bytes"] / 2**20, sum(script_memory)))
        except Skip as why:
            skipped("CPU per 1000 named samples, %d Hz" % hz, why)
        latency(hz, seen, "default", 60)
        accounts(hz, seen, status)
        seen = cost_ringside(b, hz, a.window / 2, "--low-latency")[2]
        latency(hz, seen, "low latency", 5)


def latency(hz, seen, which, goal):
    figure("sample to reader p99, %d Hz, %s" % (hz, which), seen["p99_ms"], "ms", "<= %d ms" % goal,
           seen["p99_ms"] <= goal, "p50 %.1f, p99.9 %.1f, worst %.1f ms; p99 of the first second %.1f ms"
           % (seen["p50_ms"], seen["p999_ms"], seen["max_ms"], seen["cold_p99_ms"]))


def accounts(hz, seen, status):
    silent = abs(seen["gaps"] - seen["lapped"])
    lost = sum(int(v) for v in status["lost"].values())
    figure("silent losses, %d Hz" % hz, silent, "records", "0", silent == 0,
           "%d records, %d lapped, %d lost by the writer" % (seen["records"], seen["lapped"], lost))
    if hz == 999:
        figure("wall clock against CLOCK_REALTIME bracketed here", seen["wall_error_ns"] / 1e3, "us", "<= 1 us",
               seen["wall_error_ns"] <= 1000)


def row_slow_reader(b, a):
    """A reader that is lapped over and over accounts for every record."""
    with Group() as load, Group() as own, Group() as reader:
        w1 = b.w1(load, "--seconds", 9)
        b.ringside(own, 4000, "--scope", "pid:%d" % w1.pid, "--ring-size", "256K")
        r = b.reader(reader, "--pause", 3000)
        time.sleep(7)
        seen = finish(r)
    silent = abs(seen["gaps"] - seen["lapped"])
    figure("silent losses of a lapped reader", silent, "records", "0", silent == 0 and seen["lapped"] > 0,
           "%d read, %d lapped" % (seen["records"], seen["lapped"]))


# --- what the workload feels -------------------------------------------------------------------------


def row_slowdown(b, a):
    with Group() as load:
        rounds = int(result(b.w1(load, "--seconds", 1))["rounds"] * a.slow_seconds)

    def run(start):
        with Group() as load, Group() as group:
            start(group)
            return result(b.w1(load, "--rounds", rounds), 60)["cpu"]
    ways = {"none": lambda g: None,
            "clock": lambda g: b.floor(g, "clock", 4000, a.slow_seconds * 3 + 2),
            "ringside": lambda g: b.ringside(g, 4000)}
    if shutil.which("perf"):
        ways["perf"] = lambda g: b.perf(g, 4000, "-a") and time.sleep(0.5)
    cpu = {way: [] for way in ways}
    for _ in range(a.repeat):
        for way, start in ways.items():
            cpu[way].append(run(start))
    base = median(cpu["none"])
    slow = {way: median(v) / base - 1 for way, v in cpu.items()}
    note = ", ".join("%s %+.1f %%" % (way, 100 * s) for way, s in slow.items() if way != "none")
    spread = max(cpu["none"]) / min(cpu["none"]) - 1
    note += "; the same run without a profiler varies by %.1f %%" % (100 * spread)
    ratio = slow["ringside"] / slow["clock"] if slow["clock"] > 0 else 0
    figure("slow-down of W1, 4000 Hz, against the bare clock", ratio, "x", "<= 1.3 x", ratio <= 1.3, note)


def row_captured(b, a):
    shares = []
    for hz in RATES:
        got = []
        for _ in range(a.repeat):
            with Group() as load, Group() as own, Group() as reader:
                b.ringside(own, hz)
                r = b.reader(reader)
                w1 = b.w1(load, "--seconds", 3)
                truth = result(w1)
                time.sleep(0.3)
                r2 = b.reader(reader, "--oldest", "--pid", w1.pid, "--seconds", 0.5)
                seen = result(r2)
                finish(r)
                got.append(100 * seen["mine"] / (truth["cpu"] * hz))
                if hz == 4000:
                    leaves = seen["seventy"] + seen["twenty"] + seen["ten"]
                    shares.append((100 * seen["seventy"] / leaves - truth["seventy"], leaves))
        ok = 99 <= median(got) <= 101
        figure("captured / (CPU seconds x Hz), %d Hz" % hz, median(got), "%", "99..101 %", ok,
               " ".join("%.1f" % g for g in got))
    n = sum(w for _, w in shares)
    error = sum(e * w for e, w in shares) / n
    figure("error of a 70 percent share, pooled", abs(error), "points", "<= 0.5", abs(error) <= 0.5, "n %d" % n)


# --- start and stop ----------------------------------------------------------------------------------


def first_ringside(b, target):
    with Group() as load, Group() as own, Group() as reader:
        pid = target(load)
        try:
            os.unlink(b.ring)
        except OSError:
            pass
        r = b.reader(reader, "--first", "--pid", pid, "--seconds", 20)
        time.sleep(0.2)
        start = boot_ns()
        b.ringside(own, 99)
        return (result(r)["first_named"] - start) / 1e9


def first_perf(b, target):
    have_perf()
    for wait in (1, 3, 6):			# a busy machine needs longer to start it
        with Group() as load, Group() as own:
            pid = target(load)
            time.sleep(0.2)
            start = time.clock_gettime(time.CLOCK_MONOTONIC)
            p = b.perf(own, 99, "-p", pid)
            time.sleep(wait)
            p.send_signal(signal.SIGINT)
            p.wait()
            try:
                return b.perf_samples()[1] - start
            except Skip as why:
                last = why
    raise last


def row_first(b, a):
    def w1(load):
        return b.w1(load, "--seconds", 30).pid

    def w3(load):
        p = load.run([b.built("bench/w3_bigmaps"), 30, 5000], stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        return p.pid
    for name, target in (("W1", w1), ("W3, 5000 mappings", w3)):
        own = median([first_ringside(b, target) for _ in range(a.repeat)])
        perf = median([first_perf(b, target) for _ in range(a.repeat)])
        figure("first resolved sample after start, " + name, own / perf, "P", "<= 1.0 P", own <= perf,
               "%.0f ms; P, unresolved, %.0f ms" % (own * 1e3, perf * 1e3))


def row_start_stop(b, a):
    have_perf()
    own, perf = [], []
    with Group() as load:
        pid = b.w1(load, "--seconds", 60).pid
        for _ in range(a.repeat):
            with Group() as group:
                p = b.ringside(group, 99)
                p.send_signal(signal.SIGTERM)
                p.wait()
                until(lambda: not group.pids(), 3)
                own.append(group.cpu())
            with Group() as group:
                b.perf(group, 99, "-p", pid, "--", "sleep", "0.3").wait()
                perf.append(group.cpu())
    figure("CPU to start and stop", median(own) / median(perf), "P", "<= 0.5 P", median(own) <= 0.5 * median(perf),
           "%.0f ms; P %.0f ms" % (median(own) * 1e3, median(perf) * 1e3))


# --- rest, crowds and big programs -------------------------------------------------------------------


def idle(start, seconds):
    with Group() as group:
        start(group)
        time.sleep(1.5)
        cpu, switches = group.cpu(), group.switches()
        time.sleep(seconds)
        return 100 * (group.cpu() - cpu) / seconds, (group.switches() - switches) / seconds


def row_idle(b, a):
    own, switches = idle(lambda g: b.ringside(g, 999), a.window)
    try:
        have_perf()
        script, _ = idle(lambda g: b.perf_script(g, 999, "-a"), a.window)
        figure("own CPU at rest, 999 Hz", own / script, "S", "<= 0.1 S", own <= 0.1 * script,
               "%.2f %% of a CPU; S %.2f %%" % (own, script))
    except Skip as why:
        skipped("own CPU at rest, 999 Hz", why)
    figure("context switches at rest, 999 Hz", switches, "/s", "<= 25/s", switches <= 25)
    own, switches = idle(lambda g: b.ringside(g, 4000), a.window / 2)
    figure("context switches at rest, 4000 Hz", switches, "/s", "<= 25/s", switches <= 25, "%.2f %% CPU" % own)


def storm(b, a, kind, start):
    with Group() as load, Group() as group:
        start(group)
        time.sleep(0.3)
        load.run([b.built("bench/w2_storm"), kind, a.window], stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        before = group.cpu()
        time.sleep(a.window - 1.5)
        return 100 * (group.cpu() - before) / (a.window - 1.5), group.memory(without=b.ring)


def row_storm(b, a):
    quiet = None
    with Group() as load, Group() as own:
        b.w1(load, "--seconds", 3)
        b.ringside(own, 999)
        time.sleep(2.5)
        quiet = sum(own.memory(without=b.ring))
    for kind in ("threads", "exec"):
        own, memory = storm(b, a, kind, lambda g: b.ringside(g, 999))
        try:
            have_perf()
            script, _ = storm(b, a, kind, lambda g: b.perf_script(g, 999, "-a"))
            figure("own CPU in a storm (W2 %s), 999 Hz" % kind, own / script, "S", "<= 0.25 S",
                   own <= 0.25 * script if kind == "threads" else None,
                   "%.1f %% of a CPU; S %.1f %%" % (own, script))
        except Skip as why:
            skipped("own CPU in a storm (W2 %s), 999 Hz" % kind, why)
        figure("memory in a storm (W2 %s), against W1" % kind, sum(memory) / quiet, "x", "<= 1.2 x",
               sum(memory) <= 1.2 * quiet, "%.1f MiB; W1 %.1f MiB" % (sum(memory), quiet))


def row_big(b, a):
    with Group() as load, Group() as own:
        p = load.run([b.built("bench/w3_bigmaps"), 6], stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        b.ringside(own, 999)
        time.sleep(4)
        pss, maps = own.memory(without=b.ring)
    figure("memory: PSS + BPF maps, W3, 999 Hz", pss + maps, "MiB", "<= 25 MiB", pss + maps <= 25,
           "20,000 functions, 5000 mappings; PSS %.1f" % pss)


# --- what stands in the ring -------------------------------------------------------------------------


def row_bytes(b, a):
    have_perf()
    for depth, goal in ((19, 0.6), (100, 0.2)):
        with Group() as load, Group() as own, Group() as reader:
            w1 = b.w1(load, "--seconds", 8, "--depth", depth)
            b.ringside(own, 4000, "--scope", "pid:%d" % w1.pid, "--ring-size", "1M")
            time.sleep(5)
            seen = result(b.reader(reader, "--oldest", "--seconds", 0.3))
        with Group() as load, Group() as own:
            w1 = b.w1(load, "--seconds", 4, "--depth", depth)
            p = b.perf(own, 4000, "-p", w1.pid)
            time.sleep(2)
            p.send_signal(signal.SIGINT)
            p.wait()
            perf = os.path.getsize(b.shm + "/perf.data") / b.perf_samples()[0]
        stands = seen["data_bytes"] / max(seen["held"], 1)
        once = seen["dict_used"] / max(seen["next_seq"], 1)
        figure("bytes per sample, %d frames" % depth, (stands + once) / perf, "P", "<= %.1f P" % goal,
               stands + once <= goal * perf, "%.0f + %.1f of the dictionary; P %.0f" % (stands, once, perf))


def row_named(b, a):
    with Group() as load, Group() as own, Group() as reader:
        b.ringside(own, 999)
        time.sleep(0.5)
        w1 = b.w1(load, "--seconds", 0.4)
        w1.wait()
        time.sleep(0.5)
        seen = result(b.reader(reader, "--oldest", "--pid", w1.pid, "--seconds", 0.5))
    named = 100 * seen["named"] / max(seen["frames"], 1)
    figure("frames named after the target exited", named, "%", ">= 99 %", named >= 99 and seen["mine"] > 100,
           "%d samples, %d frames" % (seen["mine"], seen["frames"]))


def bpf_programs(pid):
    """{program id: verified instructions} of a process."""
    out = {}
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        info = dict(line.split(":", 1) for line in open("/proc/%d/fdinfo/%s" % (pid, fd)).read().splitlines()
                    if ":" in line)
        if "prog_id" in info:
            out[int(info["prog_id"])] = int(info.get("verified_insns", 0))
    return out


def bpf_run(ids):
    """(ns, runs) of the perf_event program among them, by the kernel's own statistics."""
    for i in ids:
        p = json.loads(subprocess.run(["bpftool", "-j", "prog", "show", "id", str(i)], capture_output=True,
                                      text=True).stdout or "{}")
        if p.get("type") == "perf_event":
            return p.get("run_time_ns", 0), p.get("run_cnt", 0)
    raise Skip("no perf_event program seen by bpftool")


def row_bpf(b, a):
    knob = "/proc/sys/kernel/bpf_stats_enabled"
    if not shutil.which("bpftool"):
        raise Skip("no bpftool")
    old = open(knob).read()
    try:
        with open(knob, "w") as f:
            f.write("1")
        bpf_sample(b)
        bpf_out_of_scope(b)
    finally:
        with open(knob, "w") as f:
            f.write(old)


def bpf_sample(b):
    """What all runs took, less what those out of scope and at rest take: per sample."""
    with Group() as load, Group() as own:
        w1 = b.w1(load, "--seconds", 6, "--depth", 64)
        p = b.ringside(own, 4000, "--scope", "pid:%d" % w1.pid)
        programs = bpf_programs(p.pid)
        time.sleep(1.2)
        ns, runs = bpf_run(programs)
        before = b.status()
        time.sleep(3.2)
        after = b.status()
        ns1, runs1 = bpf_run(programs)
    samples = int(after["samples"]) - int(before["samples"])
    took = (int(after["cpu"]["bpf_nano"]) - int(before["cpu"]["bpf_nano"])) / max(samples, 1)
    figure("BPF time of a 64-frame sample", took / 1e3, "us", "<= 10 us", took <= 10000,
           "by its own clock; all ticks, by bpf_stats: %.1f us" % ((ns1 - ns) / max(runs1 - runs, 1) / 1e3))
    most = max(programs.values())
    figure("instructions verified, largest program", most, "", "<= 50000", 0 < most <= 50000)


def bpf_out_of_scope(b):
    with Group() as load, Group() as own:
        b.w1(load, "--seconds", 5)
        p = b.ringside(own, 4000, "--scope", "pid:1")
        programs = bpf_programs(p.pid)
        ns, runs = bpf_run(programs)
        time.sleep(3)
        ns1, runs1 = bpf_run(programs)
    figure("BPF time of a tick out of scope", (ns1 - ns) / max(runs1 - runs, 1) / 1e3, "us", "", None)


def bpf_of_context(b, mode, static):
    """Nanoseconds of the tick program per sample of one thread that has a context or none."""
    lib = "%s/.libs/libotelctx.so" % b.build
    if not os.path.exists(lib):
        raise Skip("no libotelctx.so (--disable-shared)")
    with Group() as load, Group() as own:
        p = load.run([b.built("bench/context_load"), lib, mode, 6],
                     env=dict(os.environ, GLIBC_TUNABLES="glibc.rtld.optional_static_tls=%d" % (512 if static else 0)))
        b.ringside(own, 4000, "--scope", "pid:%d" % p.pid)
        time.sleep(1.5)
        before = b.status()
        time.sleep(2.5)
        after = b.status()
    samples = int(after["samples"]) - int(before["samples"])
    had = int(after["context"].get("ok", 0)) - int(before["context"].get("ok", 0))
    if samples < 100 or (mode == "attached") != (had > 0.95 * samples):
        raise Skip("%d of %d samples had a context, in mode %s" % (had, samples, mode))
    return (int(after["cpu"]["bpf_nano"]) - int(before["cpu"]["bpf_nano"])) / samples


def row_context(b, a):
    """What reading a context of the largest size adds, its longer way out included."""
    for static, how in ((True, "beside the thread pointer"), (False, "behind the thread's vector")):
        adds = []
        for _ in range(3):
            none = bpf_of_context(b, "none", static)
            adds.append(bpf_of_context(b, "attached", static) - none)
        figure("BPF time that a thread context adds, %s" % how, median(adds) / 1e3, "us", "<= 1 us",
               median(adds) <= 1000, "640 bytes; a sample without: %.2f us" % (none / 1e3))


def rows_of(b, program, *options):
    """Rows that a program of their own takes."""
    p = subprocess.run([b.built(program), *options], capture_output=True, text=True,
                       env=dict(os.environ, LD_LIBRARY_PATH=b.build + "/.libs"))
    if p.returncode not in (0, 1):
        raise Skip("%s: exit %d: %s" % (program, p.returncode, p.stderr[-200:]))
    for line in p.stdout.splitlines():
        print(line, flush=True)
        if line.rstrip().endswith(("met", "missed", "skipped")):
            words = line.split()
            rows.append((" ".join(words[:-1]), "", "", "", words[-1]))


def row_ring(b, a):
    rows_of(b, "bench/ring", *(["--long"] if a.long else []))
    rows_of(b, "bench/life")
    # With their peers, also in one run; torn records are counted for hours, by "make check-ring-long".
    rows_of(b, "bench/peers", b.build + "/bench/peers.bpf.o", "%s/peer_lttng.sh %s %s" %
            (os.path.dirname(os.path.realpath(__file__)), b.build, os.environ.get("CC", "cc")))


def row_labels(b, a):
    rows_of(b, "bench/resolve")


def row_ctx(b, a):
    for program in ("bench/ctx", "bench/ctx_static"):
        rows_of(b, program, *(["--long"] if a.long else []))


ROWS = (("ring", row_ring), ("labels", row_labels), ("ctx", row_ctx), ("cost", row_cost), ("lapped", row_slow_reader), ("slow", row_slowdown),
        ("captured", row_captured), ("first", row_first), ("start", row_start_stop), ("idle", row_idle),
        ("storm", row_storm), ("big", row_big), ("bytes", row_bytes), ("named", row_named), ("bpf", row_bpf), ("context", row_context))


def others_load():
    return float(open("/proc/loadavg").read().split()[0])


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", default=".")
    p.add_argument("--long", action="store_true")
    p.add_argument("--only", help="rows whose name is among these words, by commas")
    a = p.parse_args()
    a.window = 20 if a.long else 8
    a.repeat = 9 if a.long else 3
    a.slow_seconds = 8 if a.long else 3
    if os.geteuid():
        sys.exit("bench: needs root, to sample the machine")
    build = os.path.abspath(a.build)
    os.chdir("/")
    shm = tempfile.mkdtemp(prefix="ringside-bench.", dir="/dev/shm")
    print("load before: %.2f (ratios suffer above 0.5)" % others_load(), flush=True)
    try:
        b = Bench(build, shm)
        for name, row in ROWS:
            if a.only and name not in a.only.split(","):
                continue
            try:
                row(b, a)
            except Skip as why:
                skipped(name, why)
    except Skip as why:
        sys.exit("bench: %s" % why)
    finally:
        shutil.rmtree(shm, ignore_errors=True)
    missed = [r for r in rows if r[-1] == "missed"]
    print("\n%-52s %12s  %-18s %s" % ("figure", "here", "goal", ""))
    for what, value, goal, _, verdict in rows:
        print("%-52s %12s  %-18s %s" % (what[:52], value, goal, verdict))
    print("%d met, %d missed, %d skipped" % (sum(r[-1] == "met" for r in rows), len(missed),
                                            sum(r[-1] == "skipped" for r in rows)))
    # A missed goal is a figure, not a failure of the bench.


if __name__ == "__main__":
    main()
