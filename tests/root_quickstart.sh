#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the README promises of ./quickstart: samples as they come, a summary in which the demo's shares
# are right, nothing left behind; and plain words on a wrong option.
top=${abs_top_srcdir:?} build=${abs_top_builddir:?}
out=$PWD/quickstart-out.$$
fail() { echo "FAIL: $*"; tail -n 40 "$out"; exit 1; }
[ "$(id -u)" = 0 ] || { echo "skipped: needs root"; exit 77; }
[ -x "$build/ringsided" ] || { echo "skipped: this build has no ringsided"; exit 77; }
trap 'rm -f "$out"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL RINGSIDE_RING

"$top/quickstart" --seconds none >"$out" 2>&1
[ $? = 2 ] || fail "a wrong number is not exit 2"
"$top/quickstart" --help >"$out" 2>&1 || fail "--help is not exit 0"
[ "$(awk '{ if (length > n) n = length } END { print n }' "$out")" -le 80 ] || fail "--help is wider than 80"

before=$(ls -d /dev/shm/ringside-quickstart.* /run/ringside 2>/dev/null)
RINGSIDE_BUILD=$build "$top/quickstart" --seconds 5 >"$out" 2>&1 || fail "quickstart did not end with 0"
after=$(ls -d /dev/shm/ringside-quickstart.* /run/ringside 2>/dev/null)
[ "$before" = "$after" ] || fail "it left behind: $after (before: $before)"
for pid in $(pidof ringsided demo_workload lt-ringsided); do
	parent=$(sed -n 's/^PPid:\t//p' "/proc/$pid/status" 2>/dev/null)
	[ "$parent" != 1 ] || ! tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q "$build" ||
		fail "it left process $pid running"
done
grep -Eq ' demo_workload +[0-9]+/[0-9]+ ' "$out" || fail "no line of a demo sample"
grep -q 'ringside-demo' "$out" || fail "the service name is not shown"
grep -Eq '^[0-9]+ samples of [0-9]+ processes, [0-9]+ with the leaf named, lost: ' "$out" || fail "no summary"
# About 95 samples: four standard deviations of the largest share are 19 points.
awk '/^ +[0-9.]+ %  demo_workload +burn_/ { share[$4] = $1; all += $1 }
	END { s = share["burn_seventy"] * 100 / (all ? all : 1); print "burn_seventy has " s " % of the demo";
		exit !(s > 51 && s < 89) }' "$out" || fail "the demo's shares are wrong"
echo "ok"
