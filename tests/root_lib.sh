# SPDX-License-Identifier: Apache-2.0
# Shared by the end-to-end tests that need root, tests/root_*.sh.  Each prints what it checks and exits
# 0, 1, or 77 with the reason; with RINGSIDE_TEST_KEEP set it leaves its folders behind.  A test has a ring and a folder of its own and ends what it started.
set -u
PATH=$PATH:/usr/sbin:/sbin
build=${abs_top_builddir:-$PWD}
src=${abs_top_srcdir:-$build}
programs=$build/tests			# work_* are built there

claim() { echo "checking: $*"; }
skip() { echo "skipped: $*"; exit 77; }
fail() {
	echo "FAIL: $*"
	if [ -s "${dir:-/nonexistent}/sidecar.log" ]; then
		echo "last lines of ringsided's log:"
		tail -n 15 "$dir/sidecar.log"
	fi
	exit 1
}
need() {
	for tool; do
		command -v "$tool" >/dev/null || skip "no $tool on this machine"
	done
}

[ "$(id -u)" = 0 ] || skip "needs root"
need python3
[ -e "$build/ringsided" ] || skip "this build has no ringsided (--disable-sidecar)"
shm=$(mktemp -d /dev/shm/ringside-test.XXXXXX) || skip "no /dev/shm"
dir=$(mktemp -d /tmp/ringside-test.XXXXXX) || exit 1
chmod 755 "$shm" "$dir"			# unprivileged readers look in
ring=$shm/ring
RINGSIDE_RING=$ring
export RINGSIDE_RING
started=				# pids to end, newest first
sidecar=

cleanup() {
	for pid in $started; do
		kill "$pid" 2>/dev/null && sleep 0.1
		kill -9 "$pid" 2>/dev/null
	done
	if command -v on_exit >/dev/null; then on_exit; fi
	if [ -n "${RINGSIDE_TEST_KEEP:-}" ]; then echo "kept: $shm $dir"; else rm -rf "$shm" "$dir"; fi
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# The programs, where anybody may run them, without libtool's wrappers around them.
mkdir "$dir/bin"
for program in ringsided ringside; do
	if [ -e "$build/.libs/$program" ]; then
		cp "$build/.libs/$program" "$dir/bin/"
	else
		cp "$build/$program" "$dir/bin/"
	fi
done
cp -P "$build"/.libs/libringside.so* "$dir/bin/" 2>/dev/null
LD_LIBRARY_PATH=$dir/bin
export LD_LIBRARY_PATH
ringsided=$dir/bin/ringsided
ringside=$dir/bin/ringside

# spawn COMMAND...: in the background; its pid in $spawned, ended at exit.
spawn() {
	"$@" &
	spawned=$!
	started="$spawned $started"
}
# await SECONDS COMMAND...: until COMMAND succeeds; 1 when it never did.
await() {
	tries=$(($1 * 20))
	shift
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.05
	done
}
# start_sidecar OPTIONS...: until it is ready.  $wrapper goes before it, $sidecar is its pid.
start_sidecar() {
	: >"$dir/sidecar.log"
	${wrapper:-} "$ringsided" --ring "$ring" "$@" 2>"$dir/sidecar.log" &
	sidecar=$!
	started="$sidecar $started"
	await 30 sidecar_ready
	grep -q 'ringsided: ready: ' "$dir/sidecar.log" || fail "ringsided did not become ready: $*"
}
sidecar_ready() {		# or gone: then waiting is over, too
	grep -q 'ringsided: ready: ' "$dir/sidecar.log" || sidecar_gone
}
# stop_sidecar: cleanly, as systemd would; it has 10 s.
stop_sidecar() {
	kill -TERM "$sidecar" 2>/dev/null || fail "ringsided is gone"
	await 10 sidecar_gone || fail "ringsided did not end within 10 s of SIGTERM"
	wait "$sidecar"
	rc=$?
	[ $rc = 0 ] || fail "ringsided ended with $rc, not 0, after SIGTERM"
	sidecar=
}
sidecar_gone() {		# a zombie is gone
	! grep -qs '^State:[[:space:]]*[^Z]' "/proc/$sidecar/status"
}
# dump FILE OPTIONS...: every held record that the options select, a JSON object a line.
dump() {
	dump_to=$1
	shift
	"$ringside" tail --no-follow -o json "$@" >"$dump_to" 2>"$dir/tail.err" ||
		fail "ringside tail --no-follow -o json $*: exit $?: $(cat "$dir/tail.err")"
}
# query FILE ARGS...: runs the Python on stdin over the records in FILE (tests/root_query.py).
query() {
	python3 "$src/tests/root_query.py" "$@" || fail "the records say otherwise (above)"
}
# program NAME AS: a copy of tests/work_NAME under the name AS; its path in $copy.
program() {
	copy=$dir/$2
	cp "$programs/work_$1" "$copy" || fail "tests/work_$1 is not built"
}
# status KEY: value of a key of `ringside status -o json`, as a.b.c.
status() {
	"$ringside" status -o json | python3 -c '
import json, sys
v = json.load(sys.stdin)
for k in sys.argv[1].split("."):
    v = v.get(k) if isinstance(v, dict) else None
print(json.dumps(v) if isinstance(v, (list, dict, bool)) else v)' "$1"
}
# children PID: its descendants, one a line.
children() {
	for child in $(cat "/proc/$1/task"/*/children 2>/dev/null); do
		echo "$child"
		children "$child"
	done
}
# Mount point of the v2 hierarchy, or empty.
cgroup2() { awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts; }
