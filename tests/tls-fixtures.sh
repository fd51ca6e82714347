#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tls-fixtures.sh DIR: makes the ELF files that check_tls_symbol reads.  What a missing tool cannot make is
# left out, and the tests that need it say so.  NAME.at is where the relocation of the variable's own symbol
# is, NAME.value the symbol's value, both as readelf tells.
set -u
cd "$1" || exit 1
cc=${CC:-cc}

cat >writer.c <<'C'
#ifdef BEFORE
__attribute__((visibility("hidden"))) __thread char before[BEFORE] = { 1 };
char *touch(void) { return before; }
#endif
#ifdef HIDDEN
__attribute__((visibility("hidden")))
#endif
__thread void *otel_thread_ctx_v1;
void set(void *p) { otel_thread_ctx_v1 = p; }
#ifdef MERGED
extern void _ZTH18otel_thread_ctx_v1(void) __attribute__((weak));
void call(void) { if (_ZTH18otel_thread_ctx_v1) _ZTH18otel_thread_ctx_v1(); }
#endif
#ifdef DECOYS
static __thread long decoy_a, decoy_b[4], decoy_c;
long *decoys(int i) { return i == 0 ? &decoy_a : i == 1 ? decoy_b : &decoy_c; }
#endif
#ifdef MAIN
int main(void) { set((void *)0); return 0; }
#endif
C
cat >import.c <<'C'
extern __thread void *otel_thread_ctx_v1;
int main(void) { return otel_thread_ctx_v1 != (void *)0; }
C
cat >other.c <<'C'
__thread void *otel_thread_ctx_v1_not_this, *not_this_otel_thread_ctx_v1;
void *otel_thread_ctx(void) { return otel_thread_ctx_v1_not_this ? not_this_otel_thread_ctx_v1 : 0; }
C

told() {		# by readelf, before anything is taken away
	readelf --dyn-syms -W "$1" 2>/dev/null | awk '$8 == "otel_thread_ctx_v1" && $7 != "UND" { print $2; exit }' >"$1.value"
	[ -s "$1.value" ] || readelf -sW "$1" | awk '$8 == "otel_thread_ctx_v1" { print $2; exit }' >"$1.value"
	readelf -rW "$1" 2>/dev/null |
		awk '/otel_thread_ctx_v1/ && /TLSDESC|TPOFF64|DTPMOD|TPREL/ { print $1; exit }' >"$1.at"
}
make() {		# NAME FLAGS...
	out=$1
	shift
	$cc -O1 writer.c -o "$out" "$@" 2>link.log || { rm -f "$out"; return 1; }
	told "$out"
}
so='-shared -fPIC -nostdlib -Wl,-z,max-page-size=4096 -Wl,-z,noseparate-code'
desc= gd= ie='-ftls-model=initial-exec'
case $($cc -dumpmachine) in
x86_64*) desc=-mtls-dialect=gnu2 gd=-mtls-dialect=gnu ;;
aarch64*) desc=-mtls-dialect=desc gd=-mtls-dialect=trad ;;
esac
export_it=-Wl,--export-dynamic-symbol=otel_thread_ctx_v1

libraries() {		# PREFIX LINKER-FLAGS
	p=$1
	shift
	make "${p}desc.so" $so "$@" $desc
	make "${p}gd.so" $so "$@" $gd
	make "${p}ie.so" $so "$@" $ie
	make "${p}before.so" $so "$@" $desc -DBEFORE=48
	make "${p}symbolic_desc.so" $so "$@" $desc -DBEFORE=48 -Wl,-Bsymbolic
	make "${p}symbolic_gd.so" $so "$@" $gd -DBEFORE=48 -Wl,-Bsymbolic
	make "${p}symbolic_ie.so" $so "$@" $ie -DBEFORE=48 -Wl,-Bsymbolic
	make "${p}decoys.so" $so "$@" $desc -DDECOYS
	make "${p}symbolic_decoys.so" $so "$@" $desc -DDECOYS -Wl,-Bsymbolic
	make "${p}merged.so" $so "$@" $desc -DMERGED -Wl,-O2
	make "${p}hidden.so" $so "$@" $desc -DHIDDEN
	for style in sysv gnu; do
		make "${p}$style.so" $so "$@" $desc -Wl,--hash-style=$style || continue
		strip --strip-all "${p}$style.so"
		# e_shoff, e_shnum and e_shstrndx: no section headers
		printf '\0\0\0\0\0\0\0\0' | dd of="${p}$style.so" bs=1 seek=40 conv=notrunc 2>dd.log
		printf '\0\0\0\0' | dd of="${p}$style.so" bs=1 seek=60 conv=notrunc 2>dd.log
	done
}
libraries ld_
mkdir -p lld
lld=$(command -v ld.lld || command -v ld.lld-14 || command -v ld.lld-15 || :)
if [ -n "$lld" ]; then
	ln -sf "$lld" lld/ld.lld
	libraries lld_ -fuse-ld=lld -Blld
fi
make pie -fPIE -pie -DMAIN $export_it
make nopie -fno-pie -no-pie -DMAIN $export_it
make aligned -fPIE -pie -DMAIN -DBEFORE=100 $export_it
make static_pie -static-pie -fPIE -DMAIN $export_it
make static -static -no-pie -DMAIN
[ -e ld_desc.so ] && $cc -O1 import.c -fPIE -pie ./ld_desc.so -o import 2>link.log
$cc -O1 other.c $so -o other.so 2>link.log
if command -v aarch64-linux-gnu-gcc >/dev/null && [ "$($cc -dumpmachine | cut -c1-7)" != aarch64 ]; then
	cc=aarch64-linux-gnu-gcc
	make a64_desc.so $so -mtls-dialect=desc
	make a64_gd.so $so -mtls-dialect=trad
	make a64_ie.so $so $ie
	make a64_pie -fPIE -pie -DMAIN $export_it
fi
exit 0
