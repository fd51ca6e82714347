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
mkfifo "$dir/pipe"
"$ringside" tail --no-stack -o json -p "$pid" >"$dir/pipe" &
started="$! $started"
python3 -c '
import json, sys, time
for line in sys.stdin:
    late = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - int(json.loads(line)["boot_nano"])
    print(late, flush=True)' <"$dir/pipe" >>"$dir/late" &
started="$! $started"
await 10 test -s "$dir/late" || fail "no sample arrives"
sleep 1
: >"$dir/late"				# what came while Python was starting
sleep 2
worst() { sort -n "$1" | tail -n 1; }
before=$(worst "$dir/late")		# this machine may be busy with other things
: >"$dir/late"
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
[ "$(wc -l <"$dir/late")" -gt 300 ] || fail "only $(wc -l <"$dir/late") samples arrived"
during=$(worst "$dir/late")
[ "$during" -lt 900000000 ] || [ "$during" -lt $((before * 3)) ] ||
	fail "samples of another process are late: $during ns, before $before ns"
query "$dir/all.json" "$fresh" "$held" "$holder" <<'EOF'
fresh, held = samples(args[0]), samples(args[1])
check(len(fresh) > 200 and share(fresh, "burn_seventy") > 60, "a new process has names: %d" % len(fresh))
check(len(held) > 200, "the withholder itself is sampled: %d" % len(held))
check(percent([s for s in held if exe(s) == args[2]], held) > 90, "and has its executable")
check(unaccounted() == 0, "nothing is missing")
EOF
claim "it ends in time although reads are pending"
stop_sidecar
