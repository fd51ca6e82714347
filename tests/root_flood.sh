#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ten thousand samples a second and CPU, of programs that come and go: more than there may be time for.
# The sidecar still shows signs of life, still heeds a signal, and counts what it loses.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

rate=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
[ "$rate" -ge 10000 ] || skip "kernel.perf_event_max_sample_rate is $rate"
churn() {
	while :; do
		sh -c 'ls -lR /usr/share/doc | sort | md5sum' >/dev/null
	done
}
spawn churn
spawn churn
start_sidecar -F 10000
claim "the heartbeat goes on"
for second in 1 2 3 4 5; do
	sleep 1
	age=$(status heartbeat_age_nano)
	[ "$age" -lt 10000000000 ] || fail "no sign of life for $age ns, $second s into the flood"
done
claim "SIGTERM ends it within ten seconds"
kill -TERM "$sidecar"
await 10 sidecar_gone || fail "it did not end"
wait "$sidecar" || fail "it ended with $?"
sidecar=
for pid in $started; do
	kill "$pid" 2>/dev/null
done

claim "what is missing from the ring was counted"
dump "$dir/all.json" --kind all
query "$dir/all.json" <<'EOF'
check(unaccounted() == 0, "every missing sequence number is reported lost: %d are not" % unaccounted())
check(len(samples()) > 5000, "there are samples: %d" % len(samples()))
EOF
