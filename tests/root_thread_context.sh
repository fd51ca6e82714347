#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Thread contexts of programs that reach the variable in every way that compilers, linkers and C libraries
# have: each is compiled here (tests/tls_writer.c), runs, is sampled, and its samples must carry its ids.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need gcc readelf

[ "$(uname -m)" = x86_64 ] || skip "the matrix is of x86-64; arm64 is in check_tls_plan"
mkdir "$dir/tls" "$dir/ld"
cd "$dir/tls" || exit 1
lld=$(command -v ld.lld || command -v ld.lld-14 || :)
[ -n "$lld" ] && ln -s "$lld" "$dir/ld/ld.lld"
writer=$src/tests/tls_writer.c
rcrt1=$(ls /usr/lib/*-linux-musl/rcrt1.o /usr/lib/musl/lib/rcrt1.o 2>/dev/null | head -1)
headers="-idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu"
total=0
bad=0
had=0

tap() { echo "$*"; }
not_had() { tap "# not had: $*"; }

# How FILE gets at the variable, by its relocations.
access_of() {
	relocs=$(readelf -rW "$1" 2>/dev/null)
	tls=$(echo "$relocs" | grep -E 'R_X86_64_(TLSDESC|TPOFF64|DTPMOD64)' |
		grep -E "otel_thread_ctx_v1| [0-9a-f]+$" | grep -oE 'TLSDESC|TPOFF64|DTPMOD64' | sort -u | tr '\n' '+')
	echo "${tls:-none, local exec}" | sed 's/+$//'
}

# sampled NAME WANT-ACCESS FILE COMMAND...: runs it; its samples must have its ids.
sampled() {
	name=$1
	want=$2
	file=$3
	shift 3
	total=$((total + 1))
	id=$(printf '%02x' $((total + 16)))
	access=$(access_of "$file")
	case $access in
	*$want*) ;;
	*)
		tap "not ok $total - $name: readelf shows $access, not $want"
		bad=$((bad + 1))
		return ;;
	esac
	out=$dir/tls/out.$total
	program_file=$1
	shift
	spawn "$program_file" "$id" "$@" >"$out" 2>&1
	pid=$spawned
	if ! await 10 grep -q ready "$out"; then
		tap "not ok $total - $name ($access): did not start: $(head -1 "$out")"
		bad=$((bad + 1))
		return
	fi
	await 10 has_context "$pid" "$id"
	kill "$pid"
	wait "$pid" 2>/dev/null
	check_case "$pid" "$id"
}

# At least five samples with the program's ids are in the ring.
has_context() {
	"$ringside" tail --no-follow -o json -p "$1" --trace-id "$(printf '%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s' \
		$2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2)" >"$dir/has.json" 2>"$dir/has.err" &&
		[ "$(grep -c '"kind":"sample"' "$dir/has.json")" -ge 5 ]
}

# Wrong ids are an error whatever else is there; so is a context on a thread that has none.
check_case() {
	"$ringside" tail --no-follow -o json -p "$1" >"$dir/case.json" 2>"$dir/case.err"
	verdict=$(python3 - "$dir/case.json" "$2" <<'PY'
import collections, json, sys
want = sys.argv[2]
states, wrong, good = collections.Counter(), 0, 0
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r["kind"] != "sample":
        continue
    state = r.get("context_state", "absent")
    states[state] += 1
    if r.get("comm") == "untouched" and state == "ok":
        wrong += 1
    if state != "ok":
        continue
    if r.get("trace_id") != want * 16 or r.get("span_id") != want * 8 or \
            r.get("attributes", {}).get("which") != "case":
        wrong += 1
        print("wrong:", r.get("trace_id"), r.get("span_id"), r.get("attributes"), end=" ")
    else:
        good += 1
print(" ".join("%s=%d" % x for x in sorted(states.items())))
sys.exit(1 if wrong or good < 5 else 0)
PY
	)
	if [ $? = 0 ]; then
		tap "ok $total - $name: $access; $verdict"
	else
		bad=$((bad + 1))
		tap "not ok $total - $name: $access; $verdict"
		tail -n 3 "$dir/sidecar.log" | sed 's/^/# /'
	fi
}

model() {	# of gcc, for an access by that name
	case $1 in
	TLSDESC) echo "-mtls-dialect=gnu2 -ftls-model=global-dynamic" ;;
	GD) echo "-mtls-dialect=gnu -ftls-model=global-dynamic" ;;
	IE) echo "-ftls-model=initial-exec" ;;
	LE) echo "-ftls-model=local-exec" ;;
	esac
}
reloc_of() {
	case $1 in
	TLSDESC) echo TLSDESC ;;
	GD) echo DTPMOD64 ;;
	IE) echo TPOFF64 ;;
	LE) echo none ;;
	esac
}

# build OUT CC FLAGS...: quietly, with $libs; 1 with the reason printed when the tools cannot.
libs=
build() {
	to=$1
	shift
	set -- "$@" -O1 -I"$src" "$writer"
	if "$@" $libs -o "$to" 2>"$dir/build.log"; then return 0; fi
	not_had "$to: $(grep -m1 -E 'error|cannot|undefined' "$dir/build.log")"
	return 1
}

programs_of() {		# CC LINKER-NAME LINKER-FLAGS
	cc=$1 ln=$2 lf=$3 libc=$4
	for how in LE IE GD TLSDESC; do
		m=$(model $how)
		for kind in pie nopie; do
			case $kind in
			pie) k="-fPIE -pie" ;;
			nopie) k="-fno-pie -no-pie" ;;
			esac
			[ $how = LE ] || [ $kind = pie ] || continue
			f=exe-$libc-$ln-$kind-$how
			build "$f" $cc $lf $k $m -DWRITER -DMAIN -Wl,--export-dynamic-symbol=otel_thread_ctx_v1 -pthread &&
				sampled "$libc $ln program, $kind, written as $how" none "$f" "./$f"
		done
	done
	for align in 8 64; do
		f=exe-$libc-$ln-align$align
		build "$f" $cc $lf -fPIE -pie -DWRITER -DMAIN -DLARGE=100 -DALIGN=$align \
			-Wl,--export-dynamic-symbol=otel_thread_ctx_v1 -pthread &&
			sampled "$libc $ln program, other variables before, align $align" none "$f" "./$f"
	done
}

libraries_of() {
	cc=$1 ln=$2 lf=$3 libc=$4
	main=main-$libc-$ln
	for how in TLSDESC GD IE; do
		for size in small large; do
			[ $size = large ] && large=-DLARGE=3000 || large=
			f=lib-$libc-$ln-$how-$size.so
			build "$f" $cc $lf -shared -fPIC $(model $how) $large -DWRITER || continue
			want=$(reloc_of $how)
			p=start-$libc-$ln-$how-$size
			libs="./$f -Wl,-rpath,$dir/tls"
			build "$p" $cc $lf -DMAIN -pthread && sampled "$libc $ln library at start, $size, $how" "$want" "$f" "./$p"
			libs=-ldl
			if [ $how = IE ] && { [ $libc = musl ] || [ $size = large ]; }; then
				continue		# such a library cannot be loaded later
			fi
			build "$main" $cc $lf -DMAIN -DDLOPEN -pthread &&
				sampled "$libc $ln library by dlopen, $size, $how" "$want" "$f" \
					"./$main" "./$f" late
		done
	done
}

# Bound to the library itself: lld then names no symbol in the relocation.
symbolic_of() {
	cc=$1 ln=$2 lf=$3
	for how in TLSDESC GD IE; do
		f=lib-$ln-$how-symbolic.so
		build "$f" $cc $lf -shared -fPIC $(model $how) -DWRITER -DLARGE=40 -Wl,-Bsymbolic &&
			sampled "glibc $ln library by dlopen, -Bsymbolic, $how" "$(reloc_of $how)" "$f" \
				"./main-glibc-$ln" "./$f" late
	done
}

# What strip and odd linkers leave out.
odd_of() {
	cc=$1 ln=$2 lf=$3
	for style in sysv gnu both; do
		f=lib-$ln-hash-$style.so
		build "$f" $cc $lf -shared -fPIC $(model TLSDESC) -DWRITER -Wl,--hash-style=$style || continue
		strip --strip-all "$f"
		python3 - "$f" <<'PY'
# No section headers: e_shoff, e_shnum, e_shstrndx.
import sys
b = bytearray(open(sys.argv[1], "rb").read())
b[0x28:0x30] = bytes(8)
b[0x3c:0x40] = bytes(4)
open(sys.argv[1], "wb").write(b)
PY
		sampled_blind "glibc $ln library by dlopen, $style hash, no sections" "$f"
	done
}
sampled_blind() {	# readelf sees no relocations without PT_DYNAMIC's help: -D
	blind=$2
	sampled "$1" "" "$blind" "./main-glibc-$ln" "./$blind" late
}

static_pie_of() {
	ln=$1 lf=$2
	f=static-pie-glibc-$ln
	build "$f" gcc $lf -static-pie -fPIE -DWRITER -DMAIN -pthread \
		-Wl,--export-dynamic-symbol=otel_thread_ctx_v1 &&
		sampled "glibc $ln program, static-pie" none "$f" "./$f"
	f=static-glibc-$ln
	build "$f" gcc $lf -static -no-pie -DWRITER -DMAIN -pthread &&
		sampled "glibc $ln program, static, by .symtab" none "$f" "./$f"
	[ -n "$rcrt1" ] && [ -e "$rcrt1" ] || { not_had "musl static-pie: no rcrt1.o"; return; }
	f=static-pie-musl-$ln
	m=$(dirname "$rcrt1")
	if musl-gcc -O1 -fPIE -I"$src" $headers -DWRITER -DMAIN -c "$writer" -o "$f.o" 2>"$dir/build.log" &&
		gcc $lf -static-pie -nostdlib -nostartfiles "$rcrt1" "$m/crti.o" "$f.o" \
			-Wl,--export-dynamic-symbol=otel_thread_ctx_v1 -L"$m" -lc -lgcc "$m/crtn.o" -o "$f" 2>"$dir/build.log"; then
		sampled "musl $ln program, static-pie by rcrt1.o" none "$f" "./$f"
	else
		not_had "$f: $(head -1 "$dir/build.log")"
	fi
}

start_sidecar -F 499 --scope "host"
claim "samples carry the ids of their thread, however the variable is reached"
for ln in ld lld; do
	lf=
	if [ $ln = lld ]; then
		[ -n "$lld" ] || { not_had "lld"; continue; }
		lf="-fuse-ld=lld -B$dir/ld"
	fi
	programs_of gcc $ln "$lf" glibc
	libraries_of gcc $ln "$lf" glibc
	symbolic_of gcc $ln "$lf"
	odd_of gcc $ln "$lf"
	static_pie_of $ln "$lf"
	if command -v musl-gcc >/dev/null; then
		programs_of "musl-gcc $headers" $ln "$lf" musl
		libraries_of "musl-gcc $headers" $ln "$lf" musl
	else
		not_had "musl-gcc"
	fi
done
echo "1..$total"
stop_sidecar
[ $total -ge 20 ] || fail "only $total cases could be built"
[ $bad = 0 ] || fail "$bad of $total cases"
