// SPDX-License-Identifier: Apache-2.0
//! Clock anchors and status slots: a stamp that is zeroed first and written last (shm/ring_layout.h).
//! One slot that is rewritten once under the reader's eyes.
use crate::{check, Model};
use loom::sync::atomic::{fence, AtomicUsize, Ordering::*};
use std::sync::Arc;

pub static MODEL: Model = Model {
    name: "slot",
    run,
    mutants: &[
        "stamp_not_zeroed", "no_writer_fence", "stamp_relaxed", "stamp_load_relaxed", "no_reader_fence", "no_recheck",
    ],
};

struct Slot {
    stamp: AtomicUsize,
    field0: AtomicUsize,
    field1: AtomicUsize,
}

fn put(s: &Slot, stamp: usize, m: &str) {
    if m != "stamp_not_zeroed" {
        s.stamp.store(0, Relaxed);
        if m != "no_writer_fence" {
            fence(Release); // pairs with the acquire fence in get(): fields seen => zero (or newer) seen
        }
    }
    s.field0.store(stamp, Relaxed);
    s.field1.store(stamp, Relaxed);
    s.stamp.store(stamp, if m == "stamp_relaxed" { Relaxed } else { Release }); // pairs with the first load in get()
}

fn get(s: &Slot, m: &str) {
    let stamp = s.stamp.load(if m == "stamp_load_relaxed" { Relaxed } else { Acquire });
    if stamp == 0 {
        return; // being written: the reader takes another slot
    }
    let a = s.field0.load(Relaxed);
    let b = s.field1.load(Relaxed);
    if m != "no_reader_fence" {
        fence(Acquire);
    }
    if m != "no_recheck" && s.stamp.load(Relaxed) != stamp {
        return;
    }
    assert!(a == stamp && b == stamp, "torn slot");
}

fn run(m: &'static str) {
    check(move || {
        let zero = || AtomicUsize::new(0);
        let slot = Arc::new(Slot { stamp: zero(), field0: zero(), field1: zero() });
        let writer = slot.clone();
        let thread = loom::thread::spawn(move || {
            put(&writer, 1, m);
            put(&writer, 5, m);
        });
        get(&slot, m);
        get(&slot, m);
        thread.join().unwrap();
    });
}
