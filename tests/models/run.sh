#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Models of the ring under the C11 memory model, each with its mutants: prints what killed each of them.
# Needs cargo, and the crate loom from crates.io.
set -eu
src=$(cd "${srcdir:-.}" && pwd)/tests/models
build=${abs_top_builddir:-$PWD}/tests/models
if ! command -v cargo >/dev/null; then
	echo "SKIP: models: no cargo here; on Debian 12: apt-get install cargo-web rustc-web"
	exit 77
fi
mkdir -p "$build"
# A copy: the source folder may be read-only, and cargo wants to write beside its manifest.
cp -R "$src/Cargo.toml" "$src/src" "$build/"
cd "$build"
if ! cargo fetch --quiet; then
	echo "SKIP: models: the crate loom cannot be fetched from here"
	exit 77
fi
cargo build --release --quiet
exec ./target/release/ring-models
