#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who is it?  Processes that make it hard to tell: gone at once, without a leader, under a used pid, in
# another mount namespace under a known path, with code made at run time.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need unshare mount

start_sidecar -F 999
program identity ident

# Children that never exec and are gone before anybody can look; their parent never burns, so it is
# not sampled itself.
OTEL_SERVICE_NAME=forker "$copy" forks 200 3
# The leader is gone before the first tick of its thread.
OTEL_SERVICE_NAME=orphan "$copy" leader 600 &
leader=$!
# exec by a thread: the pid stays, all else is new.
cp "$copy" "$dir/other"
OTEL_SERVICE_NAME=threads "$copy" thread 600 "$dir/other" &
thread=$!
wait $leader $thread

# The same path, another file over it, in a mount namespace of its own; gone before it can be read.
mkdir "$dir/over"
cp "$copy" "$dir/over/svc"
"$dir/over/svc" burn 100
unshare --mount sh -c 'mount -t tmpfs none "$1" && cp "$2" "$1/svc" &&
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "$1/svc" 20 3; done' \
	sh "$dir/over" "$programs/work_shortlived"

# A pid that was somebody else's a moment ago.
reused=
if [ -w /proc/sys/kernel/ns_last_pid ]; then
	OTEL_SERVICE_NAME=first "$copy" burn 300 &
	first=$!
	wait $first
	for try in 1 2 3 4 5 6 7 8 9 10; do
		echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
		OTEL_SERVICE_NAME=second "$copy" burn 300 &
		second=$!
		wait $second
		[ $second = $first ] && reused=$first && break
	done
fi
# Code made at run time, in a pid namespace below with a /tmp of its own; a stranger's map lies here.
unshare --pid --fork --mount-proc --mount sh -c 'mount -t tmpfs none /tmp && exec "$1" jit 1500 /tmp/perf-1.map' \
	sh "$programs/work_identity" &
wait $!
sleep 0.3

dump "$dir/all.json"
query "$dir/all.json" "$copy" "$dir" "$leader" "$thread" "${reused:-0}" "${first:-0}" <<'EOF'
copy, folder, leader, thread, reused, first = args
forked = [s for s in samples() if "burn_forked" in functions(s)]
check(len(forked) > 100, "children that never exec are sampled: %d" % len(forked))
check(len({s["pid"] for s in forked}) > 50, "many of them: %d" % len({s["pid"] for s in forked}))
children = [s for s in samples() if s["pid"] in {x["pid"] for x in forked}]
named = [s for s in children if exe(s) == copy]
check(percent(named, children) >= 97, "have the executable: %.1f percent" % percent(named, children))
mine = [s for s in children if s["resource"].get("service.name") == "forker"]
check(percent(mine, children) >= 97, "and their parent's environment: %.1f percent" % percent(mine, children))
check(all(s["resource"].get("process.pid") == s["pid"] for s in children), "and their own pid")

orphan = [s for s in samples(leader) if "burn_orphan" in functions(s)]
check(len(orphan) > 200, "the thread without leader is sampled and named: %d" % len(orphan))
check({exe(s) for s in settled(orphan)} == {copy}, "its executable: %s" % {exe(s) for s in orphan})
check({s["resource"].get("service.name") for s in settled(orphan)} == {"orphan"}, "its environment: %s"
      % {s["resource"].get("service.name") for s in orphan})

after = settled([s for s in samples(thread) if s.get("comm") == "other"])
check(len(after) > 100, "sampled after an exec by a thread: %d" % len(after))
check({exe(s) for s in after} == {folder + "/other"}, "with the new executable: %s" % {exe(s) for s in after})

svc = [s for s in samples() if exe(s) == folder + "/over/svc"]
host = [s for s in svc if "burn_plain" in functions(s)]
inside = [s for s in svc if "burn_short_life" in functions(s)]
check(len(host) > 30, "our svc has its own function names: %d" % len(host))
check(len(inside) > 60, "the svc over it has the names of that one: %d" % len(inside))
check(not {s["pid"] for s in host} & {s["pid"] for s in inside}, "and none is mixed up")

if reused != "0":
    names = [s["resource"].get("service.name") for s in samples(reused, "ident")]
    check({"first", "second"} <= set(names), "both owners of pid %s: %s" % (reused, set(names)))
    check(names == sorted(names), "in their time only")
else:
    print("not checked: pid reuse (could not get a pid again)")

jit = [s for s in samples() if s.get("comm") == "work_identity"]
loop = [s for s in jit if leaf(s) == "jitted_loop"]
check(percent(loop, settled(jit)) > 80, "generated code is named by the map of the innermost pid: %d of %d"
      % (len(loop), len(jit)))
EOF
stop_sidecar
