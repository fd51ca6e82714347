// SPDX-License-Identifier: Apache-2.0
//! A writer that died with blocks half written, and the next one on the same file (shm/ring_resume.c).  The
//! second life knows only what stands in the file: it goes on behind `tail`, and what it announces is never
//! older than what was announced.
use crate::{check, Model};
use loom::sync::atomic::{fence, AtomicUsize, Ordering::*};
use std::sync::Arc;

pub static MODEL: Model = Model {
    name: "resume",
    run,
    mutants: &["intent_moves_back", "publishes_what_was_torn", "no_writer_fence", "no_reader_fence"],
};

const BLOCKS: usize = 2;
const TORN: usize = 99;

struct Ring {
    tail: AtomicUsize,
    intent: AtomicUsize,
    word0: [AtomicUsize; BLOCKS],
    word1: [AtomicUsize; BLOCKS],
}

/// ring_announce()
fn announce(r: &Ring, block: usize, m: &str) {
    r.intent.store(block, Relaxed); // pairs with the intent load in get()
    if m != "no_writer_fence" {
        fence(Release); // pairs with the acquire fence in get()
    }
}

/// announce_block(): `announced` is what the life before left, or more.
fn open(r: &Ring, announced: &mut usize, block: usize, m: &str) {
    if *announced < block || m == "intent_moves_back" {
        *announced = block;
    }
    announce(r, *announced, m);
}

fn put(r: &Ring, announced: &mut usize, block: usize, m: &str) {
    open(r, announced, block, m);
    r.word0[block % BLOCKS].store(block, Relaxed);
    r.word1[block % BLOCKS].store(block, Relaxed);
    r.tail.store(block, Release); // pairs with the tail load in get()
}

/// Publishes blocks 1 and 2, then dies inside a batch that reaches into block 4: block 3 stands over block 1,
/// half of block 4 over block 2.
fn first_life(r: &Ring, m: &str) {
    let mut announced = 0;
    put(r, &mut announced, 1, m);
    put(r, &mut announced, 2, m);
    for block in 3..=4 {
        open(r, &mut announced, block, m);
        r.word0[block % BLOCKS].store(TORN, Relaxed);
    }
}

/// ring_resume(): recall(), go_on(), and the first block that it publishes.
fn second_life(r: &Ring, m: &str) {
    let tail = r.tail.load(Acquire); // ring_published()
    fence(Acquire);
    let mut announced = r.intent.load(Relaxed); // ring_announced()
    if m == "publishes_what_was_torn" {
        r.tail.store(announced, Release);
        return;
    }
    announce(r, announced, m);
    put(r, &mut announced, tail + 1, m);
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
        get(&ring, 2, m);
        get(&ring, 3, m);
        thread.join().unwrap();
    });
}
