// cause: channel-not-drained
// class: rust
// report: https://github.com/EpicEric/sandhole/issues/24
// verdict: leak
// line: 26
// bytes-per-iteration: 8224
// holder: channel
// fix: bound, sync_channel, drain, recv
// note: The unbounded channel's receiver is kept but takes one message of sixteen; the others, 8,736 bytes each, wait in its blocks (bytes are those of a kept message times 15/16).

use std::env;
use std::sync::mpsc::{channel, Receiver, Sender};

struct Event {
    number: u64,
    body: Vec<u8>,
}

struct Feed {
    events: Sender<Event>,
    viewer: Receiver<Event>,
}

impl Feed {
    fn publish(&self, number: u64) {
        let mut body = vec![0u8; 8736];
        let mut state = number;
        for _ in 0..8 {
            for byte in body.iter_mut() {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                *byte = (state >> 56) as u8;
            }
        }
        self.events.send(Event { number, body }).expect("the viewer is there");
    }

    fn refresh(&self) -> u64 {
        match self.viewer.try_recv() {
            Ok(event) => event.number + u64::from(event.body[0]),
            Err(_) => 0,
        }
    }
}

fn main() {
    let iterations: u64 = env::var("CORPUS_ITERATIONS").ok().and_then(|v| v.parse().ok()).unwrap_or(20000);
    let (events, viewer) = channel();
    let feed = Feed { events, viewer };
    let mut sum = 0u64;
    for i in 0..iterations {
        feed.publish(i);
        if i % 16 == 0 {
            sum += feed.refresh();
        }
    }
    println!("{sum}");
    println!("truth iterations={iterations}");
}
