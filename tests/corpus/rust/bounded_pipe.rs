// cause: bounded-channel
// class: rust
// report: https://doc.rust-lang.org/std/sync/mpsc/fn.sync_channel.html
// verdict: clean
// note: The producer waits when 64 messages are in the channel, so memory is bounded by the slow consumer.

use std::env;
use std::sync::mpsc::sync_channel;
use std::thread;

fn produce(number: u64) -> Vec<u8> {
    let mut state = number | 1;
    (0..30_000)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect()
}

fn consume(message: &[u8]) -> u64 {
    let mut sum = 0u64;
    for _ in 0..4 {
        for byte in message {
            sum = sum.wrapping_mul(33) ^ u64::from(*byte);
        }
    }
    sum
}

fn main() {
    let iterations: u64 = env::var("CORPUS_ITERATIONS").ok().and_then(|v| v.parse().ok()).unwrap_or(6000);
    let (sender, receiver) = sync_channel::<Vec<u8>>(64);
    let producer = thread::spawn(move || {
        for i in 0..iterations {
            sender.send(produce(i)).expect("the consumer is there");
        }
    });
    let mut sum = 0u64;
    for message in receiver {
        sum ^= consume(&message);
    }
    producer.join().expect("the producer ends");
    println!("{sum}");
    println!("truth iterations={iterations}");
}
