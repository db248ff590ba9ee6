// cause: mem-forget
// class: rust
// report: https://github.com/kaist-cp/cs431/issues/16
// verdict: lost
// line: 21
// bytes-per-iteration: 24592
// holder: -
// fix: from_raw_parts, drop, Box::from_raw
// note: The buffer is handed to a raw pointer and forgotten; the reader never turns the pointer back into a Vec, so 24 KiB are lost per frame.

use std::env;
use std::mem;

#[derive(Clone, Copy)]
struct Frame {
    data: *const u8,
    length: usize,
}

fn capture(number: u64) -> Frame {
    let mut bytes: Vec<u8> = Vec::with_capacity(24 * 1024);
    let mut state = number | 1;
    for _ in 0..24 * 1024 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.push(state as u8);
    }
    let frame = Frame { data: bytes.as_ptr(), length: bytes.len() };
    mem::forget(bytes);
    frame
}

fn encode(frame: Frame) -> u64 {
    let bytes = unsafe { std::slice::from_raw_parts(frame.data, frame.length) };
    let mut sum = 0u64;
    for _ in 0..10 {
        for byte in bytes {
            sum = sum.rotate_left(5) ^ u64::from(*byte);
        }
    }
    sum
}

fn main() {
    let iterations: u64 = env::var("CORPUS_ITERATIONS").ok().and_then(|v| v.parse().ok()).unwrap_or(4000);
    let mut sum = 0u64;
    for i in 0..iterations {
        sum = sum.wrapping_add(encode(capture(i)));
    }
    println!("{sum}");
    println!("truth iterations={iterations}");
}
