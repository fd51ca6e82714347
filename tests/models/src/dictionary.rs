// SPDX-License-Identifier: Apache-2.0
//! Recycling of a dictionary half: one intent check covers a record and what it refers to (shm/dict_write.c).
//! Block 1 refers to an entry of two words; the half is recycled when block 1 can no longer be accepted.
use crate::{check, Model};
use loom::sync::atomic::{fence, AtomicUsize, Ordering::*};
use std::sync::Arc;

pub static MODEL: Model = Model {
    name: "dictionary",
    run,
    mutants: &["recycle_early", "intern_before_open", "validate_before_entries", "no_writer_fence", "no_reader_fence"],
};

const BLOCKS: usize = 2;

struct Ring {
    tail: AtomicUsize,
    intent: AtomicUsize,
    word: [AtomicUsize; BLOCKS],
    entry0: AtomicUsize,
    entry1: AtomicUsize,
}

fn write_entry(r: &Ring, generation: usize) {
    r.entry0.store(generation, Relaxed);
    r.entry1.store(generation, Relaxed);
}

fn put(r: &Ring, block: usize, m: &str) {
    // The first block that may recycle is the one whose opening kills block 1.
    let recycles = block == if m == "recycle_early" { 2 } else { 1 + BLOCKS };
    if recycles && m == "intern_before_open" {
        write_entry(r, 2);
    }
    r.intent.store(block, Relaxed); // pairs with the intent load in get()
    if m != "no_writer_fence" {
        fence(Release); // pairs with the acquire fence in get(): covers the entries below as well
    }
    if block == 1 {
        write_entry(r, 1);
    } else if recycles && m != "intern_before_open" {
        write_entry(r, 2);
    }
    r.word[block % BLOCKS].store(block, Relaxed);
    r.tail.store(block, Release); // pairs with the tail load in get()
}

fn intact(r: &Ring, block: usize, m: &str) -> bool {
    if m != "no_reader_fence" {
        fence(Acquire);
    }
    r.intent.load(Relaxed) < block + BLOCKS
}

fn get(r: &Ring, block: usize, generation: usize, m: &str) {
    if r.tail.load(Acquire) < block {
        return;
    }
    let word = r.word[block % BLOCKS].load(Relaxed);
    if m == "validate_before_entries" && !intact(r, block, m) {
        return;
    }
    let a = r.entry0.load(Relaxed);
    let b = r.entry1.load(Relaxed);
    if m != "validate_before_entries" && !intact(r, block, m) {
        return;
    }
    assert!(word == block, "torn record");
    assert!(a == generation && b == generation, "another generation's entry");
}

fn run(m: &'static str) {
    check(move || {
        let zero = || AtomicUsize::new(0);
        let ring = Arc::new(Ring { tail: zero(), intent: zero(), word: [zero(), zero()], entry0: zero(), entry1: zero() });
        let writer = ring.clone();
        let thread = loom::thread::spawn(move || (1..=3).for_each(|block| put(&writer, block, m)));
        get(&ring, 1, 1, m);
        get(&ring, 3, 2, m);
        thread.join().unwrap();
    });
}
