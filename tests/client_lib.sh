# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/client_*.sh: a private folder with a ring, and checks that say what went wrong.
set -u
top=${abs_top_builddir:-.}
ringside=$top/ringside
maker=$top/tests/ring_maker
for program in "$ringside" "$maker"; do
	[ -x "$program" ] || { echo "$program is not built"; exit 1; }
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/client-test-XXXXXX") || exit 1
RINGSIDE_RING=$dir/ring
export RINGSIDE_RING
unset NO_COLOR
failed=0
pids=

cleanup() {
	for pid in $pids; do
		kill "$pid" 2>/dev/null
	done
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

fail() {
	echo "FAIL: $*"
	failed=1
}

# run STATUS COMMAND...: output in $dir/out and $dir/err
run() {
	want=$1
	shift
	"$@" >"$dir/out" 2>"$dir/err"
	got=$?
	[ $got -eq "$want" ] || { fail "$*: exit $got, wanted $want"; cat "$dir/err"; }
}

# start COMMAND...: in the background, output as in run; its pid in $started
start() {
	"$@" >"$dir/out" 2>"$dir/err" &
	started=$!
	pids="$pids $started"
}

# ended STATUS WHAT: waits for what start started
ended() {
	wait "$started"
	got=$?
	[ $got -eq "$1" ] || { fail "$2: exit $got, wanted $1"; cat "$dir/err"; }
}

lines() { wc -l <"$dir/out"; }

# out_has / err_has REGEX [WHAT]
out_has() { grep -Eq -- "$1" "$dir/out" || { fail "no '$1' in the output ${2:-}"; head -5 "$dir/out"; }; }
err_has() { grep -Eq -- "$1" "$dir/err" || { fail "no '$1' in the messages ${2:-}"; cat "$dir/err"; }; }
out_is_lines() { [ "$(lines)" -eq "$1" ] || { fail "$(lines) lines, wanted $1: ${2:-}"; head -5 "$dir/out"; }; }

# soon REGEX FILE: within 10 s
soon() {
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		grep -Eq -- "$1" "$2" 2>/dev/null && return 0
		sleep 0.5
	done
	fail "no '$1' in $2 within 10 s"
}

# signals to background jobs of a non-interactive shell: SIGINT would be ignored in them
with_sigint() { exec python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"; }

need() {
	command -v "$1" >/dev/null || { echo "no $1 (${2:-$1})"; exit 77; }
}
