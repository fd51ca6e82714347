#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# As many short-lived processes a second as this machine makes, for a minute (STORM_SECONDS), then 2,000
# threads a second: memory stays bounded, and a usual process has all of its labels right afterwards.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

seconds=${STORM_SECONDS:-60}
printf 'relabel_configs:\n- {source_labels: [__meta_process_cmdline], regex: ".* (role-.+)", target_label: role}\n' >"$dir/c.yaml"
start_sidecar -F 499 --memory-limit 32M --config "$dir/c.yaml"
program shortlived brief
program threads threads
program shares worker
# usual WHEN: a process of now has its labels, from its first second on.
usual() {
	OTEL_SERVICE_NAME=shop OTEL_RESOURCE_ATTRIBUTES=tier=front "$copy" 1 1 "role-$1" &
	pid=$!
	started="$pid $started"
	wait $pid
	dump "$dir/$1.json" -p $pid
	query "$dir/$1.json" "$copy" "role-$1" <<'EOF'
# The storm has used up all numbers by now: others had this one before.
ss = [s for s in samples() if s["comm"] in ("worker", args[1][:15])]
check(len(ss) > 60, "sampled: %d" % len(ss))
labelled = settled(ss)
for key, want in (("service.name", "shop"), ("tier", "front"), ("role", args[1]),
                  ("process.executable.path", args[0])):
    check({s["resource"].get(key) for s in labelled} == {want}, "%s is %s: %s" % (key, want, {s["resource"].get(key) for s in labelled}))
names = {s["resource"].get("service.name") for s in ss}
check(names <= {"shop", "worker"}, "it never has another's service: %s" % names)
EOF
}
# bounded: heap + maps by the sidecar's own account.
bounded() {
	now=$(($(status memory.heap_bytes) + $(status memory.bpf_map_bytes)))
	echo "  $1: heap + maps $((now >> 10)) KiB of $((32 << 10))"
	[ $now -le $((32 << 20)) ] || fail "$1: memory is not bounded: $now bytes"
}

claim "processes, for $seconds s"
count() { awk '$1 == "processes" { print $2 }' /proc/stat; }
before=$(count)
begin=$(date +%s)
storms=
for job in 1 2; do
	(while [ $(($(date +%s) - begin)) -lt "$seconds" ]; do "$dir/brief" 200 0; done) &
	storms="$storms $!"
	started="$! $started"
done
for third in 1 2 3; do
	sleep $((seconds / 3))
	bounded "after $((third * seconds / 3)) s"
done
# shellcheck disable=SC2086
wait $storms
echo "  $(($(count) - before)) processes and threads, $((($(count) - before) / seconds)) a second"
echo "  lost: $(status lost)"
echo "  degraded: $(status degraded)"
usual after-processes

claim "2,000 threads a second, for $((seconds / 3)) s"
"$dir/threads" 2000 $((seconds / 3)) >"$dir/made" &
storm=$!
started="$storm $started"
wait $storm
cat "$dir/made"
bounded "after the threads"
dump "$dir/threads.json" -p $storm
query "$dir/threads.json" <<'EOF'
ss = settled(samples())
check(len(ss) > 100, "the threads are sampled: %d" % len(ss))
names = {s["resource"].get("service.name") for s in ss}
check(names == {"threads"}, "one service.name for all of them: %s" % names)
check(len({s["comm"] for s in ss}) > 20, "and names of their own: %d" % len({s["comm"] for s in ss}))
EOF
usual after-threads
stop_sidecar
