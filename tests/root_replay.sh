#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A recorded event stream, replayed by nobody, gives the same records as the run that it was taken from.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need setpriv

start_sidecar -F 499 --record-events "$dir/events"
program shares worker
OTEL_SERVICE_NAME=shop "$copy" 1 &
wait $!
program shortlived brief
"$copy" 50 2
sleep 0.3
stop_sidecar
dump "$dir/live.json" --kind all
[ -s "$dir/events" ] || fail "--record-events wrote nothing"
chmod 644 "$dir/events"
mkdir -m 777 "$shm/replay"

# replay N: into its own ring, as a user with no right at all.
replay() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
		"$ringsided" --replay "$dir/events" --ring "$shm/replay/$1" >"$dir/replay$1.log" 2>&1 ||
		fail "replay $1: exit $?: $(tail -n 3 "$dir/replay$1.log")"
	RINGSIDE_RING=$shm/replay/$1 "$ringside" tail --no-follow -o json --kind all --owner 65534 \
		>"$dir/replay$1.json" || fail "replay $1 cannot be read"
}
replay 1
replay 2
claim "two replays are alike, byte for byte"
grep -v '"kind":"incarnation"' "$dir/replay1.json" >"$dir/a"
grep -v '"kind":"incarnation"' "$dir/replay2.json" >"$dir/b"
[ -s "$dir/a" ] || fail "a replay gives no record"
cmp "$dir/a" "$dir/b" || fail "two replays of one file differ"
claim "a replay gives the records of the live run"
query "$dir/live.json" "$dir/replay1.json" <<'EOF'
with open(args[0]) as f:
    again = [json.loads(line) for line in f]


def plain(rs):
    return [{k: v for k, v in r.items() if k != "seq"} for r in rs if r["kind"] in ("sample", "process")]


live, again = plain(records), plain(again)
check(len(live) > 300, "records: %d" % len(live))
check(len(live) == len(again), "as many: %d, %d" % (len(live), len(again)))
other = [(a, b) for a, b in zip(live, again) if a != b]
check(not other, "all the same: %d differ, first %s" % (len(other), other[:1]))
EOF
