#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The symbol worker is killed again and again: that costs names, never samples.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

program shares worker
spawn "$copy" 60
pid=$spawned
start_sidecar -F 999
sleep 1
for round in 1 2 3; do
	launcher=$(children "$sidecar" | head -n 1)
	worker=$(children "$launcher" | head -n 1)
	[ -n "$worker" ] || fail "no symbol worker below the launcher"
	kill -9 "$worker"
	sleep 1
	"$copy" 0.2 & wait $!		# something new to name
done
sleep 1.5
program shares later
spawn "$copy" 2
later=$spawned
wait "$later"
dump "$dir/all.json" --kind all
claim "no sample is lost, names come back, the restarts are counted"
query "$dir/all.json" "$pid" "$later" <<'EOF'
ss = samples(args[0])
check(unaccounted() == 0, "no record is missing")
lost = {c: n for c, n in lost_by_cause().items() if c != "process_burst"}
check(sum(lost.values()) < 0.01 * len(samples()), "no sample is lost: %s of %d" % (lost, len(samples())))
boots = sorted(int(s["boot_nano"]) for s in ss)
gap = max(b - a for a, b in zip(boots, boots[1:]))
check(gap < 300e6, "the worker's death makes no hole: %.0f ms" % (gap / 1e6))
later = settled(samples(args[1], "later"))
check(len(later) > 100 and share(later, "burn_seventy") > 60, "names of a later process: %.0f percent of %d"
      % (share(later, "burn_seventy"), len(later)))
EOF
[ "$(status degraded.worker_restarts)" -ge 3 ] ||
	fail "degraded.worker_restarts is $(status degraded.worker_restarts), not 3"
grep -q 'the symbol worker ended: signal 9' "$dir/sidecar.log" || fail "the log does not say how it ended"

claim "a launcher that was killed is told: there will be no new names"
kill -9 "$launcher"
await 5 grep -q 'launcher of the symbol worker has ended' "$dir/sidecar.log" || fail "the log is silent"
told() { status warnings | grep -q 'launcher of the symbol worker has ended'; }
await 5 told || fail "the status page is silent: $(status warnings)"
stop_sidecar
