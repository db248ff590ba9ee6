//! Panics that unwind through frames which hold blocks, and are caught: every block of the frames goes, what was put aside stays.
//! The rows are counted by hand, since the collections allocate on lines of the standard library.

use std::hint::black_box;
use std::panic::{catch_unwind, set_hook};

const ROUNDS: usize = 500;
const DEPTH: usize = 12;
const KEPT: usize = 96;

#[inline(never)]
fn keep() -> Box<[u8; KEPT]> {
    black_box(Box::new([7; KEPT])) // row: kept
}

#[inline(never)]
fn hold() -> Box<[u8; 40]> {
    black_box(Box::new([1; 40])) // row: held
}

#[inline(never)]
fn descend(depth: usize, kept: &mut Vec<Box<[u8; KEPT]>>) -> usize {
    let held = hold();
    if depth == 0 {
        kept.push(keep());
        panic!("to the catcher");
    }
    descend(depth - 1, kept) + held.len()
}

fn line_of(row: &str) -> usize {
    let wanted = format!("// row: {row}");
    1 + include_str!("caught_panics.rs").lines().position(|line| line.ends_with(&wanted)).unwrap_or(0)
}

fn main() {
    set_hook(Box::new(|_| {}));
    let mut kept = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let result = catch_unwind(std::panic::AssertUnwindSafe(|| descend(DEPTH, &mut kept)));
        assert!(result.is_err());
    }
    let pid = std::process::id();
    let held = ROUNDS * (DEPTH + 1);
    println!("truth {pid} native caught_panics.rs {} 0 0 {} {held} - -", line_of("held"), held * 40);
    let bytes = ROUNDS * KEPT;
    println!("truth {pid} native caught_panics.rs {} {bytes} {ROUNDS} {bytes} {ROUNDS} - -", line_of("kept"));
    println!("truth-end {pid}");
    std::mem::forget(kept);
}
