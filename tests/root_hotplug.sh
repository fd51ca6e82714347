#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A CPU goes away and comes back during a run: sampling goes on, on that CPU too.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need taskset
online=/sys/devices/system/cpu/cpu1/online
[ -w $online ] && [ "$(cat $online)" = 1 ] || skip "no second CPU that can be put off line"

on_exit() { echo 1 >$online; }
start_sidecar -F 499
program shares worker
taskset -c 1 "$copy" 60 &
started="$! $started"
sleep 0.7
echo 0 >$online || skip "the kernel refuses to put CPU 1 off line"
sleep 0.7
echo 1 >$online
sleep 0.3
taskset -c 1 "$copy" 60 &
back=$!
started="$back $started"
sleep 3
dump "$dir/all.json" --kind all
claim "samples of the CPU before it goes and after it is back"
query "$dir/all.json" "$back" <<'EOF'
back = samples(args[0])
check(len([s for s in samples() if s["cpu"] == 1 and s["pid"] != int(args[0])]) > 50, "CPU 1 before")
check(len(back) > 200, "CPU 1 after: %d samples of a process bound to it" % len(back))
there = sum(s["cpu"] == 1 for s in back)	# taskset itself began elsewhere
check(there > 0.98 * len(back), "on CPU 1: %d of %d" % (there, len(back)))
check(unaccounted() == 0, "no record is missing")
EOF
stop_sidecar
