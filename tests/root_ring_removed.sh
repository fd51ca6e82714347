#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A ring that somebody removes under the sidecar: it says so, since nobody can find it any more.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

start_sidecar -F 99
rm -f "$ring"
claim "a removed ring is told"
n=0
until grep -q 'not at its path any more' "$dir/sidecar.log"; do
	n=$((n + 1))
	[ $n -lt 100 ] || fail "nothing was said in ten seconds"
	sleep 0.1
done
claim "and the sidecar still ends cleanly"
stop_sidecar
