#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exec makes a new image under the old pid: everything about it is new.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need bash env

start_sidecar -F 499
program shares worker
bash -c 'end=$((SECONDS + 2)); while [ $SECONDS -lt $end ]; do :; done; exec env OTEL_SERVICE_NAME=b "$0" 1.5' "$copy" &
pid=$!
started="$pid $started"
wait $pid
dump "$dir/all.json" -p "$pid" --kind all
claim "before and after exec: comm, executable, environment and functions of that image only"
query "$dir/all.json" "$copy" "$(readlink -f "$(command -v bash)")" <<'EOF'
worker, bash = args
ss = samples()
old = [s for s in ss if s["comm"] == "bash"]
new = [s for s in ss if s["comm"] == "worker"]
check(len(old) > 50 and len(new) > 300, "both images are sampled: %d, %d" % (len(old), len(new)))
check(percent([s for s in old if exe(s) == bash], old) > 99, "bash is bash: %s" % {exe(s) for s in old})
check({exe(s) for s in new} == {worker}, "worker is worker: %s" % {exe(s) for s in new})
check({s["resource"].get("service.name") for s in new} == {"b"}, "with its own environment")
check("b" not in {s["resource"].get("service.name") for s in old}, "which bash had not")
check(percent([s for s in new if (leaf(s) or "").startswith("burn_")], new) > 90, "worker's functions")
check(not [s for s in old if (leaf(s) or "").startswith("burn_")], "bash has none of them")
check(not [s for s in new if any(f.get("mapping") == bash for f in s["stack"])], "nor worker bash's mapping")
EOF
stop_sidecar
