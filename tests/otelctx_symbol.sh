#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# otel_thread_ctx_v1 is where readers look for it, whoever compiled, linked and stripped (W33): in a shared
# library reached by TLS descriptor alone, in an executable at a constant offset.
command -v readelf >/dev/null || { echo "no readelf (apt-get install binutils)"; exit 77; }
unset CFLAGS LDFLAGS
out=$PWD/tests/otelctx_symbol.tmp
rm -rf "$out"
mkdir -p "$out"
cd "$out" || exit 1
failed=0
made=0
top=$(cd "$abs_top_srcdir" && pwd)
sources="$top/ctx/fork_lock.c $top/ctx/names.c $top/ctx/process_context.c $top/ctx/protobuf_write.c
	$top/ctx/thread_context.c $top/ctx/thread_registry.c $top/ctx/thread_slot.S $top/ctx/thread_slot_shared.S"
common="-std=gnu11 -D_GNU_SOURCE -DPACKAGE_VERSION=\"0\" -I$top -pthread -idirafter /usr/include
	-idirafter /usr/include/$(uname -m)-linux-gnu"
export_it=-Wl,--export-dynamic-symbol=otel_thread_ctx_v1

bad() { echo "not ok $1: $2"; failed=1; }

# exported FILE NAME: one definition, GLOBAL, TLS, eight bytes, in the dynamic symbol table.
exported() {
	found=$(readelf -W --dyn-syms "$1" | awk '$8 ~ /^otel_thread_ctx_v1(@|$)/ && $7 != "UND" { print $3, $4, $5, $6 }')
	[ "$found" = "8 TLS GLOBAL DEFAULT" ] || bad "$2" "symbol '$found'"
}

# The relocations that name the symbol, and any of TLS of another kind.
relocations() { readelf -rW "$1" | awk '$5 ~ /^otel_thread_ctx_v1/ { print $3 }' | sort -u; }
others() { readelf -rW "$1" | grep -cE '_(DTPMOD|DTPOFF|DTPREL|TPOFF|TPREL)(64)? '; }

library() {
	made=$((made + 1))
	exported "$1" "$2"
	case $(relocations "$1") in
	R_X86_64_TLSDESC | R_AARCH64_TLSDESC*) ;;
	*) bad "$2" "relocations $(relocations "$1" | tr '\n' ' ')" ;;
	esac
	[ "$(others "$1")" = 0 ] || bad "$2" "$(others "$1") TLS relocations of other kinds"
}

# Reached by a constant offset, whoever links.
executable() {
	made=$((made + 1))
	exported "$1" "$2"
	[ -z "$(relocations "$1")" ] || bad "$2" "relocations $(relocations "$1" | tr '\n' ' ')"
	[ "$(others "$1")" = 0 ] || bad "$2" "$(others "$1") TLS relocations"
}

# both_ways CHECK FILE NAME RUN...: as it is and stripped; then it has to work.
both_ways() {
	check=$1 file=$2 name=$3
	shift 3
	$check "$file" "$name"
	${strip:-strip} "$file" -o "$file.stripped" && mv "$file.stripped" "$file"
	$check "$file" "$name, stripped"
	[ $# = 0 ] || "$@" || bad "$name" "exit $? of $*"
	[ $failed = 1 ] || echo "ok $name"
}

# $1 compiler, $2 what runs its programs ("": nothing here).
matrix() {
	cc=$1 run=$2
	for flags in "-O2 -fvisibility=hidden -ffunction-sections -fdata-sections -Wl,--gc-sections" "-O2 -flto" \
		"-O0 -fuse-ld=lld"; do
		# Does it link at all (lld, a linker plug-in for LTO)?
		echo 'int main(void) { return 0; }' >probe.c
		$cc $flags probe.c -o probe 2>/dev/null || { echo "$cc $flags: cannot link here"; continue; }
		rm -f ./*.o
		compile="${flags%% -Wl*}"
		$cc $common -fPIC ${compile%-fuse*} -c $sources || { bad "$cc $flags" compile; continue; }
		objects=$(echo ./*.o | sed 's| ./thread_slot.o||')
		rm -f libx.a libx_pic.a
		ar rcs libx_pic.a $objects
		ar rcs libx.a $(echo ./*.o | sed 's| ./thread_slot_shared.o||')
		$cc $common -fPIC ${compile%-fuse*} -c "$top/tests/otelctx_symbol.c" -o test.obj
		$cc $common -fPIC ${compile%-fuse*} -DPLUGIN -c "$top/tests/otelctx_symbol.c" -o plugin.obj
		$cc -shared $flags -Wl,--version-script="$top/ctx/libotelctx.map" -Wl,-z,nodelete $objects \
			-o libx.so || { bad "$cc $flags" "shared library"; continue; }
		both_ways library libx.so "$cc $flags: shared library"
		$cc -shared $flags plugin.obj libx_pic.a -o plugin.so -pthread || bad "$cc $flags" "plug-in"
		[ -z "$run" ] || $cc $common -O1 -DHOST=1 "$top/tests/otelctx_symbol.c" -o host -ldl ||
			bad "$cc $flags" host
		both_ways library plugin.so "$cc $flags: static, in a plug-in" ${run:+$run ./host ./plugin.so}
		if [ -n "$run" ]; then
			$cc $common -O1 -DOWN_SYMBOL "$top/tests/otelctx_symbol.c" ./libx.so -Wl,-rpath,. $export_it \
				-o own && $run ./own || bad "$cc $flags: a program with a symbol of its own" "exit $?"
		fi
		for pie in -pie -no-pie -static-pie; do
			case "$cc $pie" in musl-gcc\ -static-pie) continue ;; esac	# has no rcrt1.o in its specs
			$cc $flags $pie test.obj libx.a $export_it -o prog -pthread || bad "$cc $flags $pie" executable
			both_ways executable prog "$cc $flags $pie: executable" ${run:+$run ./prog}
		done
	done
}

built=$abs_top_builddir/.libs/libotelctx.so
if [ -f "$built" ]; then
	cp "$built" built.so
	both_ways library built.so "the library of this build"
fi
for cc in gcc clang musl-gcc; do
	command -v $cc >/dev/null || { echo "no $cc: not tried"; continue; }
	matrix $cc env
done
if command -v aarch64-linux-gnu-gcc >/dev/null; then
	strip=aarch64-linux-gnu-strip
	common="-std=gnu11 -D_GNU_SOURCE -DPACKAGE_VERSION=\"0\" -I$top -pthread"
	matrix aarch64-linux-gnu-gcc ""
else
	echo "no aarch64-linux-gnu-gcc: not tried"
fi
[ $made -gt 0 ] || { echo "nothing was built"; exit 1; }
cd .. && rm -rf "$out"
echo "$made files"
exit $failed
