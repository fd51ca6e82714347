#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Collection in a live kernel, as root.  Every check prints one line; those that cannot be made here say why.
dump=$abs_top_builddir/tests/event_dump
load=$abs_top_builddir/tests/collect_load
cost=$abs_top_builddir/tests/root_collect_cost
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }

dir=$(mktemp -d) || exit 1
cpu1=/sys/devices/system/cpu/cpu1/online
started=
stranger=
failed=0

cleanup() {
	[ -n "$started" ] && kill -9 $started 2>/dev/null
	[ -e $cpu1 ] && echo 1 >$cpu1
	[ -n "$cgroup" ] && rmdir "$cgroup" 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT

ok() { echo "ok $1"; }
bad() { echo "not ok $1: $2"; failed=1; }
skip() { echo "skip $1: $2"; }
# check NAME CONDITION WHAT-IT-WAS
check() { if eval "$2"; then ok "$1 ($3)"; else bad "$1" "$2: $3"; fi; }
# A statistic of the last dump.
stat() { sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" "$dir/err" | tail -1; }
# Number of events of the last dump that match.
count() { grep -c -E "$1" "$dir/out"; }
take() { "$dump" "$@" >"$dir/out" 2>"$dir/err" || bad "event_dump $*" "$(tail -1 "$dir/err")"; }
burn() { "$load" "$@" & pid=$!; started="$started $pid"; }

samples_and_identity() {
	burn "ringside burn" 20 4 2
	sleep 0.2
	take --live 2 --frequency 999 --stack
	local n; n=$(count " sample pid=$pid ")
	check "100 samples at 999 Hz" "[ $n -ge 100 ]" "$n samples"
	check "no stranger carries its pid" \
		"[ $(grep " sample pid=$pid " "$dir/out" | grep -vc 'comm=ringside\\x20burn') -eq 0 ]" "comm"
	local tids; tids=$(grep " sample pid=$pid " "$dir/out" | sed 's/.* tid=\([0-9]*\) .*/\1/' | sort -u | tr '\n' ' ')
	local real; real=$(ls /proc/$pid/task | sort -u | tr '\n' ' ')
	check "tids are those of /proc" "[ '$tids' = '$real' ]" "$tids"
	# The start time in /proc has ticks of 10 ms, ours nanoseconds.
	local start ticks
	start=$(grep -m1 " sample pid=$pid " "$dir/out" | sed 's/.* start=\([0-9]*\).*/\1/')
	ticks=$(sed 's/.*) //' /proc/$pid/stat | cut -d' ' -f20)
	check "start time agrees with /proc" "[ $((start / 10000000 - ticks)) -eq 0 ]" "$start, $ticks"
	local deep; deep=$(grep " sample pid=$pid " "$dir/out" | sed 's/.* user=\([0-9]*\) .*/\1/' | sort -n | tail -1)
	check "frames of the recursion are there" "[ $deep -ge 20 -a $deep -le 30 ]" "$deep frames"
	check "nothing was lost" "[ $(stat kernel_ring_full) -eq 0 -a $(stat malformed) -eq 0 ]" "ring, door"
	check "events came out in order" "[ $(stat disorder) -eq 0 ]" "$(stat events) events"
	wait $pid
}

depth_is_cut_and_flagged() {
	burn deep 60 2
	sleep 0.1
	take --live 1 --frequency 499 --depth 16
	local n cut
	n=$(count " sample pid=$pid .*user=16 end=6")
	cut=$(grep -cE " sample pid=$pid .*user=(1[7-9]|[2-9][0-9])" "$dir/out")
	check "stacks beyond --stack-depth are cut and say so" "[ $n -gt 30 -a $cut -eq 0 ]" "$n cut at 16"
	wait $pid
	burn deeper 200 2
	sleep 0.1
	take --live 1 --frequency 499
	n=$(count " sample pid=$pid .*user=127 end=6")
	check "200 frames are cut at 127 and say so" "[ $n -gt 30 ]" "$n"
	wait $pid
	burn shallow 5 2
	sleep 0.1
	take --live 1 --frequency 499 --depth 30
	n=$(count " sample pid=$pid .* end=2")
	check "a short stack ends by frame pointer, uncut" \
		"[ $n -gt 30 -a $(grep -c " sample pid=$pid .* end=6" "$dir/out") -eq 0 ]" "$n"
	wait $pid
}

kernel_frames() {
	dd if=/dev/zero of=/dev/null bs=1M count=100000 2>/dev/null & pid=$!; started="$started $pid"
	take --live 1 --frequency 999
	local n; n=$(count " sample pid=$pid .*flags=2 .*kernel=[1-9]")
	check "a tick in the kernel has kernel frames" "[ $n -gt 30 ]" "$n"
	kill $pid; wait $pid 2>/dev/null
}

process_events() {
	( sleep 0.3; exec "$load" lifecycle 3 0.2 ) & pid=$!
	( sleep 0.3; exec "$load" victim 3 0.2 kill ) 2>/dev/null & victim=$!
	( sleep 0.5; "$load" "two words" 1 0.1; : ) & shell=$!
	started="$started $pid $victim $shell"
	take --live 1.5 --frequency 99
	local inode; inode=$(command stat -c %i "$load")
	check "exec event names file, inode and parent" \
		"grep -q ' exec pid=$pid .*parent=$$ .*inode=$inode comm=collect_load filename=$load\$' '$dir/out'" "pid $pid"
	check "exit event has the code" "[ $(count " exit pid=$pid .*code=7 signal=0") -eq 1 ]" "code 7"
	check "exit event has the signal" "[ $(count " exit pid=$victim .*code=0 signal=9") -eq 1 ]" "signal 9"
	check "fork event names child and parent" "[ $(count " fork pid=[0-9]+ .*parent=$shell ") -ge 1 ]" "parent $shell"
	# comm_exec, then mappings of the new image, then exec.
	local order; order=$(grep -E " (comm_exec|exec|mmap) pid=$pid " "$dir/out" | grep -n . |
		awk '/ comm_exec /{c=NR} / mmap .*collect_load/{m=NR} / exec pid/{e=NR} END{print (c<m && m<e)}')
	check "mappings stand between comm_exec and exec" "[ '$order' = 1 ]" "pid $pid"
	check "executable mapping has path and build id" \
		"grep -qE ' mmap pid=$pid .*(build_id=[0-9a-f]{40}|inode=$inode) path=$load\$' '$dir/out'" "$load"
	local before after
	before=$(grep -m1 " comm_exec pid=$pid " "$dir/out" | cut -d' ' -f1)
	after=$(grep -m1 " sample pid=$pid .*lifecycle" "$dir/out" | sed 's/.*exec_id=\([0-9]*\).*/\1/')
	check "samples carry the image's exec id" \
		"grep -q ' exec pid=$pid .*exec_id=$after ' '$dir/out'" "exec_id $after, from $before"
	wait 2>/dev/null
}

# Inside a new pid namespace, whose next pid is forced to be the stranger's.
namespaces() {
	burn stranger 5 8
	stranger=$pid
	export dump load stranger dir
	unshare --pid --fork --mount-proc bash -c '
		echo $((stranger - 1)) >/proc/sys/kernel/ns_last_pid
		"$load" inner 5 5 & inner=$!
		unshare --pid --fork --mount-proc "$load" nested 5 5 &
		sleep 0.3
		"$dump" --live 2 --frequency 999 >"$dir/out" 2>"$dir/err"
		echo "$inner" >"$dir/inner"
		for s in /proc/[0-9]*/status; do awk "/^Name:/{n=\$2} /^Pid:/{p=\$2} END{if (n==\"nested\") print p}" $s; done >"$dir/nested"
		kill -9 $(jobs -p)
	'
	local inner nested n
	inner=$(cat "$dir/inner")
	nested=$(cat "$dir/nested")
	check "inner pid equals the stranger's" "[ '$inner' = '$stranger' ]" "$inner"
	n=$(count " sample pid=$inner .*comm=inner")
	check "inner process has its inner pid" "[ $n -ge 100 ]" "$n samples"
	n=$(count " sample pid=$nested .*comm=nested")
	check "process of a nested namespace has our number" "[ $n -ge 100 ]" "$n samples as pid $nested"
	check "stranger is never seen" "[ $(count comm=stranger) -eq 0 ]" "pid $stranger"
	check "stranger is counted" "[ $(stat out_of_scope) -ge 100 ]" "$(stat out_of_scope) out of scope"
	kill -9 $stranger; wait 2>/dev/null
}

ring_full_is_counted() {
	burn filler 100 3 2
	sleep 0.1
	take --live 1.5 --frequency 4000 --ring-bytes 4096 --drain-ms 200
	check "a full ring is counted" "[ $(stat kernel_ring_full) -gt 30 ]" "$(stat kernel_ring_full) lost"
	check "samples and losses add up" \
		"[ $(stat ticks) -eq $(($(stat idle) + $(stat samples) + $(stat out_of_scope) + $(stat paused) + $(stat kernel_ring_full))) ]" \
		"$(stat ticks) ticks"
	wait $pid
}

scope_pids() {
	burn other 5 3
	burn chosen 5 3 fork
	sleep 0.1
	take --live 1 --frequency 499 --pid $pid
	check "only the selected are sampled" "[ $(count comm=other) -eq 0 -a $(stat out_of_scope) -gt 50 ]" "$(stat out_of_scope) skipped"
	# The child was there before: the next one is not.
	wait
	( sleep 1; exec "$load" inherit 5 1 fork ) & pid=$!
	take --live 3.5 --frequency 499 --pid $pid
	check "a fork of a selected one is selected" "[ $(count ' sample .*comm=inherit') -gt 30 ]" "$(count comm=inherit)"
	check "its exit is told" "[ $(count ' exit ') -ge 2 ]" "$(count ' exit ') exits"
	wait
}

scope_cgroup() {
	local root; root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$root" ] || { skip "scope cgroup" "no cgroup v2 is mounted"; return; }
	cgroup=$root/ringside-check-$$
	mkdir -p "$cgroup/below" || { cgroup=; skip "scope cgroup" "cannot make a cgroup in $root"; return; }
	burn outside 5 3
	( echo $BASHPID >"$cgroup/below/cgroup.procs" && exec "$load" within 5 2 ) & pid=$!; started="$started $pid"
	sleep 0.2
	take --live 1 --frequency 499 --cgroup "$cgroup"
	check "cgroup scope takes descendants" "[ $(count ' sample .*comm=within') -gt 30 ]" "$(count comm=within)"
	check "cgroup scope takes nothing else" "[ $(grep -c ' sample ' "$dir/out") -eq $(count ' sample .*comm=within') ]" "samples"
	local id; id=$(command stat -c %i "$cgroup/below")
	check "samples carry the cgroup id" "[ $(count "cgroup=$id ") -gt 30 ]" "$id"
	wait
	rmdir "$cgroup/below" "$cgroup"; cgroup=
	"$dump" --live 1 --cgroup /proc >"$dir/out" 2>"$dir/err"
	check "what is no v2 cgroup is refused" "grep -q 'not in a cgroup v2 hierarchy' '$dir/err'" "$(cat "$dir/err")"
}

hotplug() {
	[ -e $cpu1 ] || { skip "hotplug" "$cpu1 does not exist"; return; }
	burn plug 5 9 2
	# The scheduler need not use the CPU that is back: something bound to it does.
	( sleep 1.5; echo 0 >$cpu1; sleep 2; echo 1 >$cpu1; sleep 0.2; exec taskset -c 1 "$load" back 5 3 ) & local plug=$!
	take --live 6 --frequency 199
	wait $plug
	check "a CPU that left and came back is armed again" "[ $(stat rearmed) -ge 1 -a $(stat cpus_armed) -ge 2 ]" \
		"$(grep -c hotplug "$dir/err") reports"
	local last; last=$(tail -1 "$dir/out" | cut -d' ' -f1)
	local n; n=$(awk -v t=$((last - 1000000000)) '$1 > t && / sample .*cpu=1 /' "$dir/out" | wc -l)
	check "its samples are back" "[ $n -ge 50 ]" "$n in the last second"
	# Gone and back between two looks: the event is dead, the mask is the same.
	( sleep 1.2; echo 0 >$cpu1; echo 1 >$cpu1; sleep 0.2; exec taskset -c 1 "$load" back 5 3 ) & plug=$!
	take --live 4 --frequency 199
	wait $plug
	n=$(awk -v t=$(($(tail -1 "$dir/out" | cut -d' ' -f1) - 500000000)) '$1 > t && / sample .*cpu=1 /' "$dir/out" | wc -l)
	check "an event that died unseen is replaced" "[ $(stat rearmed) -ge 1 -a $n -ge 20 ]" "$n samples"
	echo 0 >$cpu1
	( sleep 1.5; echo 1 >$cpu1 ) & plug=$!
	take --live 3.5 --frequency 99
	wait $plug
	check "a CPU offline at start is tolerated and armed later" "[ $(stat cpus_armed) -ge 2 ]" "$(stat rearmed) armed later"
	kill -9 $pid 2>/dev/null; wait 2>/dev/null
}

# missing CAPABILITIES WHAT-THE-MESSAGE-SAYS
missing() {
	setpriv --bounding-set "$1" --inh-caps "$1" "$dump" --live 0.2 --quiet >"$dir/out" 2>"$dir/err"
	local rc=$?
	check "without $1 the missing right is named" "[ $rc -eq 1 ] && grep -qE '$2' '$dir/err'" "$(tail -1 "$dir/err")"
}

rights() {
	missing -bpf,-sys_admin "CAP_BPF is missing"
	missing -perfmon,-sys_admin "CAP_PERFMON is missing"
	missing -bpf,-perfmon,-sys_admin "CAP_BPF and CAP_PERFMON are missing"
	burn rights 5 6		# on a machine at rest there would be nothing to sample
	setpriv --bounding-set -all,+bpf,+perfmon --inh-caps -all,+bpf,+perfmon "$dump" --live 0.5 --quiet 2>"$dir/err"
	local rc=$?
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 3 ]; then
		check "at this perf_event_paranoid the remedy is named" "grep -q 'perf_event_paranoid=2' '$dir/err'" "$(tail -1 "$dir/err")"
	else
		check "CAP_BPF and CAP_PERFMON are enough" "[ $rc -eq 0 -a $(stat samples) -gt 0 ]" "$(stat samples) samples"
	fi
	unshare --mount sh -c "umount -l /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; '$dump' --live 0.3 --quiet" 2>"$dir/err"
	check "no tracefs is needed" "[ $(stat samples) -gt 0 ]" "$(stat samples) samples"
	( ulimit -l 64; exec "$dump" --live 0.3 --quiet ) 2>"$dir/err"
	check "a small memlock limit is not fatal" "[ $(stat samples) -gt 0 ]" "$(stat samples) samples"
	# The limit is the machine's: others sample too.  So only what we read of it is changed.
	echo 50 >"$dir/rate"
	unshare --mount sh -c "mount --bind '$dir/rate' /proc/sys/kernel/perf_event_max_sample_rate &&
		'$dump' --live 0.2 --frequency 99" 2>"$dir/err"
	check "a frequency above the kernel's limit is refused with the remedy" \
		"grep -q 'perf_event_max_sample_rate=99' '$dir/err'" "$(tail -1 "$dir/err")"
}

recording() {
	take --live 1 --frequency 199 --record "$dir/rec"
	cp "$dir/out" "$dir/live"
	"$dump" "$dir/rec" 2>/dev/null | grep -vE '^(drain|entry)' >"$dir/replayed"
	check "a replay gives what was drained" "cmp -s '$dir/live' '$dir/replayed'" "$(wc -l <"$dir/live") events"
	head -c $(($(command stat -c %s "$dir/rec") - 3)) "$dir/rec" >"$dir/cut"
	"$dump" --verbose --quiet "$dir/cut" 2>"$dir/err" >/dev/null
	check "a cut recording is replayed and said to be cut" "grep -q 'was cut' '$dir/err'" "$(grep cut "$dir/err")"
}

samples_and_identity
depth_is_cut_and_flagged
kernel_frames
process_events
namespaces
ring_full_is_counted
scope_pids
scope_cgroup
recording
rights
hotplug
"$cost" || bad "cost" "see above"
exit $failed
