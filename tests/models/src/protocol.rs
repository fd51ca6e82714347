// SPDX-License-Identifier: Apache-2.0
//! Overwriting and publishing: `intent`, the two fences, `tail` (shm/ring_write.c, shm/ring_read.c).
//! Two blocks of two words, one writer, one reader.
use crate::{check, Model};
use loom::sync::atomic::{fence, AtomicUsize, Ordering::*};
use std::sync::Arc;

pub static MODEL: Model = Model {
    name: "protocol",
    run,
    mutants: &[
        "no_writer_fence", "release_store_for_fence", "intent_late", "tail_relaxed", "tail_load_relaxed",
        "no_reader_fence", "acquire_load_for_fence", "off_by_one", "no_recheck",
    ],
};

const BLOCKS: usize = 2;
const WRITES: usize = 3;

struct Ring {
    tail: AtomicUsize,
    intent: AtomicUsize,
    word0: [AtomicUsize; BLOCKS],
    word1: [AtomicUsize; BLOCKS],
}

fn announce(r: &Ring, block: usize, m: &str) {
    if m == "release_store_for_fence" {
        r.intent.store(block, Release);
        return;
    }
    r.intent.store(block, Relaxed); // pairs with the intent load in get()
    if m != "no_writer_fence" {
        fence(Release); // pairs with the acquire fence in get()
    }
}

fn put(r: &Ring, block: usize, m: &str) {
    if m == "intent_late" {
        r.word0[block % BLOCKS].store(block, Relaxed);
        announce(r, block, m);
    } else {
        announce(r, block, m);
        r.word0[block % BLOCKS].store(block, Relaxed);
    }
    r.word1[block % BLOCKS].store(block, Relaxed);
    r.tail.store(block, if m == "tail_relaxed" { Relaxed } else { Release }); // pairs with the tail load in get()
}

fn get(r: &Ring, block: usize, m: &str) {
    if r.tail.load(if m == "tail_load_relaxed" { Relaxed } else { Acquire }) < block {
        return; // not published yet
    }
    let a = r.word0[block % BLOCKS].load(Relaxed);
    let b = r.word1[block % BLOCKS].load(Relaxed);
    if m != "no_reader_fence" && m != "acquire_load_for_fence" {
        fence(Acquire);
    }
    let intent = r.intent.load(if m == "acquire_load_for_fence" { Acquire } else { Relaxed });
    let slack = usize::from(m == "off_by_one");
    if m != "no_recheck" && intent >= block + BLOCKS + slack {
        return; // lapped
    }
    assert!(a == block && b == block, "torn");
}

fn run(m: &'static str) {
    check(move || {
        let zero = || AtomicUsize::new(0);
        let ring = Arc::new(Ring { tail: zero(), intent: zero(), word0: [zero(), zero()], word1: [zero(), zero()] });
        let writer = ring.clone();
        let thread = loom::thread::spawn(move || (1..=WRITES).for_each(|block| put(&writer, block, m)));
        get(&ring, 1, m);
        get(&ring, 2, m);
        thread.join().unwrap();
    });
}
