#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ringside record on rings made by ring_maker: forms, files, commands.
. "$srcdir/tests/client_lib.sh"
need python3

run 2 "$ringside" record
err_has 'needs --output'
run 2 "$ringside" record -o x.svg
err_has 'later version'
run 2 "$ringside" record -o x.tar
err_has 'suffix'
run 2 "$ringside" record -o -
err_has 'needs --format'
run 1 "$ringside" record -o "$dir/x.folded"
err_has 'start ringsided'
[ ! -e "$dir/x.folded" ] || fail "a file without a ring"

"$maker" "$RINGSIDE_RING" samples=7 kernel=3 hostile lost=4 || fail "ring_maker"
run 0 "$ringside" record --no-follow -o "$dir/x.folded" --comm worker
printf '%s\n' 'worker;[libc.so.6]+0x27000;main;work;burn 7' \
	'worker;[libc.so.6]+0x27000;main;work;burn;do_syscall_64;vfs_read 3' >"$dir/want"
cmp -s "$dir/want" "$dir/x.folded" || { fail "folded"; cat "$dir/x.folded"; }
run 0 "$ringside" record --no-follow -o - --format folded -i vfs_read
out_is_lines 1 "-o -"
run 1 "$ringside" record --no-follow -o "$dir/no/such/folder.folded"
err_has 'creating: .*No such file'
run 0 "$ringside" record --no-follow -o "$dir/x.pprof"
err_has '12 seen, 11 recorded, 4 lost'
[ "$(stat -c %a "$dir/x.pprof")" = "$(printf '%o' $((0666 & ~$(umask))))" ] || fail "mode of the file"
[ "$(ls -A "$dir" | grep -c '^\.x')" -eq 0 ] || fail "a temporary file was left"

# pprof by readers that are not ours.
readers=0
if command -v go >/dev/null && go tool pprof -top "$dir/x.pprof" >"$dir/out" 2>"$dir/err"; then
	readers=$((readers + 1))
	out_has '^File: worker'
	out_has '^Build ID: abcdef0123456789'
	out_has '^ *70ms .* burn$'
	out_has '^ *30ms .* vfs_read$'
	go tool pprof -sample_index=samples -raw "$dir/x.pprof" >"$dir/out" 2>&1
	out_has 'service.name:\[shop\]'
	out_has '^ +7 +70000000:'
fi
if command -v protoc >/dev/null; then
	readers=$((readers + 1))
	python3 -c 'import gzip,sys; sys.stdout.buffer.write(gzip.open(sys.argv[1]).read())' \
		"$dir/x.pprof" | protoc --decode_raw >"$dir/out" 2>"$dir/err" || fail "protoc"
	out_has '6: "burn"'
	out_has '6: "nanoseconds"'
fi
[ $readers -gt 0 ] || echo "neither go nor protoc: the profile was not read by others"

# A command: its status, and what cannot be found is said.
run 7 "$ringside" record -o "$dir/c.folded" -- sh -c 'exit 7'
err_has 'no record names process'
run 127 "$ringside" record -o "$dir/c.folded" -- "$dir/no-such-program"
run 143 "$ringside" record -o "$dir/c.folded" -- sh -c 'kill -TERM $$'

# The command's samples and its children's, nobody else's.  The shell tells the writer its pid.
rm -f "$RINGSIDE_RING"*
"$maker" "$RINGSIDE_RING" say=ready wait=2000 >"$dir/maker" &
soon ready "$dir/maker"
kill -9 $!
wait $! 2>/dev/null
cat >"$dir/command" <<COMMAND
#!/bin/sh
"$maker" "$RINGSIDE_RING" nostart samples=2 pid=\$\$ service=mine samples=3 fork=4000000 exit pid=4000000 samples=4 \\
	pid=1 samples=5 wait=300
COMMAND
chmod +x "$dir/command"
run 0 "$ringside" record -o "$dir/c.folded" -- "$dir/command"
grep -q ' 7$' "$dir/c.folded" || { fail "the command and its child have 7 samples"; cat "$dir/c.folded" "$dir/err"; }

# Interrupted: keeps what it has.
rm -f "$RINGSIDE_RING"*
"$maker" "$RINGSIDE_RING" say=ready every=20,400 >"$dir/maker" &
pids="$pids $!"
soon ready "$dir/maker"
start with_sigint "$ringside" record -o "$dir/i.folded"
sleep 3
kill -INT "$started"
ended 130 "record until Ctrl-C"
grep -q '^worker;.*burn [0-9]' "$dir/i.folded" || fail "nothing kept after Ctrl-C"
run 0 "$ringside" record -o "$dir/d.pb.gz" --duration 500ms
[ -s "$dir/d.pb.gz" ] || fail "--duration wrote nothing"

exit $failed
