#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What can be wrong from outside: a full tmpfs, damaged and foreign ring files, an unknown version, wrong
# options, missing rights, a ring that is taken.  Always a clear error, never a crash.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need capsh mount

# refused RC PATTERN COMMAND...: COMMAND ends with RC and says something that matches PATTERN.
refused() {
	want=$1
	pattern=$2
	shift 2
	timeout 20 "$@" >"$dir/out" 2>"$dir/err" </dev/null
	rc=$?
	[ $rc = "$want" ] || fail "$*: exit $rc, not $want: $(head -n 3 "$dir/err")"
	grep -qiE -e "$pattern" "$dir/err" || fail "$*: does not say /$pattern/: $(cat "$dir/err")"
}

claim "a full tmpfs: an error at start, no SIGBUS later, nothing left behind"
mkdir "$dir/small"
mount -t tmpfs -o size=4m none "$dir/small" || skip "cannot mount a tmpfs"
on_exit() { umount "$dir/small" 2>/dev/null; }
refused 1 'space' "$ringsided" --ring "$dir/small/ring" --duration 1
[ -z "$(find "$dir/small" -type f -size +0 ! -name '*.lock')" ] || fail "files are left: $(ls -l "$dir/small")"

claim "wrong options: exit 2"
for options in "--frequency 0" "--frequency 10001" "--frequency x" "--scope moon" "--scope pid:" \
	"--ring-size 1" "--dict-size many" "--duration never" "--io-backend steam" "--stack-depth 0" \
	"--dict-size 1G" "--ready-fd 77" "--no-such-option" "--mode 999" "--log-level loudest" "surplus"; do
	# shellcheck disable=SC2086
	refused 2 'ringsided: ' "$ringsided" --ring "$shm/none" $options
done
[ ! -e "$shm/none" ] || fail "a refused command line leaves a ring"
for options in "tail --lines x" "tail --output smoke" "record" "nonsense" "tail --pid x" "status -o yaml"; do
	# shellcheck disable=SC2086
	refused 2 'ringside' "$ringside" $options
done

claim "no ring: exit 1 at once, with what to do"
for command in "tail" "status" "list" "record -o $dir/x.folded --duration 1"; do
	# shellcheck disable=SC2086
	refused 1 "$ring" "$ringside" $command
done

claim "missing rights: named"
refused 1 'CAP_BPF' capsh --drop=cap_bpf,cap_sys_admin -- -c "exec '$ringsided' --ring '$ring' --duration 1"
refused 1 'CAP_PERFMON' capsh --drop=cap_perfmon,cap_sys_admin -- \
	-c "exec '$ringsided' --ring '$ring' --duration 1"
[ ! -e "$ring" ] || fail "ringsided without rights leaves a ring that nobody writes"
capsh --drop=cap_sys_ptrace,cap_dac_read_search,cap_dac_override -- -c \
	"exec '$ringsided' --ring '$ring' -F 99 --duration 1" 2>"$dir/err" ||
	fail "without CAP_SYS_PTRACE it does not run at all: $(tail -n 3 "$dir/err")"
grep -q SYS_PTRACE "$dir/err" || fail "the missing CAP_SYS_PTRACE is not named: $(cat "$dir/err")"
setpriv --reuid 65534 --regid 65534 --clear-groups "$ringsided" --probe >"$dir/probe" 2>&1
grep -q CAP_BPF "$dir/probe" || fail "--probe as nobody does not name CAP_BPF"
rm -f "$ring" "$ring".*

claim "a scope of nobody: said"
timeout 20 "$ringsided" --ring "$ring" -F 99 --scope pid:4194300 --duration 0.2 2>"$dir/err" || fail "scope of nobody: exit $?"
grep -q 4194300 "$dir/err" || fail "a scope of nobody is not told: $(cat "$dir/err")"

