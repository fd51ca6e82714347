#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What it costs stays put while processes and threads come and go: memory, descriptors, map sizes.
# CHURN_SECONDS (60) is how long; `make check-long` makes it 20 minutes.  Caches fill up to the memory
# limit first, and files that nobody maps are remembered too: flatness is judged from five minutes on.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

seconds=${CHURN_SECONDS:-60}
start_sidecar -F 499 --memory-limit 32M
program shortlived brief
program shares worker
# Copies under ever new names: new executables, new paths, new resources.
cat >"$dir/churn" <<'EOF'
i=0
while :; do
	i=$((i + 1))
	cp "$dir/brief" "$dir/brief$i"
	"$dir/brief$i" 40 1
	OTEL_SERVICE_NAME=s$i "$dir/worker" 0.02 8
	rm "$dir/brief$i"
done
EOF
export dir
spawn sh "$dir/churn"
python3 - "$sidecar" "$seconds" "$ringside" "$ring" <<'EOF' || fail "its cost grows"
import json, os, subprocess, sys, time
pid, seconds, ringside, ring = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4]


def tree(pid):
    out = [pid]
    for task in os.listdir("/proc/%s/task" % pid):
        for child in open("/proc/%s/task/%s/children" % (pid, task)).read().split():
            out += tree(child)
    return out


def memory(p):					# KiB of its own, the ring left out
    total, name = 0, ""
    for line in open("/proc/%s/smaps" % p):
        f = line.split()
        if not f[0].endswith(":"):
            name = f[5] if len(f) > 5 else ""
        elif f[0] == "Pss:" and name != ring and "bpf-map" not in name:
            total += int(f[1])
    return total


def look():
    pids = tree(pid)
    st = json.loads(subprocess.run([ringside, "status", "-o", "json"], capture_output=True).stdout)
    return {"memory KiB": sum(map(memory, pids)),
            "descriptors": sum(len(os.listdir("/proc/%s/fd" % p)) for p in pids),
            "heap bytes": st["memory"]["heap_bytes"], "map bytes": st["memory"]["bpf_map_bytes"],
            "processes": st["processes"]}, st


looks, end = [], time.time() + seconds
while time.time() < end:
    time.sleep(seconds / 40)
    looks.append(look()[0])
st = look()[1]
bad = 0
third = len(looks) // 3
mean = lambda key, part: sum(l[key] for l in part) / len(part)
# Each program is a file of its own here, so who is remembered holds one descriptor: their
# number goes with how fast the churn is, which other jobs on the machine change.
churn = max(1, mean("processes", looks[2 * third:]) / mean("processes", looks[third:2 * third]))
for key, slack in (("memory KiB", 1024), ("descriptors", 64), ("heap bytes", 1 << 20), ("map bytes", 0)):
    mid = sum(l[key] for l in looks[third:2 * third]) / third
    late = sum(l[key] for l in looks[2 * third:]) / (len(looks) - 2 * third)
    print("  %-12s first %.0f, middle third %.0f, last third %.0f" % (key, looks[0][key], mid, late))
    bad |= seconds >= 300 and late > mid * 1.05 * (churn if key == "descriptors" else 1) + slack
    bad |= key == "memory KiB" and late > (32 + 16) * 1024
    bad |= key == "descriptors" and late > 4500		# the worker's limit, and ours
    bad |= key == "map bytes" and late != looks[0][key]
peak = max(l["heap bytes"] + l["map bytes"] for l in looks)
print("  heap + maps at most %.1f MiB of 32" % (peak / 2**20))
bad |= peak > 32 << 20
lost = {k: v for k, v in st["lost"].items() if int(v)}
print("  samples %s, lost %s, degraded %s" % (st["samples"], lost, st["degraded"]))
sys.exit(bad)
EOF
claim "after the churn a new process is labelled and named as at the start"
program shares after
spawn "$copy" 1
pid=$spawned
wait "$pid"
dump "$dir/after.json" -p "$pid"
query "$dir/after.json" "$copy" <<'EOF'
ss = [s for s in samples() if s["comm"] == "after"]	# others had its number before
check(len(ss) > 300, "samples: %d" % len(ss))
check({exe(s) for s in ss} == {args[0]}, "its path")
check(share(ss, "burn_seventy") > 60, "its functions: %.0f percent" % share(ss, "burn_seventy"))
EOF
stop_sidecar
