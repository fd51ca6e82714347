// SPDX-License-Identifier: Apache-2.0
//! Replacing the file: the old writer's last records, the SUPERSEDED mark, and a reader that drains the old
//! file before it follows (shm/ring_replace.c, shm/ring_read.c).  Then the old file's memory is punched away.
use crate::{check, Model};
use loom::sync::atomic::{fence, AtomicUsize, Ordering::*};
use std::sync::Arc;

pub static MODEL: Model = Model {
    name: "replace",
    run,
    mutants: &[
        "tail_read_before_state", "state_relaxed", "state_load_relaxed", "punch_before_mark", "no_state_recheck",
        "no_punch_fence",
    ],
};

const LIVE: usize = 0;
const SUPERSEDED: usize = 1;
const PUNCHED: usize = 2;

struct Old {
    tail: AtomicUsize,
    state: AtomicUsize,
    word: AtomicUsize,
}

fn writers(o: &Old, m: &str) {
    o.word.store(1, Relaxed);
    o.tail.store(1, Release); // the old writer's last record
    if m == "punch_before_mark" {
        o.word.store(0, Relaxed);
    }
    o.state.store(SUPERSEDED, if m == "state_relaxed" { Relaxed } else { Release }); // pairs with the load in drain()
    // After a grace period: the mark first, then the hole.
    o.state.store(PUNCHED, Relaxed);
    if m != "no_punch_fence" {
        fence(Release); // pairs with the acquire fence in drain(): a zero seen => the mark seen
    }
    o.word.store(0, Relaxed);
}

/// True when the reader may leave the old file: it was superseded, and all of it was read.
fn drain(o: &Old, m: &str) {
    let early = o.tail.load(Acquire);
    let state = o.state.load(if m == "state_load_relaxed" { Relaxed } else { Acquire });
    if state == PUNCHED {
        return; // too late for this file: counted as lapped
    }
    let tail = if m == "tail_read_before_state" { early } else { o.tail.load(Acquire) };
    if tail == 0 {
        // Nothing to read.  Following now is right only if nothing can come any more.
        assert!(state == LIVE || o.tail.load(SeqCst) == 0, "followed before the last record was read");
        return;
    }
    let word = o.word.load(Relaxed);
    fence(Acquire);
    if m != "no_state_recheck" && o.state.load(Relaxed) == PUNCHED {
        return; // counted as lapped
    }
    assert!(word == 1, "a hole read as a record");
}

fn run(m: &'static str) {
    check(move || {
        let zero = || AtomicUsize::new(0);
        let old = Arc::new(Old { tail: zero(), state: zero(), word: zero() });
        let writer = old.clone();
        let thread = loom::thread::spawn(move || writers(&writer, m));
        drain(&old, m);
        thread.join().unwrap();
    });
}
