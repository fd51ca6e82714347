// SPDX-License-Identifier: Apache-2.0
//! Models of what shm/ does with atomics, checked under the C11 memory model by loom.  They stand beside
//! the code: the table in ARCHITECTURE.md names, for every operation of shm/ring_atomic.h, what models it.
//!
//! `ring-models` runs every model as it stands (must pass) and with every mutant (must fail), each in a
//! process of its own, and prints one line for each.  `ring-models MODEL [MUTANT]` runs one.
mod dictionary;
mod protocol;
mod replace;
mod resume;
mod slot;

use std::process::{Command, ExitCode, Stdio};

pub struct Model {
    pub name: &'static str,
    pub run: fn(&'static str),
    pub mutants: &'static [&'static str],
}

const MODELS: &[&Model] = &[&protocol::MODEL, &slot::MODEL, &dictionary::MODEL, &resume::MODEL, &replace::MODEL];

/// Bounded where the full space is too large for CI: three preemptions find every mutant below.
pub fn check<F: Fn() + Sync + Send + 'static>(f: F) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(f);
}

fn passes(model: &str, mutant: &str) -> bool {
    Command::new(std::env::current_exe().expect("own path"))
        .args([model, mutant])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("runs itself")
        .success()
}

fn all() -> ExitCode {
    let (mut passed, mut failed) = (0, 0);
    let mut line = |model: &str, mutant: &str, ok: bool, good: &str, bad: &str| {
        println!("{} {:<10} {:<28} {}", if ok { "ok    " } else { "not ok" }, model, mutant, if ok { good } else { bad });
        if ok { passed += 1 } else { failed += 1 }
    };
    for model in MODELS {
        line(model.name, "(as shipped)", passes(model.name, "none"), "every execution holds", "an execution breaks it");
        for mutant in model.mutants {
            line(model.name, mutant, !passes(model.name, mutant), "killed by loom", "SURVIVED");
        }
    }
    println!("{passed} passed, {failed} failed, 0 skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(name) = args.first() else { return all() };
    let Some(model) = MODELS.iter().find(|m| m.name == name) else {
        eprintln!("no model {name}");
        return ExitCode::from(2);
    };
    let wanted = args.get(1).map(String::as_str).unwrap_or("none");
    let Some(mutant) = model.mutants.iter().chain(&["none"]).find(|m| **m == wanted) else {
        eprintln!("model {name} has no mutant {wanted}");
        return ExitCode::from(2);
    };
    (model.run)(mutant);
    ExitCode::SUCCESS
}
