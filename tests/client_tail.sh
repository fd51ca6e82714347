#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ringside tail on rings made by ring_maker: where it starts, what it selects, how it ends.
. "$srcdir/tests/client_lib.sh"
need python3

# No ring, no permission, not a ring: at once, with what to do.
run 1 "$ringside" tail
err_has 'no ring there; start ringsided'
echo "this is not a ring" >"$dir/foreign"
run 1 "$ringside" tail --ring "$dir/foreign"
err_has 'not a ring|too short|truncated|foreign'
: >"$dir/empty"
run 1 "$ringside" tail --ring "$dir/empty"
run 1 "$ringside" tail --ring "$dir"
run 2 "$ringside" tail --nonsense
run 2 "$ringside" tail -o perf
err_has 'later version'
run 2 "$ringside" top
err_has 'later version'

# What is held.
"$maker" "$RINGSIDE_RING" age=3600 samples=5 age=0 pid=90 service=cart samples=3 kernel=2 hostile \
	fork=91 exit lost=4 clock status || fail "ring_maker"
run 0 "$ringside" tail --no-follow
out_is_lines 13 "samples, a loss, a clock step"
out_has '^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6} worker +77/78 +1 shop +burn < work < main < \[libc.so.6\]\+0x27000$'
out_has ' vfs_read < do_syscall_64 < burn'
out_has 'LOST 4: kernel_ring_full'
out_has 'CLOCK step -3600\.000000000 s'
err_has '14 seen, 11 shown, 4 lost \(kernel_ring_full 4\), 3 skipped'
err_has 'has ended' "about a writer that is gone"
run 0 "$ringside" tail --no-follow -q
[ ! -s "$dir/err" ] || fail "-q is not quiet: $(cat "$dir/err")"
LC_ALL=C grep -q '[^ -~]' "$dir/out" && fail "raw bytes of a tenant in the output"
run 0 "$ringside" tail --no-follow --kind all
out_is_lines 16 "--kind all"
run 0 "$ringside" tail --no-follow -N 2
out_is_lines 2 "-N 2"
run 0 "$ringside" tail --no-follow -N 2 --kind sample --comm '^worker$'
out_is_lines 2 "-N 2 with a selection"
out_has 'vfs_read'
run 0 "$ringside" tail --no-follow --service '^cart$' --kind sample
out_is_lines 5 "--service"
run 0 "$ringside" tail --no-follow --kind sample -p 77
out_is_lines 5 "-p"
run 0 "$ringside" tail --no-follow --kind sample -i vfs_read
out_is_lines 2 "-i"
run 0 "$ringside" tail --no-follow --kind sample --since -5m
out_is_lines 6 "--since"
run 0 "$ringside" tail --kind sample --since -2h --until -5m
out_is_lines 5 "--until in the past ends by itself"
run 0 "$ringside" tail --since -2h --max-events 4
out_is_lines 4 "--max-events"
run 0 "$ringside" tail --no-follow --kind sample --paranoid
out_is_lines 11 "--paranoid"
run 0 "$ringside" tail --no-follow -o folded
out_is_lines 11 "-o folded"
out_has '^worker;\[libc.so.6\]\+0x27000;main;work;burn 1$'
run 0 "$ringside" tail --no-follow --kind sample --no-stack
out_has '1 shop$'
run 0 "$ringside" tail --no-follow --kind sample --stack=1 --color always -p 90
out_has 'burn < \.\.\.$'
grep -q "$(printf '\033')\[" "$dir/out" || fail "--color always has no colour"

# JSON: one object a line, keys of every kind.
run 0 "$ringside" tail --no-follow --kind all -o json
python3 - "$dir/out" <<'PY' || fail "JSON"
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
kinds = [r["kind"] for r in rows]
assert kinds.count("sample") == 11 and kinds.count("process") == 3, kinds
seqs = [int(r["seq"]) for r in rows]
assert seqs == list(range(seqs[0], seqs[0] + len(rows))), seqs
for r in rows:
    assert isinstance(r["seq"], str) and isinstance(r["time_unix_nano"], str)
    assert r["time"].endswith("Z") and len(r["time"]) == 30, r["time"]
