#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stamps of samples against CLOCK_REALTIME, bracketed in another process.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

start_sidecar -F 199
program shares worker
spawn "$copy" 30
pid=$spawned
sleep 1
cat >"$dir/offset.py" <<'EOF'
import time
best = None
for _ in range(20000):
    a = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    r = time.clock_gettime_ns(time.CLOCK_REALTIME)
    b = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    if best is None or b - a < best[0]:
        best = (b - a, r - (a + b) // 2)
print(best[1], best[0])
EOF
before=$(python3 "$dir/offset.py")
sleep 1
after=$(python3 "$dir/offset.py")
dump "$dir/all.json" -p "$pid"

claim "wall clock within 20 us of CLOCK_REALTIME; stamps are the host's CLOCK_BOOTTIME"
query "$dir/all.json" $before $after <<'EOF'
import time
low, high = sorted((int(args[0]), int(args[2])))	# the clock may be slewed meanwhile
slack = 20000 + max(int(args[1]), int(args[3]))
ss = samples()
check(len(ss) > 80, "samples: %d" % len(ss))
worst = max(max(low - o, o - high, 0) for o in (int(s["time_unix_nano"]) - int(s["boot_nano"]) for s in ss))
check(worst <= slack, "within 20 us: %.1f us" % (worst / 1e3))
check(all(s["clock_error_nano"] <= 20000 for s in ss), "and the stated error says so")
now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
age = (now - max(int(s["boot_nano"]) for s in ss)) / 1e9
check(0 <= age < 5, "the newest sample is %.2f s old" % age)
form = [s["time"] for s in ss if len(s["time"]) == 30 and s["time"][-1] == "Z"]
check(len(form) == len(ss), "time has nine digits and is UTC: " + ss[0]["time"])
EOF
stop_sidecar
