#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rules of a configuration over a recording: labels change, processes are dropped and counted, and the same
# input gives the same output.
set -eu
top=${abs_top_builddir:-.}
data=${srcdir:-.}/tests/replay
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
failed=0
gzip -dc "$data/shares.journal.gz" >"$dir/journal"

# replay NAME RULES: $dir/NAME.json and $dir/NAME.status
replay() {
	printf '%s\n' "$2" >"$dir/$1.yaml"
	"$top/ringsided" --check-config "$dir/$1.yaml"
	"$top/ringsided" --replay "$dir/journal" --config "$dir/$1.yaml" --ring "$dir/ring" --log-level error
	"$top/ringside" tail --ring "$dir/ring" --no-follow -q -o json --kind sample,process >"$dir/$1.json"
	"$top/ringside" status --ring "$dir/ring" -o json >"$dir/$1.status" || :
	rm -f "$dir"/ring*
}

# expect WHAT FILE PATTERN COUNT
expect() {
	n=$(grep -c -e "$3" "$2" || :)
	if [ "$n" -eq "$4" ]; then
		echo "ok $1"
	else
		echo "not ok $1: $n of $4 lines with $3"
		failed=1
	fi
}

replay plain ''
samples=$(grep -c '"kind":"sample"' "$dir/plain.json")
expect "no rules: nothing is skipped" "$dir/plain.status" '"rules":0' 1

replay shaped 'external_labels: {region: eu, team: theirs}
relabel_configs:
- {source_labels: [comm], regex: "(work)er", target_label: namespace, replacement: "ns-$1"}
- {source_labels: [__meta_process_pid], target_label: service.name, regex: "(.+)", replacement: "shop-${1}"}
- {action: labeldrop, regex: "process\\.parent_pid"}'
expect "a label becomes the attribute of its meaning" "$dir/shaped.json" '"kind":"sample".*"k8s.namespace.name":"ns-work"' "$samples"
expect "a rule names the service" "$dir/shaped.json" '"kind":"sample".*"service.name":"shop-[0-9]*"' "$samples"
expect "external labels come before what a process declares" "$dir/shaped.json" '"kind":"sample".*"region":"eu".*' "$samples"
expect "the process can not change them" "$dir/shaped.json" '"kind":"sample".*"team":"theirs"' "$samples"
expect "a dropped label is gone" "$dir/shaped.json" parent_pid\":[0-9]*,\"os 0
expect "no label for rules is left" "$dir/shaped.json" __meta_ 0

replay dropped 'relabel_configs:
- {action: drop, source_labels: [__meta_process_executable_name, comm], regex: ".*;worker"}'
expect "a dropped process has no record" "$dir/dropped.json" . 0
expect "and its samples are counted" "$dir/dropped.status" "\"rules\":$samples" 1

replay kept 'relabel_configs:
- {action: keep, source_labels: [comm], regex: worker}'
expect "a kept one has them all" "$dir/kept.json" '"kind":"sample"' "$samples"

# Every example of the manual page is a configuration without errors or warnings.
awk '/^\.Sh EXAMPLES/ { on = 1 } /^\.Sh SEE/ { on = 0 }
	on && /^\.Ed/ { lit = 0 } lit { print > (dir "/example" n ".yaml") } on && /^\.Bd/ { lit = 1; n++ }' \
	dir="$dir" "${srcdir:-.}/man/ringside.yaml.5"
examples=0
for example in "$dir"/example*.yaml; do
	said=$("$top/ringsided" --check-config "$example") || failed=1
	[ -z "$said" ] || { echo "not ok $said"; failed=1; }
	examples=$((examples + 1))
done
[ "$examples" -ge 3 ] || failed=1
echo "examples of the manual: $examples"
exit $failed
