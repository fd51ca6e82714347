#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A sidecar in a pid namespace of its own, with another namespace nested below it, while strangers run
# outside whose pid there equals a pid inside.  Never is one taken for the other.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need unshare
[ -w /proc/sys/kernel/ns_last_pid ] || skip "no /proc/sys/kernel/ns_last_pid"

program shares inner
program shares nested
program shares stranger
cat >"$dir/fork_as" <<'EOF'
# fork_as PID COMMAND...: COMMAND in the background under that pid of this namespace; prints the pid.
want=$1
shift
for try in 1 2 3 4 5 6 7 8 9 10; do
	echo $((want - 1)) >/proc/sys/kernel/ns_last_pid
	"$@" >/dev/null 2>&1 &
	[ $! = "$want" ] && { echo $!; exit 0; }
	kill $!
done
exit 1
EOF
# Inside: the sidecar, one worker, and a worker in a namespace below.  Ends when its stdin does.
cat >"$dir/inside" <<'EOF'
"$ringsided" --ring "$ring" -F 499 2>"$dir/sidecar.log" &
sidecar=$!
while ! grep -q 'ringsided: ready' "$dir/sidecar.log"; do
	kill -0 $sidecar || exit 1
	sleep 0.1
done
sh "$dir/fork_as" $1 "$dir/inner" 20 >"$dir/inner.pid"
unshare --pid --fork --mount-proc --kill-child "$dir/nested" 20 &
sleep 0.3
pgrep -x nested | grep -v "^$!$" >"$dir/nested.pid"
: >"$dir/inside.ready"
read -r line
kill -TERM $sidecar
wait $sidecar
echo $? >"$dir/inside.rc"
EOF
pid=$(($(date +%s) % 3000 + 25000))
while [ -e "/proc/$pid" ]; do pid=$((pid + 1)); done

export ringsided ring dir
mkfifo "$dir/stdin"
unshare --pid --fork --mount-proc --kill-child sh "$dir/inside" $pid <"$dir/stdin" &
box=$!
exec 9>"$dir/stdin"
on_exit() { kill -9 $box 2>/dev/null; [ -z "${outside:-}" ] || kill -9 "$outside" 2>/dev/null; }
await 40 test -e "$dir/inside.ready" || fail "the sidecar in the pid namespace did not become ready"
inner=$(cat "$dir/inner.pid")
nested=$(cat "$dir/nested.pid")
outside=$(sh "$dir/fork_as" "$inner" "$dir/stranger" 20) || skip "could not get pid $inner outside"
sleep 2
dump "$dir/inside.json"

claim "inside: pids of the sidecar's namespace, for the nested one too; the stranger is not seen"
query "$dir/inside.json" "$inner" "$nested" "$dir" <<'EOF'
inner, nested = samples(args[0]), samples(args[1])
check(len(inner) > 50, "pid %s is sampled: %d" % (args[0], len(inner)))
check(len(nested) > 50, "nested pid %s is sampled: %d" % (args[1], len(nested)))
# A tick may have met the shell before it became inner, under the same pid.
became = [s for s in inner if s["comm"] == "inner"]
check({exe(s) for s in became} == {args[2] + "/inner"}, "it is inner: %s" % {exe(s) for s in became})
check({s["comm"] for s in inner} <= {"inner", "sh"}, "with its comm: %s" % {s["comm"] for s in inner})
check(len(became) > 0.9 * len(inner), "nearly all of them")
check({exe(s) for s in nested if s["comm"] == "nested"} == {args[2] + "/nested"}, "and nested is nested")
check(not samples(comm="stranger"), "no sample of the stranger")
check(not [r for r in records if "stranger" in json.dumps(r.get("resource", {}))], "nor its label")
both = settled(inner) + settled(nested)
named = [s for s in both if (leaf(s) or "").startswith("burn_")]
check(percent(named, both) > 90, "functions are named")
EOF
[ "$(status skipped.out_of_scope)" -gt 50 ] || fail "ticks of strangers are not counted as out of scope"
"$ringside" list -o json >"$dir/list" || fail "ringside list: exit $?"
grep -q "$dir/inner" "$dir/list" || fail "list does not show the inner program"
if grep -q stranger "$dir/list"; then fail "list shows the stranger"; fi

echo >&9
await 10 test -s "$dir/inside.rc" || fail "the sidecar inside did not end"
[ "$(cat "$dir/inside.rc")" = 0 ] || fail "the sidecar inside ended with $(cat "$dir/inside.rc")"
kill "$outside"

claim "in the initial namespace, processes of a nested one have their pid there"
rm -f "$ring"
start_sidecar -F 499
unshare --pid --fork --mount-proc --kill-child "$dir/nested" 2 &
sleep 0.5
host=$(pgrep -x nested | grep -v "^$!$")
sleep 1
dump "$dir/initial.json" --comm nested
query "$dir/initial.json" "$host" "$dir/nested" <<'EOF'
ss = samples()
check(len(ss) > 50, "nested is sampled: %d" % len(ss))
check({s["pid"] for s in ss if exe(s) == args[1]} == {int(args[0])}, "under pid " + args[0])
EOF
stop_sidecar
