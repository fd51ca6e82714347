#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Eight threads switch contexts a million times a second in all and write down when each came and went.
# Of at least 20,000 samples not one may carry a context that its thread did not have at that moment.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
[ -e "$programs/ctx_load" ] || skip "tests/ctx_load is not built"
want=20000
have=0
rounds=0

claim "no sample of $want carries ids that its thread did not have"
start_sidecar -F 3000 --ring-size 128M
while [ $have -lt $want ]; do
	rounds=$((rounds + 1))
	[ $rounds -le 20 ] || fail "only $have samples with a context in 20 rounds: is this machine overloaded?"
	logs=$shm/logs.$rounds
	mkdir "$logs"
	"$programs/ctx_load" run "$logs" --threads 8 --rate 1000000 --seconds 4 >"$dir/load.out" 2>&1 ||
		fail "ctx_load: $(cat "$dir/load.out")"
	pid=$(awk '$1 == "pid" { print $2 }' "$dir/load.out")
	sleep 0.5
	dump "$dir/all.json" -p "$pid"
	python3 - "$dir/all.json" >"$dir/samples" <<'PY' || fail "the records say otherwise (above)"
import collections, json, sys
states = collections.Counter()
first = None
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r["kind"] != "sample":
        continue
    state = r.get("context_state", "absent")
    states[state] += 1
    if state == "ok":
        print(r["boot_nano"], r["trace_id"], r["span_id"], r["attributes"]["thread"])
        if r["attributes"]["serial"] != str(int(r["span_id"], 16)):
            sys.exit("attributes of one context, ids of another: %s" % line)
    else:
        print(r["boot_nano"], "none")
print(dict(states), file=sys.stderr)
bad = [s for s in states if s not in ("ok", "none", "absent", "unresolved")]
if bad:
    sys.exit("unexpected states: %s" % bad)
PY
	"$programs/ctx_load" verify "$logs" <"$dir/samples" >"$dir/verdict" 2>"$dir/wrong" ||
		fail "$(cat "$dir/verdict" "$dir/wrong")"
	cat "$dir/load.out" "$dir/verdict"
	with=$(grep -vc none "$dir/samples")
	have=$((have + with))
	rm -r "$logs"
done
echo "$have samples with a context, none wrong"
claim "nothing was published of it but what the process context allows"
[ "$(status context.ok)" -ge $want ] || fail "status counts $(status context.ok) contexts"
[ "$(status context.fault)" = 0 ] || fail "status counts $(status context.fault) faults"
stop_sidecar
