#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A reader that was written from ringside-ring(5) alone reads what the library reads.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/ring-stranger.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
./tests/ring_dump "$dir/ring" >"$dir/library" || exit 1
python3 -B "$srcdir/tests/ring_stranger_show.py" "$dir/ring" >"$dir/stranger" || exit 1
lines=$(wc -l <"$dir/library")
[ "$lines" -gt 200 ] || { echo "only $lines records"; exit 1; }
cmp "$dir/library" "$dir/stranger" || { diff "$dir/library" "$dir/stranger" | head -4; exit 1; }
for kind in sample process lost clock incarnation; do
	grep -q " $kind " "$dir/stranger" || { echo "no $kind"; exit 1; }
done
# The client shows every one of these numbers, and no other.
cut -d' ' -f1 "$dir/stranger" >"$dir/numbers"
./ringside tail --ring "$dir/ring" --kind all --no-follow -o json 2>"$dir/told" |
	sed -n 's/.*"seq":"\([0-9]*\)".*/\1/p' >"$dir/tail"
cmp "$dir/numbers" "$dir/tail" || { cat "$dir/told"; diff "$dir/numbers" "$dir/tail" | head -4; exit 1; }
echo "$lines records, the same"
