#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Thread contexts while a process changes: a library opened later, a fork, an exec, a key map that grows.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need gcc
cd "$dir" || exit 1
writer=$src/tests/tls_writer.c
gcc -O1 -I"$src" -shared -fPIC -DWRITER -DLARGE=3000 "$writer" -o lib.so &&
	gcc -O1 -I"$src" -DMAIN -DDLOPEN "$writer" -o opens -pthread -ldl &&
	gcc -O1 -I"$src" -fPIE -pie -DWRITER -DMAIN "$writer" -o alone -pthread \
		-Wl,--export-dynamic-symbol=otel_thread_ctx_v1 || fail "tests/tls_writer.c cannot be built"

# writes SECONDS PROGRAM ARGS...: runs it, and dumps its samples into all.json; its pid is in $pid.
writes() {
	seconds=$1
	shift
	spawn "$@" >"$dir/out"
	pid=$spawned
	await 20 grep -q ready "$dir/out" || fail "$* did not start"
	sleep "$seconds"
	dump "$dir/all.json"
	kill "$pid"
	wait "$pid" 2>/dev/null
}

start_sidecar -F 499 --record-events "$dir/events"
claim "a library that is opened later is found"
writes 3 ./opens 11 ./lib.so later
query "$dir/all.json" "$pid" <<'PY'
ss = samples(args[0])
states = [s.get("context_state") for s in ss]
check("no_symbol" in states or "unresolved" in states, "before it was opened: %s" % set(states))
ok = [s for s in ss if s.get("context_state") == "ok"]
check(len(ok) >= 5, "with its context: %d of %d" % (len(ok), len(ss)))
check(all(s["trace_id"] == "11" * 16 for s in ok), "right ids")
PY

claim "a child that was forked has no context, though its memory is a copy"
writes 2 ./alone 22 "" fork
query "$dir/all.json" "$pid" <<'PY'
child = [s for s in samples(comm="child") if s["pid"] != int(args[0])]
check(len(child) >= 5, "samples of the child: %d" % len(child))
check(not [s for s in child if "trace_id" in s or s.get("context_state")], "none has a context: %s" % child[:1])
ok = [s for s in samples(args[0]) if s.get("trace_id") == "22" * 16]
check(len(ok) >= 5, "samples of the parent with its ids: %d" % len(ok))
PY

claim "what an exec makes has its own"
writes 4 ./alone 33 "" exec
query "$dir/all.json" "$pid" <<'PY'
ids = [s["trace_id"] for s in samples(args[0]) if "trace_id" in s]
check(ids.count("33" * 16) >= 5, "before the exec: %d" % ids.count("33" * 16))
check(ids.count("cc" * 16) >= 5, "after the exec: %d" % ids.count("cc" * 16))
check(set(ids) == {"33" * 16, "cc" * 16}, "no others: %s" % set(ids))
last = max(i for i, x in enumerate(ids) if x == "33" * 16)
check(last < ids.index("cc" * 16), "and none of the first after it")
PY

claim "a key that the map lacks has the process context read again, at once"
writes 4 ./alone 44 "" grow
query "$dir/all.json" "$pid" "$(awk '$1 == "grown" { print $2 }' "$dir/out")" <<'PY'
grown = int(args[1])
ss = [s for s in samples(args[0]) if s.get("context_state") == "ok"]
after = [s for s in ss if int(s["boot_nano"]) > grown]
added = [s for s in after if s["attributes"].get("added") == "new"]
check(len(ss) > len(after) > 0, "samples before and after: %d, %d" % (len(ss), len(after)))
check(len(added) >= 5, "with the new key: %d of %d" % (len(added), len(after)))
first = min(int(s["boot_nano"]) for s in added) - grown if added else 0
check(first < 2.5e9, "the first %.2f s after it was published, before any poll" % (first / 1e9))
check(all(s["attributes"].get("which") == "case" for s in ss), "the known one is always there")
PY

