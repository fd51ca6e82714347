// SPDX-License-Identifier: Apache-2.0
// The record's address must be findable in the executable.
fn main() {
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=otel_thread_ctx_v1");
}
