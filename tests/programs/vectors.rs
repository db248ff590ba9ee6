//! Boxes and vectors with the truth about them, in the format of `truth.h`.

use std::hint::black_box;

fn say(line: u32, live: (usize, usize), allocated: (usize, usize)) {
    let pid = std::process::id();
    let ((live_bytes, live_blocks), (bytes, blocks)) = (live, allocated);
    println!("truth {pid} native vectors.rs {line} {live_bytes} {live_blocks} {bytes} {blocks} - -");
}

#[inline(never)]
fn boxes() {
    let line = line!() + 2;
    for value in 0u64..100 {
        std::mem::forget(black_box(Box::new([value; 4])));
    }
    say(line, (3200, 100), (3200, 100));
}

#[inline(never)]
fn vectors() {
    let line = line!() + 2;
    for size in 1usize..=50 {
        let vector = black_box(Vec::<u32>::with_capacity(size));
        if size % 2 == 0 {
            std::mem::forget(vector);
        }
    }
    say(line, (2 * 25 * 26 * 2, 25), (4 * 50 * 51 / 2, 50));
}

#[inline(never)]
fn growing() {
    let mut vector = Vec::<u8>::with_capacity(10);
    let line = line!() + 2;
    for _ in 0..6 {
        vector.reserve_exact(black_box(vector.capacity() + 10));
        vector.resize(vector.capacity(), 1);
    }
    let capacity = vector.capacity();
    std::mem::forget(black_box(vector));
    // 20, 50, 110, 230, 470, 950: each time the length is the old capacity, and as much and 10 more is reserved.
    say(line, (capacity, 1), (20 + 50 + 110 + 230 + 470 + 950, 6));
}

fn main() {
    boxes();
    vectors();
    growing();
    println!("truth-end {}", std::process::id());
}
