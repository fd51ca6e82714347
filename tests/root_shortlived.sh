#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 2,000 processes that live 2 ms each: those that were sampled still have executable and functions.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

start_sidecar -F 999
program shortlived shortlived
"$copy" 2000 2 || fail "work_shortlived: exit $?"
sleep 0.3
dump "$dir/all.json" --kind all
claim "sampled short-lived processes have executable and function names"
query "$dir/all.json" "$copy" <<'EOF'
path = args[0]
short = [s for s in samples() if s["comm"] == "shortlived"]
living = [s for s in short if any(f.get("mapping") == path for f in s.get("stack", []))]
pids = {s["pid"] for s in living}
check(len(living) > 1000, "more than 1000 samples of them: %d" % len(living))
check(len(pids) > 500, "of more than 500 processes: %d" % len(pids))
known = [s for s in living if exe(s) == path]
check(percent(known, living) >= 99, "have the executable's path: %.2f percent" % percent(known, living))
own = [f for s in living for f in s["stack"] if f.get("mapping") == path]
named = [f for f in own if f.get("function")]
check(percent(named, own) >= 98, "frames of the program are named: %.2f percent" % percent(named, own))
burning = [s for s in living if "burn_short_life" in functions(s)]
check(percent(burning, living) > 50, "burn_short_life is there: %.1f percent" % percent(burning, living))
inside = [s for s in short if s not in living]
check(len([s for s in short if exe(s)]) >= 0.97 * len(short), "also when the tick hit the kernel: %d of %d"
      % (len([s for s in short if exe(s)]), len(short)))
EOF
stop_sidecar