claim "a ring that is taken: exit 1, naming the holder"
start_sidecar -F 199
refused 1 "(^|[^0-9])$sidecar([^0-9]|\$)" "$ringsided" --ring "$ring" --duration 1
"$ringside" status >/dev/null || fail "the holder was disturbed"
program shares worker
"$copy" 1
refused 127 '/nosuch' "$ringside" record -o "$dir/never.folded" -- /nosuch
[ ! -e "$dir/never.folded" ] || fail "a command that cannot run leaves a profile"
[ "$(wc -l <"$dir/err")" = 1 ] || fail "more than one line for a command that cannot run: $(cat "$dir/err")"
cp "$ring" "$dir/good"
stop_sidecar

# reads WHAT: every client command on $dir/bad ends in an error, or in what it could salvage.
reads() {
	for command in "tail --no-follow" "tail --no-follow --paranoid" status list \
		"record --duration 1 -o $dir/x.folded"; do
		# shellcheck disable=SC2086
		RINGSIDE_RING=$dir/bad timeout 20 "$ringside" $command >"$dir/out" 2>"$dir/err" </dev/null
		rc=$?
		[ $rc -le 1 ] || fail "$1: $command: exit $rc: $(head -n 3 "$dir/err")"
		[ $rc = 0 ] || [ -s "$dir/err" ] || [ "$command" = status ] || fail "$1: $command: no message"
	done
}
poke() {			# poke OFFSET OCTAL-ESCAPES: into $dir/bad
	printf "$2" | dd of="$dir/bad" bs=1 seek="$1" conv=notrunc 2>/dev/null
}
bad() { cp "$dir/good" "$dir/bad"; }
open_fails() {			# open_fails PATTERN
	for command in "tail --no-follow" status list; do
		# shellcheck disable=SC2086
		RINGSIDE_RING=$dir/bad refused 1 "$1" "$ringside" $command
	done
}

claim "truncated, foreign and corrupted files"
for size in 0 1 100 4096 1048576; do
	bad; truncate -s $size "$dir/bad"; open_fails "$dir/bad"
done
bad; poke 0 'GARBAGE!'; open_fails 'ring'
bad; printf 'a line of text\n' >"$dir/bad"; open_fails 'ring'
rm "$dir/bad"; mkdir "$dir/bad"; open_fails "$dir/bad"; rmdir "$dir/bad"
mkfifo "$dir/bad"; open_fails "$dir/bad"; rm "$dir/bad"
bad; chown 65534 "$dir/bad"; open_fails 'owner'; rm -f "$dir/bad"
claim "an unknown major version: both versions named; a later minor one is read"
bad; poke 12 '\011\000'; open_fails '9\.'; grep -qE '1\.' "$dir/err" || fail "our own version is not named"
bad; poke 14 '\011\000'
RINGSIDE_RING=$dir/bad "$ringside" tail --no-follow >"$dir/out" 2>"$dir/err" || fail "a later minor version is refused"
[ -s "$dir/out" ] || fail "a later minor version is not read"
claim "random damage: never a crash"
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
	bad
	python3 - "$dir/bad" $seed <<'EOF'
import random, sys
r = random.Random(int(sys.argv[2]))
with open(sys.argv[1], "r+b") as f:
    size = f.seek(0, 2)
    for _ in range(20):				# the headers, the dictionary, the records
        f.seek(16 + r.randrange(4000) if r.random() < 0.3 else r.randrange(size - 64))
        f.write(r.choice([b"\xff" * 8, b"\0" * 8, r.randbytes(32)]))
EOF
	reads "damage with seed $seed"
done

claim "the writer starts where such a file lies, or says why not"
printf 'a line of text\n' >"$ring"
timeout 20 "$ringsided" --ring "$ring" -F 99 --duration 1 2>"$dir/err"
rc=$?
[ $rc -le 1 ] || fail "a foreign file in the ring's place: exit $rc"
[ $rc = 0 ] || grep -q "$ring" "$dir/err" || fail "a foreign file in the ring's place: no clear message"
