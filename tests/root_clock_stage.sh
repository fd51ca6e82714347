#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The clock stage on clocks that really move: steps of an hour both ways, a time namespace.
# The machine's clock is wrong for some milliseconds; clock_step puts it right whatever happens.
program=${abs_top_builddir:-.}/tests/clock_step
failed=0

[ "$(id -u)" = 0 ] || { echo "it sets the clock: needs root"; exit 77; }

# check WHAT STATUS
check() {
	if [ "$2" = 0 ]; then
		echo "ok $1"
	else
		echo "not ok $1"
		failed=1
	fi
}

# Another test that sets the clock, or measures against it, waits.
exec 9>"${TMPDIR:-/tmp}/ringside-clock.lock"
flock -w 60 9 || { echo "the clock is in use by another test"; exit 77; }
out=$("$program" step)
status=$?
if [ $status = 77 ]; then
	echo "SKIP: steps: this machine does not let its clock be set"
else
	echo "$out" | grep -v '^ok' || echo "$out" | tail -n 1
	check "steps of an hour forth and back" $status
fi
exec 9>&-

"$program" bpf
check "BPF and user space read the same boot clock" $?

unshare -T true 2>/dev/null || { echo "SKIP: time namespaces: not there"; exit $failed; }
inside() { unshare -T --boottime 100000 --monotonic 5000 "$program" "$@"; }

before=$("$program" boot)
within=$(inside boot)
after=$("$program" boot)
[ "$before" -le "$within" ] && [ "$within" -le "$after" ]
check "in a time namespace boot time is the host's ($before <= $within <= $after)" $?
inside bpf
check "in a time namespace BPF and user space read the same boot clock" $?

# close A B NANOSECONDS
close() { d=$(($1 - $2)); [ "${d#-}" -le "$3" ]; }
host=$("$program" offset) pod=$(inside offset)
close "${host% *}" "${pod% *}" 100000
check "the anchor is the same in and out ($host, $pod)" $?
host=$("$program" offset btime) pod=$(inside offset btime)
[ "$host" = "$pod" ] && [ "${host#* }" = 2 ]
check "the fallback is the same in and out ($host, $pod)" $?
paired=$("$program" offset)
close "${host% *}" "${paired% *}" 501000000
check "the fallback is within its half second" $?
inside lost
check "a namespace that cannot be known is refused" $?
exit $failed
