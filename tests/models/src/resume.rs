// SPDX-License-Identifier: Apache-2.0
//! A writer that died with a block half written, and the next one on the same file.  The second life knows
//! only what stands in the file; it goes on behind `tail` and never moves `intent` backwards.
use crate::{check, Model};
use loom::sync::atomic::{fence, AtomicUsize, Ordering::*};
use std::sync::Arc;

pub static MODEL: Model = Model {
    name: "resume",
    run,
    mutants: &["intent_moves_back", "publishes_what_was_torn", "no_writer_fence", "no_reader_fence"],
};

const BLOCKS: usize = 2;

struct Ring {
    tail: AtomicUsize,
    intent: AtomicUsize,
    word0: [AtomicUsize; BLOCKS],
    word1: [AtomicUsize; BLOCKS],
}

fn open(r: &Ring, block: usize, m: &str) {
    r.intent.store(block, Relaxed); // pairs with the intent load in get()
    if m != "no_writer_fence" {
        fence(Release);
    }
}

fn put(r: &Ring, block: usize, m: &str) {
    open(r, block, m);
    r.word0[block % BLOCKS].store(block, Relaxed);
    r.word1[block % BLOCKS].store(block, Relaxed);
    r.tail.store(block, Release);
}

/// First life: blocks 1 and 2, then dies inside block 3, which overwrites block 1.
fn first_life(r: &Ring, m: &str) {
    put(r, 1, m);
    put(r, 2, m);
    open(r, 3, m);
    r.word0[3 % BLOCKS].store(99, Relaxed);
}

/// Second life, from memory alone: the record after the last published one goes where block 3 began.
fn second_life(r: &Ring, m: &str) {
    let tail = r.tail.load(Acquire);
    if m == "publishes_what_was_torn" {
        r.tail.store(r.intent.load(Relaxed), Release);
        return;
    }
    if m == "intent_moves_back" {
        r.intent.store(tail, Relaxed); // a reader would take the scribbled block 1 for live again
        fence(Release);
    }
    put(r, tail + 1, m);
}

fn get(r: &Ring, block: usize, m: &str) {
    if r.tail.load(Acquire) < block {
        return;
    }
    let a = r.word0[block % BLOCKS].load(Relaxed);
    let b = r.word1[block % BLOCKS].load(Relaxed);
    if m != "no_reader_fence" {
        fence(Acquire);
    }
    if r.intent.load(Relaxed) >= block + BLOCKS {
        return;
    }
    assert!(a == block && b == block, "torn");
}

fn run(m: &'static str) {
    check(move || {
        let zero = || AtomicUsize::new(0);
        let ring = Arc::new(Ring { tail: zero(), intent: zero(), word0: [zero(), zero()], word1: [zero(), zero()] });
        let writer = ring.clone();
        let thread = loom::thread::spawn(move || {
            first_life(&writer, m);
            second_life(&writer, m);
        });
        get(&ring, 1, m);
        get(&ring, 3, m);
        thread.join().unwrap();
    });
}
