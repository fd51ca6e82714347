#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A rule whose regex would take for ever, over a command line of 1 MiB, does not change how often is sampled;
# and SIGHUP takes other rules without a restart.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

seconds=${REGEX_SECONDS:-6}
program shares worker
# Eight arguments of 128 KiB less one byte: the longest that the kernel takes.
cat >"$dir/long" <<'EOF'
import os, sys
os.execv(sys.argv[1], [sys.argv[1], "0.05", "1"] + ["a" * 131071] * 8)
EOF
# rate WHAT: ticks a CPU second of a process that burns, while others with such a command line come and go.
rate() {
	"$copy" "$seconds" 1 &
	burner=$!
	started="$burner $started"
	(while kill -0 $burner 2>/dev/null; do python3 "$dir/long" "$copy"; sleep 0.1; done) &
	started="$! $started"
	wait $burner
	cpu=$seconds
	sleep 0.3
	dump "$dir/$1.json" -p $burner
	n=$(grep -c '"kind":"sample"' "$dir/$1.json")
	echo "  $1: $n samples of $cpu CPU seconds, lost $(status lost)"
}
start_sidecar -F 499
rate without
without=$n
stop_sidecar
cat >"$dir/c.yaml" <<'EOF'
relabel_configs:
- {source_labels: [__meta_process_cmdline], regex: "(([a ]+)+)+b", target_label: never}
- {source_labels: [__meta_process_cmdline], regex: "(.*)(.*)(.*)(.*)(.*)[0-9]b", target_label: never}
- {source_labels: [comm], regex: "(w).*", target_label: first}
EOF
rm -f "$ring"
start_sidecar -F 499 --config "$dir/c.yaml"
rate with
stop=$(grep -c . "$dir/sidecar.log")
claim "the sample rate with the rule is within 5 percent of that without"
echo "  $((1000 * n / without)) per mille"
[ $((n * 100)) -ge $((without * 95)) ] && [ $((n * 100)) -le $((without * 105)) ] ||
	fail "$n samples with the rule, $without without"
claim "the rules of before still work, and who was given up is told"
query "$dir/with.json" <<'EOF'
ss = settled(samples())
check({s["resource"].get("first") for s in ss} == {"w"}, "a later rule holds: %s" % {s["resource"].get("first") for s in ss})
check(not [s for s in ss if "never" in s["resource"]], "what was given up is no match")
EOF
await 5 grep -q 'given up for the size' "$dir/sidecar.log" || fail "the log does not tell that a rule was given up"

claim "SIGHUP: other rules, for who runs already too; bad ones leave the old"
"$copy" 8 1 &
pid=$!
started="$pid $started"
sleep 1
printf 'relabel_configs:\n- {regex: "(", target_label: second}\n' >"$dir/c.yaml"
kill -HUP "$sidecar"
await 5 grep -q "$dir/c.yaml:2:" "$dir/sidecar.log" || fail "a bad rule is not named by file and line"
sleep 1
printf 'external_labels: {region: eu}\nrelabel_configs:\n- {source_labels: [comm], target_label: second}\n' >"$dir/c.yaml"
kill -HUP "$sidecar"
wait $pid
dump "$dir/reloaded.json" -p $pid
query "$dir/reloaded.json" <<'EOF'
ss = samples()
old = [s for s in ss if s["resource"].get("first") == "w"]
new = [s for s in ss if s["resource"].get("second") == "worker"]
check(len(old) > 50 and len(new) > 50, "samples under both: %d, %d" % (len(old), len(new)))
check(max(int(s["seq"]) for s in old) < min(int(s["seq"]) for s in new), "first the old, then the new")
check({s["resource"].get("region") for s in new} == {"eu"}, "external labels too")
EOF
stop_sidecar
