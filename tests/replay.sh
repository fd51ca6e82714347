#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Real recordings (tests/record-replay.sh) go through the whole sidecar, without any right, and come out
# of the ring as the golden files say.
set -eu
top=${abs_top_builddir:-.}
data=${srcdir:-.}/tests/replay
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
failed=0

for golden in "$data"/*.json; do
	name=$(basename "$golden" .json)
	gzip -dc "$data/$name.journal.gz" >"$dir/$name.journal"
	"$top/ringsided" --replay "$dir/$name.journal" --ring "$dir/ring" --log-level error
	"$top/ringside" tail --ring "$dir/ring" --no-follow -q -o json --kind sample,process,lost,clock |
		sed 's/"seq":"[0-9]*",//' >"$dir/$name.json"
	if cmp -s "$golden" "$dir/$name.json"; then
		echo "ok $name: $(wc -l <"$golden") records"
	else
		echo "not ok $name: the records differ from $golden"
		diff "$golden" "$dir/$name.json" | head -n 10
		failed=1
	fi
	rm -f "$dir"/ring*
done
# A recording that was cut says so, and what is whole is replayed.
head -c 90000 "$dir/shares.journal" >"$dir/cut.journal"
"$top/ringsided" --replay "$dir/cut.journal" --ring "$dir/ring" 2>"$dir/err"
if grep -q 'was cut' "$dir/err"; then
	echo "ok a cut recording is told"
else
	echo "not ok a cut recording is told: $(cat "$dir/err")"
	failed=1
fi
exit $failed
