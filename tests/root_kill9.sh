#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The sidecar is killed under a following reader, again and again, and started anew.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

program shares worker
spawn "$copy" 120
start_sidecar -F 1999
"$ringside" tail --no-stack -o json --kind all >"$dir/follow.json" 2>"$dir/follow.err" &
follower=$!
started="$follower $started"
rounds=5
for round in $(seq $rounds); do
	sleep 0.7
	kin=$(children "$sidecar")
	kill -9 "$sidecar"
	wait "$sidecar" 2>/dev/null
	for child in $kin; do
		await 5 test ! -e "/proc/$child" || fail "child $child outlives the sidecar"
	done
	"$ringside" status >"$dir/dead.out" 2>&1 && fail "status says that a killed writer is alive"
	"$ringside" tail --no-follow -o json >"$dir/dead.json" || fail "a dead writer's ring cannot be read"
	start_sidecar -F 1999
done
sleep 0.7
kill -0 "$follower" 2>/dev/null || fail "the follower ended: $(cat "$dir/follow.err")"
stop_sidecar
sleep 0.5
kill -INT "$follower"
wait "$follower"
rc=$?
[ $rc = 130 ] || [ $rc = 0 ] || fail "the follower ended with $rc: $(cat "$dir/follow.err")"

claim "no crash, every line whole, exact loss, the reader follows each new sidecar"
query "$dir/follow.json" $rounds <<'EOF'
rounds = int(args[0])
check(unaccounted() == 0, "every missing sequence number is reported lost: %d are not" % unaccounted())
seen = [r for r in kind("incarnation")]
check(len(seen) >= rounds, "a record tells of each new incarnation: %d" % len(seen))
ss = samples()
check(len(ss) > 500 * rounds, "samples of every sidecar: %d" % len(ss))
gaps = [b - a for a, b in zip(*(lambda t: (t, t[1:]))(sorted(int(s["boot_nano"]) for s in ss)))]
check(sum(g > 200e6 for g in gaps) <= rounds, "it pauses only while no sidecar runs")
check(max(gaps) < 8e9, "and goes on within seconds: %.1f s" % (max(gaps) / 1e9))
times = [(int(s["seq"]), int(s["time_unix_nano"])) for s in ss]
check(all(1.5e18 < t < 4e18 for _, t in times), "times are sane")
EOF

claim "the last ring is closed, readable after death, and the number of its files stays bounded"
[ "$(find "$shm" -type f | wc -l)" -le 3 ] || fail "files are left over: $(ls "$shm")"
