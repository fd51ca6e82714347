#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ringside list, status, help, completion; and who may read.
. "$srcdir/tests/client_lib.sh"
need python3

run 1 "$ringside" status
err_has 'start ringsided'
run 1 "$ringside" list
"$maker" "$RINGSIDE_RING" samples=3 pid=90 service=cart samples=5 hostile lost=5 status say=ready \
	wait=60000 >"$dir/maker" &
maker_pid=$!
pids="$pids $maker_pid"
soon ready "$dir/maker"

run 0 "$ringside" status
out_has '^writer .* alive'
out_has '^lost +kernel_ring_full 5$'
out_has '^WARNING +not on tmpfs: .x1b\[31m$'
run 0 "$ringside" status -o json
python3 - "$dir/out" <<'PY' || fail "status JSON"
import json, sys
s = json.load(open(sys.argv[1]))
for key in ("ring format alive writer_pid heartbeat_age_nano started_unix_nano frequency_hz scope io_backend "
            "clock ring_bytes dict_bytes dict_used_bytes records samples oldest_unix_nano newest_unix_nano lost "
            "skipped degraded stack_end context memory cpu capabilities warnings").split():
    assert key in s, key
assert s["alive"] is True and s["frequency_hz"] == 100 and s["format"] == "1.0"
assert s["lost"]["kernel_ring_full"] == 5 and set(s["lost"]) == {"kernel_ring_full", "malformed",
    "clock_refused", "record_too_big", "throttled", "process_burst"}, s["lost"]
assert set(s["skipped"]) == {"out_of_scope", "rules", "paused"}
assert set(s["degraded"]) == {"process_gone", "unreadable", "names_late", "dictionary_full",
                              "worker_restarts"}
assert isinstance(s["started_unix_nano"], str) and isinstance(s["heartbeat_age_nano"], int)
assert s["clock"]["source"] == "paired" and s["capabilities"] == ["cap_perfmon"]
PY
run 0 "$ringside" list
out_has '^ +77 +3 .* worker +shop$'
out_has '^    service.name=cart$|^    service.name=evil'
run 0 "$ringside" list -o json -p 77
python3 - "$dir/out" <<'PY' || fail "list JSON"
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert len(rows) == 1 and rows[0]["pid"] == 77 and rows[0]["samples"] == 3
assert rows[0]["resource"]["process.executable.path"] == "/usr/bin/worker"
assert rows[0]["schema_url"] == "https://opentelemetry.io/schemas/1.37.0"
PY
run 0 "$ringside" list --service nobody
err_has 'no held record matches'

# Somebody who is not in the group of the ring.
if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1; then
	# A copy: the build may lie where others cannot go.
	chmod 711 "$dir"
	mkdir -m 755 "$dir/bin"
	if [ -x "$top/.libs/ringside" ]; then
		cp "$top/.libs/ringside" "$dir/bin/"
		cp -P "$top"/.libs/libringside.so* "$dir/bin/"
	else
		cp "$ringside" "$dir/bin/"
	fi
	for command in tail status list "record -o $dir/x.folded" doctor; do
		su -s /bin/sh nobody -c "LD_LIBRARY_PATH=$dir/bin RINGSIDE_RING=$RINGSIDE_RING exec $dir/bin/ringside $command" \
			>"$dir/out" 2>"$dir/err"
		[ $? -eq 1 ] || fail "$command of a stranger does not end with 1"
		err_has '[Pp]ermi|not allowed' "$command"
	done
else
	echo "not root: permission of strangers not checked"
fi

kill -9 "$maker_pid"
wait "$maker_pid" 2>/dev/null
run 1 "$ringside" status
out_has 'GONE without a word'
err_has 'no live writer'

run 0 "$ringside" --help
run 0 "$ringside" --version
out_has '^ringside [0-9]'
run 0 "$ringside" help tail
run 2 "$ringside" help nothing
run 2 "$ringside"
run 2 "$ringside" nothing
for command in tail record list status doctor help completion; do
	run 0 "$ringside" $command --help
done
run 2 "$ringside" completion csh
for shell in bash zsh fish; do
	run 0 "$ringside" completion $shell
	cp "$dir/out" "$dir/completion.$shell"
	command -v $shell >/dev/null || { echo "no $shell: its completion was not parsed"; continue; }
	$shell -n "$dir/completion.$shell" || fail "completion for $shell"
done
# bash completes options, words and commands.
complete_bash() {
	bash -c '. "$1"; COMP_WORDS=(ringside $2); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _ringside
		echo "${COMPREPLY[*]}"' - "$dir/completion.bash" "$1"
}
if command -v bash >/dev/null; then
	[ "$(complete_bash "stat")" = status ] || fail "bash: command"
	[ "$(complete_bash "tail --max")" = --max-events ] || fail "bash: option"
	[ "$(complete_bash "tail -o js")" = json ] || fail "bash: word"
fi
exit $failed
