#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The compiler of an executable, by programs that the compilers of this machine make now.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need gcc

cd "$dir" || exit 1
# version COMMAND...: the first number with dots in what it prints.
version() { "$@" 2>&1 | grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1; }
checked=0
# compiles COMPILER WANT COMMAND...: COMMAND makes ./program, which runs until it is killed.
compiles() {
	compiler=$1
	want=$2
	shift 2
	command -v "$compiler" >/dev/null || { echo "  not checked: no $compiler on this machine"; return; }
	rm -f program
	"$@" >build.log 2>&1 || fail "$compiler: $(tail -n 3 build.log)"
	spawn ./program
	sleep 0.3
	"$ringsided" --explain-labels "$spawned" >labels 2>&1 || fail "--explain-labels: exit $?: $(tail -n 1 labels)"
	kill "$spawned"
	got=$(sed -n 's/.*__meta_process_executable_compiler = //p' labels | head -n 1)
	echo "  $compiler: $got"
	[ "$got" = "$want" ] || fail "$compiler: said '$got', not '$want'"
	checked=$((checked + 1))
}
cat >p.c <<'EOF'
int main(void) { for (volatile unsigned i = 0;; i++) ; }
EOF
echo 'package main
func main() { for i := 0; ; i++ { } }' >p.go
echo 'fn main() { let mut x: u64 = 0; loop { x = std::hint::black_box(x + 1); } }' >p.rs
echo 'let () = while true do ignore (Sys.opaque_identity (List.init 1000 (fun x -> x * x))) done' >p.ml
echo 'program p; var i: longint; begin while true do begin i := i + 1; end; end.' >p.pas
export GOCACHE="$dir/gocache" GO111MODULE=off

claim "compilers are told with their versions"
compiles gcc "GCC $(version gcc -dumpfullversion)" gcc -O1 p.c -o program
compiles clang-14 "Clang $(version clang-14 --version)" clang-14 -O1 p.c -o program
compiles tcc "TCC" tcc p.c -o program
compiles fpc "FPC $(version fpc -iV)" fpc -oprogram p.pas
compiles ocamlopt "OCaml $(version ocamlopt -version)" ocamlopt p.ml -o program
compiles go "Go $(version go version)" go build -o program p.go
compiles rustc "Rust $(version rustc --version)" rustc -C strip=symbols -o program p.rs
[ $checked -ge 2 ] || fail "only $checked compilers"
