//! Where the time of a run went.

use std::time::{Duration, Instant};

/// The phases of a run, in their order.
#[derive(Debug, Default)]
pub struct Phases(Vec<(&'static str, Duration)>);

impl Phases {
    /// Does a phase's work and keeps how long it took.
    pub fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.0.push((name, start.elapsed()));
        result
    }

    /// One line for each phase that took a second or more, and one for all.
    pub fn print(&self) {
        println!("\nphases");
        for (name, took) in self.0.iter().filter(|(_, took)| took.as_secs() > 0) {
            println!("{:>8.0} s  {name}", took.as_secs_f64());
        }
        let all: Duration = self.0.iter().map(|(_, took)| *took).sum();
        println!("{:>8.0} s  together\n", all.as_secs_f64());
    }
}
