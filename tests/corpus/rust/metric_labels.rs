// cause: box-leak-per-name
// class: rust
// report: https://github.com/artichoke/intaglio/pull/28
// verdict: leak
// line: 25
// bytes-per-iteration: 4500
// holder: names
// fix: Box::leak, own, Arc, bound
// note: 16 new names of 256 bytes an iteration are leaked to get 'static text and stay in the map for ever; an entry of the map has 25 bytes of a table that doubles.

use std::collections::HashMap;
use std::env;

#[derive(Default)]
struct Metrics {
    names: HashMap<&'static str, u64>,
}

impl Metrics {
    fn add(&mut self, name: &str, value: u64) {
        if let Some(total) = self.names.get_mut(name) {
            *total += value;
            return;
        }
        let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
        self.names.insert(kept, value);
    }
}

fn hash(text: &str) -> u64 {
    let mut sum = 14695981039346656037u64;
    for _ in 0..60 {
        for byte in text.bytes() {
            sum = (sum ^ u64::from(byte)).wrapping_mul(1099511628211);
        }
    }
    sum
}

fn main() {
    let iterations: u64 = env::var("CORPUS_ITERATIONS").ok().and_then(|v| v.parse().ok()).unwrap_or(6000);
    let mut metrics = Metrics::default();
    let mut sum = 0u64;
    for i in 0..iterations {
        for k in 0..16 {
            let name = format!("{:0>256}", format!("request.{i}.shard.{k}"));
            sum ^= hash(&name);
            metrics.add(&name, k);
        }
    }
    println!("{} names, {sum}", metrics.names.len());
    println!("truth iterations={iterations}");
}
