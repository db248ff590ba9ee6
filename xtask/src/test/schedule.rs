//! Runs jobs, several at a time: one more than there are processors, because many tests wait for something.

use std::sync::Mutex;
use std::thread;

use super::job::Job;
use super::outcome::Outcome;
use super::setup::Variables;

/// Runs all of them, in their order as far as that goes, and prints each outcome when it is known.
pub fn run(jobs: Vec<Job>, variables: &Variables) -> Vec<Outcome> {
    let workers = thread::available_parallelism().map_or(1, usize::from) + 1;
    let waiting = Mutex::new(jobs.into_iter());
    let outcomes = Mutex::new(Vec::new());
    let next = || waiting.lock().ok().and_then(|mut jobs| jobs.next());
    let work = || {
        while let Some(job) = next() {
            let ended = job.run(variables);
            ended.iter().for_each(Outcome::print);
            outcomes.lock().expect("no worker panics with the list in hand").extend(ended);
        }
    };
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    outcomes.into_inner().expect("no worker panics with the list in hand")
}
