#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The wall clock is put forward by an hour, and back, during a run (it is wrong for two seconds).
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

program shares worker
spawn "$copy" 60
pid=$spawned
start_sidecar -F 499
cat >"$dir/step.py" <<'EOF'
# step.py FILE: forward by an hour, 2 s later back; FILE gets `boot offset` pairs, narrowest of many.
import sys, time
BOOT, REAL, MONO = time.CLOCK_BOOTTIME, time.CLOCK_REALTIME, time.CLOCK_MONOTONIC
HOUR = 3600 * 10**9


def offset():
    best = None
    for _ in range(2000):
        a = time.clock_gettime_ns(BOOT)
        r = time.clock_gettime_ns(REAL)
        b = time.clock_gettime_ns(BOOT)
        if best is None or b - a < best[0]:
            best = (b - a, r - (a + b) // 2)
    return best[1]


def step(ns):
    time.clock_settime_ns(REAL, time.clock_gettime_ns(REAL) + ns)


def note(out):
    print(time.clock_gettime_ns(BOOT), offset(), file=out, flush=True)


with open(sys.argv[1], "w") as out:
    note(out)
    base = time.clock_gettime_ns(REAL) - time.clock_gettime_ns(MONO)
    try:
        step(HOUR)
        note(out)
        time.sleep(2)
    finally:
        step(base + time.clock_gettime_ns(MONO) - time.clock_gettime_ns(REAL))
    note(out)
EOF
restore=$(python3 -c 'import time; print(time.time_ns() - time.clock_gettime_ns(time.CLOCK_MONOTONIC))')
on_exit() {	# whatever happened: the clock is right again to within a second
	python3 -c '
import sys, time
want = int(sys.argv[1]) + time.clock_gettime_ns(time.CLOCK_MONOTONIC)
if abs(want - time.time_ns()) > 10**9:
    time.clock_settime_ns(time.CLOCK_REALTIME, want)' "$restore"
}
sleep 1.5
python3 "$dir/step.py" "$dir/steps" 2>"$dir/step.err" || skip "cannot set the clock: $(tail -n 1 "$dir/step.err")"
sleep 1
dump "$dir/all.json" -p "$pid" --since 1970-01-02T00:00:00Z
dump "$dir/clock.json" --kind clock --since 1970-01-02T00:00:00Z

claim "samples before keep their time, samples after are right, a clock record stands between"
python3 - "$dir/clock.json" >>"$dir/all.json" <<'EOF'
import sys
print(open(sys.argv[1]).read(), end="")
EOF
sort -u "$dir/all.json" -o "$dir/all.json"
query "$dir/all.json" $(cat "$dir/steps") <<'EOF'
n = [int(a) for a in args]
steps = list(zip(n[0::2], n[1::2]))		# (boot time, offset from then on)
ss = sorted(samples(), key=lambda s: int(s["boot_nano"]))
slack = 20000					# to CLOCK_REALTIME bracketed elsewhere, in Python
bad = near = 0
for s in ss:
    boot, wall = int(s["boot_nano"]), int(s["time_unix_nano"])
    right = [o for b, o in steps if b <= boot][-1:] or [steps[0][1]]
    if any(abs(boot - b) < 20e6 for b, _ in steps[1:]):
        near += 1				# our own notes are not exact there
        continue
    if abs(wall - boot - right[0]) > slack + s["clock_error_nano"]:
        bad += 1
check(len(ss) > 400, "samples: %d" % len(ss))
check(bad == 0, "every sample has the right time: %d of %d have not" % (bad, len(ss)))
clocks = sorted(kind("clock"), key=lambda r: int(r["seq"]))
big = [c for c in clocks if abs(int(c.get("step_nano", "0"))) > 10**9]
check(len(big) == 2, "two clock records tell of the steps: %d" % len(big))
for c, want in zip(big, (3600 * 10**9, -3600 * 10**9)):
    check(abs(int(c["step_nano"]) - want) < 10**9, "by an hour: %s" % c["step_nano"])
    check(c["source"] == "paired", "anchored by paired readings")
    before = [s for s in ss if int(s["seq"]) < int(c["seq"])]
    after = [s for s in ss if int(s["seq"]) > int(c["seq"])]
    check(before and after, "samples stand on both sides")
    check(max(s["clock_epoch"] for s in before) < min(s["clock_epoch"] for s in after),
          "its record separates the clock epochs")
EOF
stop_sidecar
