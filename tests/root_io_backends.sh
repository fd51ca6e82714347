#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The essentials with io_uring, with plain reads, and where io_uring is forbidden.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

# essentials WANT: a process is sampled, named, and status tells which backend did the work.
essentials() {
	program shares "worker$1"
	"$copy" 1 &
	pid=$!
	wait $pid
	dump "$dir/all.json" -p "$pid"
	query "$dir/all.json" "$copy" <<'EOF'
ss = settled(samples())
check(len(ss) > 150, "samples: %d" % len(ss))
check({exe(s) for s in ss} == {args[0]}, "executable")
check(60 < share(ss, "burn_seventy") < 80, "functions: %.0f percent" % share(ss, "burn_seventy"))
EOF
	[ "$(status io_backend)" = "$2" ] || fail "status says $(status io_backend), not $2"
	stop_sidecar
}
claim "plain"
start_sidecar -F 499 --io-backend plain
essentials 1 plain
claim "auto where io_uring is forbidden falls back to plain"
wrapper=$programs/work_deny_uring
start_sidecar -F 499
essentials 2 plain
claim "uring where it is forbidden is an error, or a fallback that says so"
$wrapper "$ringsided" --ring "$ring" --io-backend uring --duration 1 2>"$dir/denied.log"
rc=$?
grep -qi 'io_uring\|uring' "$dir/denied.log" || fail "a denied io_uring is not mentioned (exit $rc)"
wrapper=
if "$ringsided" --probe -o json | python3 -c '
import json, sys
sys.exit(not any("uring" in r["name"] and r["ok"] for r in json.load(sys.stdin)))'; then
	claim "uring"
	start_sidecar -F 499 --io-backend uring
	essentials 3 uring
else
	echo "not checked: uring (this kernel or policy does not allow it)"
fi