claim "--explain-context says how it is reached, and what the thread has"
spawn ./opens 55 ./lib.so late >"$dir/out"
await 20 grep -q ready "$dir/out" || fail "it did not start"
"$ringsided" --explain-context "$spawned" -o json >"$dir/explain.json" 2>"$dir/explain.err" ||
	fail "--explain-context: $(cat "$dir/explain.err")"
python3 - "$dir/explain.json" "$dir/lib.so" <<'PY' || fail "--explain-context: $(cat "$dir/explain.json")"
import json, sys
t = json.load(open(sys.argv[1]))["thread_context"]
assert t["reached"] and t["why"] is None and t["keys"] == ["which"], t
assert [d["path"] for d in t["definers"]] == [sys.argv[2]] and t["definers"][0]["relocations"], t
assert "module" in t["ways"][0]["place"], t
by_name = {x["comm"]: x for x in t["threads"]}
assert by_name["opens"]["state"] == "ok" and by_name["opens"]["trace_id"] == "55" * 16, t
assert by_name["untouched"]["state"] == "unallocated", t
PY
"$ringsided" --explain-context $$ >"$dir/explain" || fail "--explain-context of a shell"
grep -q 'thread contexts: none' "$dir/explain" || fail "a shell has none: $(cat "$dir/explain")"

claim "every command selects by trace, span and attribute"
lines() {		# WANT COMMAND...: how many samples it shows
	want=$1
	shift
	"$@" >"$dir/lines" 2>"$dir/lines.err" || fail "$*: $(cat "$dir/lines.err")"
	n=$(wc -l <"$dir/lines")
	case $want in
	some) [ "$n" -gt 0 ] ;;
	none) [ "$n" = 0 ] ;;
	esac || fail "$*: $n lines, want $want"
}
sleep 1
all=5555555555555555
lines some "$ringside" tail --no-follow --kind sample --trace-id $all$all
lines none "$ringside" tail --no-follow --kind sample --trace-id $all$(echo $all | tr 5 6)
lines some "$ringside" tail --no-follow --kind sample --span-id $all
lines none "$ringside" tail --no-follow --kind sample --span-id $(echo $all | tr 5 6)
lines some "$ringside" tail --no-follow --kind sample --attr which=case --trace-id $all$all
grep -q "\[$all$all/$all which=case\]" "$dir/lines" || fail "tail shows no ids: $(head -1 "$dir/lines")"
lines none "$ringside" tail --no-follow --kind sample --attr which=other
lines some "$ringside" tail --no-follow --kind sample --trace-id $all$all -o full
grep -q "trace $all$all span $all flags 01" "$dir/lines" && grep -q 'which=case\|which case\|which: case' "$dir/lines" ||
	fail "tail -o full shows no ids: $(head -12 "$dir/lines")"
lines some "$ringside" record --no-follow -o - --format folded --trace-id $all$all
lines none "$ringside" record --no-follow -o - --format folded --attr which=other
lines some "$ringside" list --span-id $all
lines none "$ringside" list --attr which=other
stop_sidecar

claim "a replay of what was recorded gives the same contexts"
dump "$dir/live.json" --kind sample
"$ringsided" --replay "$dir/events" --ring "$shm/again" 2>"$dir/replay.log" || fail "--replay: $(tail -3 "$dir/replay.log")"
dump "$dir/again.json" --kind sample --ring "$shm/again"
python3 - "$dir/live.json" "$dir/again.json" <<'PY' || fail "the replay says otherwise"
import json, sys
def contexts(path):
    return sorted((s["boot_nano"], s["tid"], s.get("context_state", ""), s.get("trace_id", ""),
                   json.dumps(s.get("attributes"))) for s in map(json.loads, open(path)))
live, again = contexts(sys.argv[1]), contexts(sys.argv[2])
assert live == again, "%d and %d samples; the first that differ: %s" % (
    len(live), len(again), next((p for p in zip(live, again) if p[0] != p[1]), None))
assert sum(c[2] == "ok" for c in live) > 100, len(live)
PY
