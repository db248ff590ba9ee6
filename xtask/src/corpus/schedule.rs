//! Runs programs, some at a time, and says on stderr which one is done. Keeps their order; what fails is kept with its reason.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Result;

use super::programs::CorpusProgram;

/// What became of all programs.
#[derive(Debug)]
pub struct CorpusRuns<'a, T> {
    pub done: Vec<(&'a CorpusProgram, T)>,
    /// Names, and why they could not be run.
    pub not_run: Vec<(String, String)>,
}

/// Does the work for each program.
pub fn run<T: Send>(
    programs: &[CorpusProgram],
    jobs: usize,
    work: impl Fn(&CorpusProgram) -> Result<T> + Sync,
) -> CorpusRuns<'_, T> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || {
        // Every number is given out once; nothing else depends on the order.
        while let Some((index, program)) = take(&next, programs) {
            let start = Instant::now();
            let result = work(program);
            let word = if result.is_ok() { "done" } else { "not run" };
            eprintln!("{:>5.1} s  {word}  {}", start.elapsed().as_secs_f64(), program.name);
            results.lock().expect("no worker panics with it").push((index, result));
        }
    };
    std::thread::scope(|scope| {
        (0..jobs).for_each(|_| drop(scope.spawn(worker)));
    });
    let mut results = results.into_inner().expect("no worker panics with it");
    results.sort_by_key(|(index, _)| *index);
    sort_out(programs, results)
}

fn take<'a>(next: &AtomicUsize, programs: &'a [CorpusProgram]) -> Option<(usize, &'a CorpusProgram)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, programs.get(index)?))
}

fn sort_out<T>(programs: &[CorpusProgram], results: Vec<(usize, Result<T>)>) -> CorpusRuns<'_, T> {
    let mut outcomes = CorpusRuns { done: Vec::new(), not_run: Vec::new() };
    for (index, result) in results {
        let program = &programs[index];
        match result {
            Ok(value) => outcomes.done.push((program, value)),
            Err(error) => outcomes.not_run.push((program.name.clone(), format!("{error:#}"))),
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::super::programs::all;
    use super::*;

    #[test]
    fn the_order_stays_and_failures_keep_their_reason() {
        let programs = &all().unwrap()[..5];
        let outcomes = run(programs, 3, |program| {
            if program.name == programs[1].name {
                bail!("no such thing")
            }
            Ok(program.name.clone())
        });
        let names: Vec<&String> = outcomes.done.iter().map(|(_, name)| name).collect();
        assert_eq!(names, [0, 2, 3, 4].map(|index| &programs[index].name));
        assert_eq!(outcomes.not_run, [(programs[1].name.clone(), "no such thing".to_owned())]);
    }
}
