#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A target with pages that an unserved userfaultfd withholds: reading its environment may hang for ever.
# That must delay nobody else's samples.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

program uffd withholder
holder=$copy
"$holder" 0.01 >"$dir/probe" 2>&1
[ $? = 77 ] && skip "userfaultfd: $(cat "$dir/probe")"
start_sidecar -F 499
program shares worker
spawn "$copy" 60
pid=$spawned
sleep 1
"$ringside" tail --no-stack -o json -p "$pid" | python3 -c '
import json, sys, time
for line in sys.stdin:
    late = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - int(json.loads(line)["boot_nano"])
    print(late, flush=True)' >>"$dir/late" &
started="$! $started"
await 10 test -s "$dir/late" || fail "no sample arrives"
sleep 1
: >"$dir/late"				# what came while Python was starting
for i in 1 2 3 4 5 6; do
	spawn "$holder" 4 >/dev/null
	held=$spawned
	sleep 0.3
done
sleep 2
"$copy" 1 &
fresh=$!
started="$fresh $started"
wait $fresh
dump "$dir/all.json" --kind all

claim "samples of others arrive as before, and new processes are still recognised"
sort -n "$dir/late" | awk '{ late[NR] = $1 / 1e6 }
	END { if (NR < 500) { print "  only " NR " samples arrived"; exit 1 }
		p99 = late[int(NR * 0.99)]
		if (p99 > 250 || late[NR] > 900) {
			printf "  lateness p99 %.0f ms, worst %.0f ms\n", p99, late[NR]; exit 1 } }' ||
	fail "samples of another process are late"
query "$dir/all.json" "$fresh" "$held" "$holder" <<'EOF'
fresh, held = samples(args[0]), samples(args[1])
check(len(fresh) > 200 and share(fresh, "burn_seventy") > 60, "a new process has names: %d" % len(fresh))
check(len(held) > 500, "the withholder itself is sampled: %d" % len(held))
check(percent([s for s in held if exe(s) == args[2]], held) > 90, "and has its executable")
check(unaccounted() == 0, "nothing is missing")
EOF
claim "it ends in time although reads are pending"
stop_sidecar
