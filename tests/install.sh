#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# "make install" into a folder of its own, then what a stranger does with it: pkg-config, a C and a C++
# program against the installed header, and only versioned ringside_ symbols in the library.
dest=$PWD/tests/install.tmp
fail() { echo "not ok $*"; exit 1; }
rm -rf "$dest"
unset MAKEFLAGS MFLAGS MAKELEVEL
make -s -C "$abs_top_builddir" install DESTDIR="$dest" >"$dest.log" 2>&1 ||
	{ tail -n 20 "$dest.log"; fail "make install"; }
pc=$(find "$dest" -name ringside.pc)
header=$(find "$dest" -name ringside.h)
[ -n "$pc" ] || fail "no ringside.pc"
[ -n "$header" ] || fail "no ringside.h"
echo "ok the header and the pkg-config file are installed"
for private in ring_writer.h ring_layout.h event.h libringside-writer.a; do
	[ -z "$(find "$dest" -name "$private")" ] || fail "$private is installed; it is private"
done
echo "ok nothing private is installed"

lib=$(find "$dest" -name 'libringside.so.0')
if [ -n "$lib" ]; then
	strangers=$(nm -D --defined-only "$lib" | awk '{ print $3 }' |
		grep -v -e '^ringside_[a-z0-9_]*@@RINGSIDE_0\.1$' -e '^RINGSIDE_0\.1$')
	[ -z "$strangers" ] || fail "exported and should not be: $strangers"
	[ "$(nm -D --defined-only "$lib" | grep -c '@@RINGSIDE_0.1$')" -gt 20 ] || fail "few functions exported"
	needed=$(objdump -p "$lib" | sed -n 's/^ *NEEDED *//p' | grep -v -e '^libc\.' -e '^libpthread\.' \
		-e '^libasan' -e '^libubsan' -e '^libtsan' -e '^ld-')
	[ -z "$needed" ] || fail "libringside needs more than libc: $needed"
	echo "ok versioned symbols, libc only"
fi

cat >"$dest/app.c" <<'END'
#include <ringside.h>
#include <string.h>
int main(void)
{
	struct ringside_options o;
	struct ringside *r = 0;

	memset(&o, 0, sizeof(o));
	o.size = sizeof(o);
	o.path = "/nonexistent/ring";
	if (ringside_open(&r, &o) == 0 || r)
		return 1;
	ringside_close(r);
	return strlen(ringside_open_error()) > 0 && strcmp(ringside_version(), "0.1.0") == 0 ? 0 : 1;
}
END
if [ -n "$lib" ] && ! nm -D "$lib" | grep -q asan; then
	libdir=$(dirname "$lib")
	for compiler in "${CC:-cc} -std=c11 -Wpedantic" "${CXX:-c++} -std=c++17 -x c++"; do
		command -v "${compiler%% *}" >/dev/null || { echo "no ${compiler%% *}: not tried"; continue; }
		$compiler -Wall -Wextra -Werror -I"$(dirname "$header")" "$dest/app.c" -L"$libdir" -lringside \
			-o "$dest/app" || fail "$compiler does not compile a program against the header"
		LD_LIBRARY_PATH=$libdir "$dest/app" || fail "the program of $compiler failed"
		echo "ok $compiler"
	done
fi
flags=$(PKG_CONFIG_LIBDIR=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$dest pkg-config --cflags --libs ringside) ||
	fail "pkg-config does not take ringside.pc"
case $flags in
*-lringside*) echo "ok pkg-config: -lringside" ;;
*) fail "pkg-config says: $flags" ;;
esac

# libotelctx: the same, and a static library whose symbol an executable can export.
for file in otelctx.h otelctx.pc libotelctx.a libotelctx_pic.a otelctx_example.c; do
	[ -n "$(find "$dest" -name $file)" ] || fail "no $file"
done
[ -z "$(find "$dest" -name otel_ctx_abi.h)" ] || fail "otel_ctx_abi.h is installed; it is private"
pc=$(find "$dest" -name otelctx.pc)
header=$(find "$dest" -name otelctx.h)
lib=$(find "$dest" -name 'libotelctx.so.0')
if [ -n "$lib" ]; then
	strangers=$(nm -D --defined-only "$lib" | awk '{ print $3 }' |
		grep -v -e '^otelctx_[a-z0-9_]*@@OTELCTX_0\.1$' -e '^OTELCTX_0\.1$' \
			-e '^otel_thread_ctx_v1@@OTELCTX_0\.1$')
	[ -z "$strangers" ] || fail "exported and should not be: $strangers"
	declared=$(grep -o 'otelctx_[a-z_]*(' "$header" | sort -u | wc -l)
	exported=$(nm -D --defined-only "$lib" | grep -c ' T otelctx_')
	[ "$declared" = "$exported" ] || fail "$declared functions declared, $exported exported"
	echo "ok versioned symbols of libotelctx, $exported functions"
fi
example=$(find "$dest" -name otelctx_example.c)
if [ -n "$lib" ] && ! nm -D "$lib" | grep -q -e asan -e tsan; then
	export PKG_CONFIG_LIBDIR="$(dirname "$pc")" PKG_CONFIG_SYSROOT_DIR="$dest"
	for compiler in "${CC:-cc} -std=c11 -Wpedantic" "${CXX:-c++} -std=c++17 -x c++"; do
		command -v "${compiler%% *}" >/dev/null || { echo "no ${compiler%% *}: not tried"; continue; }
		$compiler -Wall -Wextra -Werror "$example" $(pkg-config --cflags --libs otelctx) \
			-o "$dest/app" || fail "$compiler does not compile the example"
		LD_LIBRARY_PATH=$(dirname "$lib") "$dest/app" || fail "the example of $compiler failed"
		echo "ok $compiler, libotelctx"
	done
	${CC:-cc} "$example" $(pkg-config --static --cflags --libs otelctx | sed 's/-lotelctx/-l:libotelctx.a/') \
		-o "$dest/app" || fail "the example with libotelctx.a"
	nm -D "$dest/app" | grep -q ' B otel_thread_ctx_v1$' || fail "no otel_thread_ctx_v1 with pkg-config --static"
	"$dest/app" || fail "the example with libotelctx.a failed"
	echo "ok libotelctx.a, pkg-config --static"
fi
rm -rf "$dest" "$dest.log"
