#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shares, names, executable and build id of a program whose profile is known, read from the ring and
# from a recorded pprof file; kernel frames of a program that lives in the kernel.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need readelf

start_sidecar -F 999
program shares sharer
sharer=$copy
spawn "$sharer" 4
pid=$spawned
"$ringside" record -o "$dir/out.pb.gz" -p "$pid" --duration 3 || fail "ringside record: exit $?"
wait "$pid"
dump "$dir/shares.json" -p "$pid"
build_id=$(readelf -n "$sharer" | sed -n 's/.*Build ID: //p')

claim "70/20/10 within 3 points, names, executable path and build id, read from the ring"
query "$dir/shares.json" "$pid" "$sharer" "$build_id" <<'EOF'
pid, path, build_id = args
ss = samples(pid)
check(len(ss) > 2000, "more than 2000 samples in 4 CPU seconds at 999 Hz: %d" % len(ss))
known = [s for s in ss if leaf(s)]		# the first moments of a new file are not named yet
late = settled(ss)
check(percent([s for s in late if leaf(s)], late) > 99, "leaves are named")
for name, want in (("burn_seventy", 70), ("burn_twenty", 20), ("burn_ten", 10)):
    got = share(known, name)
    check(abs(got - want) <= 3, "%s has %d percent: %.1f" % (name, want, got))
other = {exe(s) for s in ss if s["comm"] == "sharer"}
check(other == {path}, "every sample has the executable's path: %s" % other)
burning = [s for s in ss if (leaf(s) or "").startswith("burn_")]
check(all(s["stack"][0].get("build_id") == build_id for s in burning), "build id is readelf's")
check(all(s["stack"][0].get("build_id_kind") == "gnu" for s in burning), "and of kind gnu")
callers = [functions(s)[1] for s in burning if len(s["stack"]) > 1]
check(callers.count("work_round") >= 0.98 * len(burning), "work_round is the caller")
check(all("main" in functions(s) for s in burning if len(s["stack"]) > 3), "main is below")
check(all(s["event"] == "cpu" and s["unit"] == "nanoseconds" for s in ss), "event and unit")
total = sum(int(s["weight"]) for s in ss) / 1e9
check(3.8 < total < 4.3, "weights add up to the CPU time, 4 s: %.2f" % total)
EOF

if command -v go >/dev/null; then
	claim "the same shares by go tool pprof -top"
	HOME=${HOME:-$dir} go tool pprof -top -sample_index=0 "$dir/out.pb.gz" >"$dir/top" 2>"$dir/top.err" ||
		fail "go tool pprof: $(cat "$dir/top.err")"
	awk '/burn_(seventy|twenty|ten)$/ { got[$NF] = $1; sum += $1 }
		END { split("70 20 10", want); split("burn_seventy burn_twenty burn_ten", name)
			for (i = 1; i <= 3; i++) {
				p = sum ? 100 * got[name[i]] / sum : 0
				if (p < want[i] - 3 || p > want[i] + 3) { print "  " name[i] ": " p "%"; bad = 1 }
			}
			exit bad }' "$dir/top" || fail "pprof -top shows other shares: $(cat "$dir/top")"
else
	echo "not checked: go tool pprof (no go on this machine)"
fi

claim "a program that works in the kernel shows kernel frames"
program kernel kernelish
spawn "$copy" 1
pid=$spawned
wait "$pid"
dump "$dir/kernel.json" -p "$pid"
query "$dir/kernel.json" "$(cat /proc/sys/kernel/kptr_restrict)" <<'EOF'
ss = samples()
inside = [s for s in ss if s["stack"] and s["stack"][0].get("type") == "kernel"]
check(len(ss) > 500, "more than 500 samples: %d" % len(ss))
check(percent(inside, ss) > 80, "most are in the kernel: %.0f percent" % percent(inside, ss))
if int(args[0]) < 2:
    late = settled(inside)
    named = [s for s in late if leaf(s)]
    check(percent(named, late) > 99, "kernel frames are named: %.1f percent" % percent(named, late))
check(any("main" in functions(s) for s in inside), "the user part follows the kernel part")
EOF
stop_sidecar
