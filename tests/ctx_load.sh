#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctx_load's log tells true samples from false ones: samples made from it, each with one mistake.
dir=$PWD/tests/ctx_load.tmp
fail() { echo "not ok $*"; exit 1; }
rm -rf "$dir"
mkdir -p "$dir" || exit 1
load=$abs_top_builddir/tests/ctx_load
"$load" run "$dir" --threads 2 --rate 20000 --seconds 0.3 >"$dir/out" || fail "ctx_load run"
switches=$(sed -n 's/^switches //p' "$dir/out")
[ "${switches:-0}" -ge 100 ] || fail "only '$switches' switches"

# Entry 9 of thread 1: serial 0x000200000000000a.
set -- $(od -An -v -t u8 -j 144 -N 32 "$dir/1.log")
before=$1 after=$2 gone=$4
ids="000200000000000afffdfffffffffff5 000200000000000a"
verdict() { printf '%s\n' "$1" | "$load" verify "$dir" 2>/dev/null; }
right() { verdict "$2" | grep -q 'wrong 0 ' && verdict "$2" >/dev/null || fail "$1: $(verdict "$2")"; echo "ok $1"; }
wrong() { verdict "$2" >/dev/null && fail "$1 taken: $(verdict "$2")"; echo "ok $1"; }

[ "$before" -le "$after" ] && [ "$after" -le "$gone" ] || fail "log of $before $after $gone"
right "a sample while the context was attached" "$after $ids"
right "with its thread" "$after $ids 1"
right "none" "$after none"
wrong "a sample before it was attached" "$((before - 1)) $ids"
wrong "a sample after it was detached" "$((gone + 1)) $ids"
wrong "another thread's attribute" "$after $ids 0"
wrong "two contexts mixed" "$after 000200000000000afffdfffffffffff5 000200000000000b"
wrong "a torn trace id" "$after 000200000000000afffdfffffffffff4 000200000000000a"
wrong "a pause that carries a context" \
	"$(od -An -v -t u8 -j 120 -N 8 "$dir/1.log") 0002000000000008fffdfffffffffff7 0002000000000008"
wrong "a serial that never was" "$after 0002000000ffffffffffdffffff000000 0002000000ffffff"
printf '%s %s\n' "$((gone + 1))" "$ids" | "$load" verify "$dir" --slack 1 >/dev/null || fail "--slack"
echo "ok --slack"
rm -rf "$dir"
