#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the compiler made of the orderings in shm/ring_atomic.h.  On arm64 the announcement is a barrier and
# not a store-release, publish is a store-release, and a reader has both an acquiring load and a load
# barrier; on x86-64 publish needs no locked instruction and no fence.
dir=$(mktemp -d "${TMPDIR:-/tmp}/ring-asm.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

# body OBJDUMP FUNCTION FILE: its instructions
body() { "$1" -d --no-show-raw-insn "$3" | sed -n "/<$2>:/,/^\$/p"; }
wants() { body "$1" "$2" "$3" | grep -Eq "$4" || { echo "$2: no $4"; failed=1; }; }
refuses() { body "$1" "$2" "$3" | grep -Eq "$4" && { echo "$2: has $4"; failed=1; }; }

checked=
flags="-std=gnu11 -O2 -D_GNU_SOURCE -I$srcdir"
if command -v aarch64-linux-gnu-gcc >/dev/null; then
	for f in ring_write ring_read ring_file ring_create ring_resume; do
		aarch64-linux-gnu-gcc $flags -c "$srcdir/shm/$f.c" -o "$dir/$f.o" || exit 1
	done
	od=aarch64-linux-gnu-objdump
	wants $od ring_next_block "$dir/ring_write.o" 'dmb	ish'
	wants $od ring_writer_publish "$dir/ring_write.o" 'stlr'
	wants $od ring_positions "$dir/ring_read.o" 'ldar'
	wants $od ring_positions "$dir/ring_read.o" 'dmb	ish'
	wants $od ring_view "$dir/ring_read.o" 'ldar'
	wants $od ring_intact "$dir/ring_read.o" 'dmb	ish'
	wants $od ring_writer_anchor "$dir/ring_write.o" 'dmb	ish'
	wants $od ring_writer_anchor "$dir/ring_write.o" 'stlr'
	wants $od ring_file_pread_intent "$dir/ring_file.o" 'dmb	ish'
	wants $od ring_file_state "$dir/ring_file.o" 'ldar'
	wants $od ring_writer_close "$dir/ring_create.o" 'stlr'
	wants $od ring_writer_create "$dir/ring_create.o" 'stlr	x'
	wants $od ring_resume "$dir/ring_resume.o" 'ldar'
	wants $od ring_resume "$dir/ring_resume.o" 'dmb	ish'
	checked="$checked arm64"
fi
if [ "$(uname -m)" = x86_64 ]; then
	${CC:-cc} $flags -c "$srcdir/shm/ring_write.c" -o "$dir/x86.o" || exit 1
	body objdump ring_writer_publish "$dir/x86.o" | grep -q mov || { echo "no publish"; exit 1; }
	refuses objdump ring_writer_publish "$dir/x86.o" '	(lock|mfence|sfence|xchg)'
	refuses objdump ring_put "$dir/x86.o" '	(lock|mfence|sfence|xchg)'
	checked="$checked x86-64"
fi
[ -n "$checked" ] || { echo "no compiler for arm64, and this is not x86-64"; exit 77; }
echo "orderings:$checked"
exit $failed
