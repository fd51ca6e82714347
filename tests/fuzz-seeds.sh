#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every seed in tests/corpus/AREA through its target, tests/fuzz_AREA (built without a fuzzer).
failed=0
[ -n "$FUZZ_TARGETS" ] || { echo "no fuzz targets are built here"; exit 77; }
for target in $FUZZ_TARGETS; do
	area=${target#tests/fuzz_}
	set --
	for seed in "$srcdir/tests/corpus/$area"/*; do
		[ -f "$seed" ] && set -- "$@" "$seed"
	done
	echo "$target: $# seeds"
	"./$target" "$@" || { echo "$target failed"; failed=1; }
done
exit $failed
