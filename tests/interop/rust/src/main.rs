// SPDX-License-Identifier: Apache-2.0
// Publishes a process and a thread context by Datadog's crates, says which, and burns.
use libdd_library_config::otel_process_ctx;
use libdd_library_config::tracer_metadata::{ThreadLocalMetadata, TracerMetadata};
use libdd_otel_thread_ctx::linux::OwnedThreadContext;
use std::time::{Duration, Instant};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(5);
    let metadata = TracerMetadata {
        service_name: Some("interop".into()),
        tracer_language: "rust".into(),
        container_id: Some("".into()),
        threadlocal_metadata: Some(ThreadLocalMetadata {
            attribute_keys: vec!["http.route".into()],
            ..Default::default()
        }),
        ..Default::default()
    };
    otel_process_ctx::publish(&metadata.to_otel_process_ctx()).expect("publish");
    let trace: [u8; 16] = *b"\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10";
    let span: [u8; 8] = *b"\x11\x22\x33\x44\x55\x66\x77\x88";
    OwnedThreadContext::new(trace, span, 1, span, &[(1, "/cart")]).attach();
    println!("{} {} {}", std::process::id(), hex(&trace), hex(&span));
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {}
}