s = rows[0]
assert s["weight"] == "10000000" and s["unit"] == "nanoseconds" and s["event"] == "cpu"
assert s["pid"] == 77 and s["tid"] == 78 and s["cpu"] == 1 and s["comm"] == "worker"
assert s["resource"]["service.name"] == "shop" and s["resource"]["process.pid"] == 77
assert [f.get("function") for f in s["stack"]] == ["burn", "work", "main", None]
assert s["stack"][0]["address"] == "0x1149" and s["stack"][0]["build_id_kind"] == "gnu"
assert s["stack_end"] == "complete" and s["kernel_stack_end"] == "none"
assert "context_state" not in s and "trace_id" not in s
evil = [r for r in rows if r["kind"] == "sample" and "\x1b" in r["comm"]][0]
assert evil["resource"]["service.name"].startswith("evil\x1b[31m\n\ufffd"), evil
lost = [r for r in rows if r["kind"] == "lost"][0]
assert lost["count"] == "4" and lost["cause"] == "kernel_ring_full" and lost["by"] == "writer"
clock = [r for r in rows if r["kind"] == "clock"][0]
assert clock["step_nano"] == "-3600000000000" and clock["source"] == "paired"
PY

# A closed pipe ends it silently.
"$ringside" tail --no-follow 2>"$dir/err" | head -1 >"$dir/out"
out_is_lines 1 "head -1"

# Following: from the newest on; Ctrl-C; SIGTERM; a duration; a new writer; a writer that is killed.
rm -f "$RINGSIDE_RING"*
start "$ringside" tail --wait 10s --duration 5s --kind sample
"$maker" "$RINGSIDE_RING" samples=2 wait=1500 every=50,90 >/dev/null &
pids="$pids $!"
ended 0 "--wait, --duration"
[ "$(lines)" -ge 2 ] || fail "--wait: $(lines) lines"	# a busy machine shows fewer
wait $!
rm -f "$RINGSIDE_RING"*
"$maker" "$RINGSIDE_RING" samples=50 say=ready every=20,600 >"$dir/maker" &
maker_pid=$!
pids="$pids $maker_pid"
soon ready "$dir/maker"
start "$ringside" tail -o json
soon '"kind":"sample"' "$dir/out"
python3 - "$dir/out" <<'PY' || fail "a follower begins at the newest"
import json, sys
assert int(json.loads(open(sys.argv[1]).readline())["seq"]) > 50
PY
kill -TERM "$started"
ended 0 "SIGTERM"
err_has 'seen, '
start with_sigint "$ringside" tail
soon worker "$dir/out"
kill -INT "$started"
ended 130 "SIGINT"
err_has 'seen, '
start "$ringside" tail
soon worker "$dir/out"
kill -9 "$maker_pid"
wait "$maker_pid" 2>/dev/null
soon 'is gone without a word' "$dir/err"
"$maker" "$RINGSIDE_RING" service=second every=20,100
soon second "$dir/out"
err_has 'ringsided is back'
kill -TERM "$started"
ended 0 "following to a new writer"

# A file that shrinks under the reader.
rm -f "$RINGSIDE_RING"*
"$maker" "$RINGSIDE_RING" samples=5 say=ready every=50,200 >"$dir/maker" &
maker_pid=$!
pids="$pids $maker_pid"
soon ready "$dir/maker"
start "$ringside" tail
soon worker "$dir/out"
kill -9 "$maker_pid"
wait "$maker_pid" 2>/dev/null
truncate -s 4096 "$RINGSIDE_RING"
ended 1 "a truncated file"
err_has 'truncated|inconsistent'

exit $failed
