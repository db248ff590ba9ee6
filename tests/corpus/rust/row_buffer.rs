// cause: buffer-cleared-and-reused
// class: rust
// report: https://doc.rust-lang.org/std/string/struct.String.html#method.clear
// verdict: clean
// note: clear() keeps the capacity; the row and the sorted index are used again for every batch and settle at the largest one.

use std::env;
use std::fmt::Write;

struct Exporter {
    text: String,
    order: Vec<u32>,
}

impl Exporter {
    fn export(&mut self, batch: u64) -> usize {
        self.text.clear();
        self.order.clear();
        let rows = 1500 + (batch * 37 % 1500) as u32;
        self.order.extend((0..rows).map(|row| row.wrapping_mul(2654435761)));
        self.order.sort_unstable();
        for row in &self.order {
            let _ = writeln!(self.text, "{batch},{row}");
        }
        self.text.len()
    }
}

fn main() {
    let iterations: u64 = env::var("CORPUS_ITERATIONS").ok().and_then(|v| v.parse().ok()).unwrap_or(9000);
    let mut exporter = Exporter { text: String::new(), order: Vec::new() };
    let mut bytes = 0usize;
    for i in 0..iterations {
        bytes += exporter.export(i);
    }
    println!("{bytes} bytes");
    println!("truth iterations={iterations}");
}
