#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols-fixtures.sh DIR: makes the ELF files that check_symbols reads.  What a missing tool cannot make
# is left out, and the tests that need it say so.  NAME.nm lists the symbols of NAME before stripping.
set -u
cd "$1" || exit 1
cc=${CC:-cc}
set -e

cat >code.c <<'C'
/* Functions with known names, sizes and order; none is inlined unless it says so. */
#define KEEP __attribute__((noinline, used))
volatile int sink;
KEEP static int fix_static(int n) { for (int i = 0; i < n; i++) sink += i; return sink; }
KEEP int fix_exported(int n) { return fix_static(n) + 1; }
KEEP int fix_unused(int n) { return n * sink; }
__attribute__((section(".hot"), noinline, used)) int fix_hot(int n) { return n + sink; }
int fix_alias_weak(int) __attribute__((weak, alias("fix_exported")));
static inline __attribute__((always_inline)) int fix_inlined(int n)
{
	sink += n;	/* line 11 */
	return sink;
}
KEEP int fix_caller(int n)
{
	return fix_inlined(n) + 2;	/* line 16 */
}
C
cat >main.c <<'C'
int fix_exported(int), fix_hot(int), fix_caller(int);
int main(int argc, char **argv) { (void)argv; return fix_exported(argc) + fix_hot(argc) + fix_caller(argc); }
C

flags='-O1 -g -fno-toplevel-reorder -fno-ipa-cp'
link() {
	out=$1
	shift
	$cc $flags code.c main.c -o "$out" "$@" 2>link.log || { rm -f "$out"; return 0; }
	nm "$out" >"$out.nm"
}
link pie -pie -fPIE -rdynamic
link nopie -no-pie
link static -static
link separate -pie -fPIE -Wl,-z,separate-code
link noseparate -pie -fPIE -Wl,-z,noseparate-code
link farhot -no-pie -Wl,--section-start=.hot=0x900000
lld=$(command -v ld.lld || ls /usr/bin/ld.lld-* 2>/dev/null | head -n 1)
if [ -n "$lld" ]; then
	mkdir -p bin && ln -sf "$lld" bin/ld.lld
	link lld -B./bin -fuse-ld=lld -pie -fPIE
fi
link gz -pie -fPIE -gz=zlib
for id in md5 uuid sha1 none 0xdeadbeef 0x0123456789abcdef; do
	link "id-$id" "-Wl,--build-id=$id"
done
link id-long "-Wl,--build-id=0x$(printf 'ab%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)"
link id-huge "-Wl,--build-id=0x$(printf 'cd%.0s' $(seq 80))"

# Stripped, with its symbols elsewhere.
cp pie stripped && objcopy --only-keep-debug stripped stripped.debug && strip stripped
cp pie.nm stripped.nm
cp id-none linked && cp id-none.nm linked.nm && objcopy --only-keep-debug linked linked.debug
strip linked && objcopy --add-gnu-debuglink=linked.debug linked
objcopy --only-keep-debug nopie foreign.debug
# Only the dynamic symbols, and the rest packed inside (the recipe of distributions).
cp stripped mini && cp pie.nm mini.nm
objcopy -S --keep-symbol=fix_static --keep-symbol=fix_unused pie inner
if command -v xz >/dev/null; then
	xz -k inner && objcopy --add-section .gnu_debugdata=inner.xz mini
	cp stripped mini-bomb && head -c 100000000 /dev/zero | xz -0 -c >bomb.xz &&
		objcopy --add-section .gnu_debugdata=bomb.xz mini-bomb
	cp stripped mini-broken && head -c 100 inner.xz >broken.xz &&
		objcopy --add-section .gnu_debugdata=broken.xz mini-broken
else
	rm -f mini
fi
# No section headers: e_shoff, e_shnum and e_shstrndx are zero.
cp stripped sectionless && cp pie.nm sectionless.nm
printf '\0\0\0\0\0\0\0\0' | dd of=sectionless bs=1 seek=40 conv=notrunc 2>dd.log
printf '\0\0\0\0' | dd of=sectionless bs=1 seek=60 conv=notrunc 2>dd.log
head -c 5000 pie >cut
head -c 40 pie >cut-header
: >empty
printf 'hello, world\n' >text
cp pie bigendian && printf '\002' | dd of=bigendian bs=1 seek=5 conv=notrunc 2>dd.log

