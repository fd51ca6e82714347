#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --memory-limit holds for all of it, while a storm of ever new programs and services goes on.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

start_sidecar -F 499 --memory-limit 20M
program shortlived brief
cat >"$dir/storm" <<'EOF'
i=0
while :; do
	i=$((i + 1))
	cp "$dir/brief" "$dir/brief$i"
	OTEL_SERVICE_NAME=s$i "$dir/brief$i" 40 1
	rm "$dir/brief$i"
done
EOF
export dir
spawn sh "$dir/storm"
claim "heap + BPF maps stay below the limit"
peak=0
for second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	sleep 1
	now=$(($(status memory.heap_bytes) + $(status memory.bpf_map_bytes)))
	[ $now -le $peak ] || peak=$now
done
echo "  at most $((peak / 1024)) KiB of $((20 * 1024)), $(status processes) processes known"
[ $peak -le $((20 << 20)) ] || fail "heap + maps: $peak bytes of $((20 << 20))"
kill "$spawned"
program shares after
spawn "$copy" 1
pid=$spawned
wait "$pid"
claim "a process of afterwards is labelled and named"
dump "$dir/after.json" -p "$pid"
query "$dir/after.json" "$copy" <<'EOF'
ss = [s for s in samples() if s["comm"] == "after"]	# others had its number before
check(len(ss) > 100, "samples: %d" % len(ss))
check({exe(s) for s in ss} == {args[0]}, "its path")
check(share(ss, "burn_seventy") > 60, "its functions: %.0f percent" % share(ss, "burn_seventy"))
EOF
stop_sidecar
