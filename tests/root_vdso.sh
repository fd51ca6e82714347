#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that reads the clock in a loop spends its time in the vDSO, which is no file.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

start_sidecar -F 499
program vdso clocky
spawn "$copy" 1.5
pid=$spawned
wait "$pid"
dump "$dir/all.json" -p "$pid"
claim "vDSO frames have the vDSO's symbol names"
query "$dir/all.json" <<'EOF'
ss = samples()
check(len(ss) > 300, "samples: %d" % len(ss))
top = [s["stack"][0] for s in settled(ss) if s["stack"]]
vdso = [f for f in top if f.get("mapping") == "[vdso]"]
check(percent(vdso, top) > 40, "ticks in the vDSO: %.0f percent" % percent(vdso, top))
named = [f for f in vdso if "clock_gettime" in (f.get("function") or "")]
check(percent(named, vdso) > 95, "are named: %.0f percent, e.g. %s" % (percent(named, vdso), vdso[:1]))
EOF
stop_sidecar
