#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# protoc reads what libotelctx writes: every type of value, lengths of one to three bytes, key maps (W19).
command -v protoc >/dev/null || { echo "no protoc (apt-get install protobuf-compiler)"; exit 77; }
fail() { echo "not ok $*"; exit 1; }
out=$PWD/tests/otelctx_protoc.tmp
rm -rf "$out"
mkdir -p "$out"

decoded() {
	"$abs_top_builddir/tests/ctx_payload" "$@" >"$out/payload" || fail "ctx_payload $*"
	protoc -I"$srcdir/tests" --decode=opentelemetry.proto.ProcessContext process_context.proto \
		<"$out/payload" >"$out/text" 2>"$out/errors" || fail "protoc: $(cat "$out/errors")"
	[ ! -s "$out/errors" ] || fail "protoc says: $(cat "$out/errors")"
	# A field that protoc does not know is printed by its number.
	! grep -qE '^ *[0-9]+[:{ ]' "$out/text" || fail "unknown fields: $(grep -E '^ *[0-9]+[:{ ]' "$out/text")"
}

decoded types
diff -u "$srcdir/tests/golden/otelctx_types.txt" "$out/text" || fail "every type of value"
echo "ok every type of value"

for n in 1 127 128 16383 16384 30000; do
	decoded string $n
	x=$(head -c $n /dev/zero | tr '\0' x)
	printf 'resource {\n  attributes {\n    key: "%s"\n    value {\n      string_value: "%s"\n    }\n  }\n}\n' \
		"$x" "$x" | cmp - "$out/text" || fail "key and value of $n bytes"
	echo "ok key and value of $n bytes"
done
"$abs_top_builddir/tests/ctx_payload" string 33000 2>/dev/null && fail "66 KB were published"
echo "ok more than 64 KiB are refused"

for n in 0 1 256; do
	decoded names $n
	{
		printf 'resource {\n}\nattributes {\n  key: "threadlocal.schema_version"\n  value {\n'
		printf '    string_value: "tlsdesc_v1_dev"\n  }\n}\n'
		printf 'attributes {\n  key: "threadlocal.attribute_key_map"\n  value {\n    array_value {\n'
		i=0
		while [ $i -lt $n ]; do
			printf '      values {\n        string_value: "name.%d"\n      }\n' $i
			i=$((i + 1))
		done
		printf '    }\n  }\n}\n'
	} | cmp - "$out/text" || fail "key map of $n"
	echo "ok key map of $n"
done
"$abs_top_builddir/tests/ctx_payload" names 257 2>/dev/null && fail "257 names were published"
echo "ok the 257th name is refused"
rm -rf "$out"