# Names by hand: aliases, symbols without size, labels, nesting, mangled names.
cat >names.S <<'S'
.text
.macro fn name, size
	.type \name, %function
	.size \name, \size
\name:
.endm
.globl foo
.globl __foo
.weak foo_weak
.globl zoo, yoo
.type foo, %function; .type __foo, %function; .type foo_weak, %function; .type local.foo, %function
.type zoo, %function; .type yoo, %function
foo: __foo: foo_weak: local.foo: zoo: yoo:
.space 16, 0x90
.size foo, 16; .size __foo, 16; .size foo_weak, 16; .size local.foo, 16; .size zoo, 16; .size yoo, 16
.globl weak_only
.weak weak_one
.type weak_one, %function; .type a_local, %function
weak_one: a_local:
.space 16, 0x90
.size weak_one, 16; .size a_local, 16
.space 16, 0x90			/* a gap that belongs to nobody */
fn outer, 64
.space 16, 0x90
fn inner, 16
.space 16, 0x90
label_inside:
.space 32, 0x90
.type unsized, %function
unsized:
.space 32, 0x90
bare_label:
.space 16, 0x90
.globl _ZN4shop4CartIiE3addERKiS3_
.globl _ZN4core3fmt9Formatter3pad17h0123456789abcdefE
.globl _RNvCs1234_7mycrate3foo
.globl _Zbogus
fn _ZN4shop4CartIiE3addERKiS3_, 16
.space 16, 0x90
fn _ZN4core3fmt9Formatter3pad17h0123456789abcdefE, 16
.space 16, 0x90
fn _RNvCs1234_7mycrate3foo, 16
.space 16, 0x90
fn _Zbogus, 16
.space 16, 0x90
.section .note.GNU-stack,"",%progbits
S
$cc -nostdlib -shared names.S -o names 2>link.log && nm names >names.nm || rm -f names
# A 32-bit file, and one of another architecture with its mapping symbols.
sed 's/%/@/g' names.S >names32.s
cpp -P names.S 2>link.log | as --32 -o names32.o - 2>link.log && ld -m elf_i386 -shared names32.o -o names32 2>link.log &&
	nm names32 >names32.nm || rm -f names32
if command -v aarch64-linux-gnu-gcc >/dev/null; then
	aarch64-linux-gnu-gcc $flags -nostdlib -shared -fPIC code.c -o arm64 2>link.log &&
		aarch64-linux-gnu-nm arm64 >arm64.nm || rm -f arm64
fi
# Stubs: lazy, with landing pads, bound at start.  What objdump calls them is in NAME.plt.
cat >calls.c <<'C'
#include <stdlib.h>
int cmp(const void *, const void *);
void *fix_calls(int n) { free(malloc(n)); qsort(calloc(n, 4), n, 4, cmp); return realloc((void *)abort, getenv("x") != 0); }
C
stubs() {
	out=$1 compiler=$2 dump=$3
	shift 3
	$compiler -O1 -shared -fPIC -nostdlib calls.c -o "$out" "$@" 2>link.log || { rm -f "$out"; return 0; }
	$dump -d -j .plt -j .plt.sec -j .plt.got "$out" 2>link.log | sed -n 's/^\([0-9a-f]*\) <\(.*\)@plt>:$/\1 \2/p' >"$out.plt"
}
stubs plt-lazy "$cc" objdump -fcf-protection=none -Wl,-z,lazy
stubs plt-sec "$cc" objdump -fcf-protection=full -Wl,-z,ibtplt
stubs plt-now "$cc" objdump -fcf-protection=none -Wl,-z,now
[ -z "$lld" ] || stubs plt-lld "$cc -B./bin" objdump -fuse-ld=lld
if command -v aarch64-linux-gnu-gcc >/dev/null; then
	stubs plt-arm64 aarch64-linux-gnu-gcc aarch64-linux-gnu-objdump
	stubs plt-bti aarch64-linux-gnu-gcc aarch64-linux-gnu-objdump -mbranch-protection=standard -Wl,-z,force-bti
fi
# First 16 bytes of SHA-256(first 4 KiB, last 4 KiB, big-endian length).
htlhash() {
	n=$(wc -c <"$1")
	{ head -c 4096 "$1"; tail -c 4096 "$1"
	  for shift in 56 48 40 32 24 16 8 0; do
		printf "\\$(printf '%03o' $((n >> shift & 255)))"
	  done; } | sha256sum | cut -c 1-32 >"$1.htlhash"
}
htlhash pie
htlhash text
exit 0
