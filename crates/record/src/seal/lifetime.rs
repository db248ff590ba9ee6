//! How and when a process ended, by what the kernel and its arena say.

use heaplens_format::Nanos;
use heaplens_format::recording::{Exit, Process, ProcessEnd};

/// The kernel's word counts more than the arena's: a program can call `exit` and be killed in its handlers.
pub(super) fn end(
    seen: ProcessEnd,
    exit: Option<Exit>,
    newest: bool,
    running: impl Fn() -> bool,
) -> ProcessEnd {
    match (exit, seen) {
        (Some(exit), _) => ProcessEnd::Ended(exit),
        (None, ProcessEnd::Unknown) if !newest => ProcessEnd::Replaced,
        (None, ProcessEnd::Unknown | ProcessEnd::Running) if running() => ProcessEnd::Running,
        (None, ProcessEnd::Running) => ProcessEnd::Unknown,
        (None, seen) => seen,
    }
}

/// An end that the agent did not see lies between the last reading and the end of the run.
pub(super) fn finish(process: &Process, wall: Nanos) -> Nanos {
    let last = process.timeline.last().map_or(process.start, |sample| sample.at.max(process.start));
    match process.end {
        _ if process.finish > process.start => process.finish,
        ProcessEnd::Running | ProcessEnd::Ended(_) => wall.max(last),
        ProcessEnd::Unknown | ProcessEnd::Replaced => last,
    }
}

#[cfg(test)]
mod tests {
    use heaplens_format::recording::Sample;

    use super::*;

    const KILLED: Exit = Exit::Signal(9);

    #[test]
    fn the_kernels_word_on_the_end_counts_more_than_the_agents() {
        let seen = ProcessEnd::Ended(Exit::Code(0));
        assert_eq!(end(seen, Some(KILLED), true, || false), ProcessEnd::Ended(KILLED));
    }

    #[test]
    fn an_image_with_a_newer_one_was_replaced() {
        assert_eq!(end(ProcessEnd::Unknown, None, false, || true), ProcessEnd::Replaced);
    }

    #[test]
    fn an_ended_process_whose_number_was_used_again_was_not_replaced() {
        let seen = ProcessEnd::Ended(Exit::Code(2));
        assert_eq!(end(seen, None, false, || false), seen);
    }

    #[test]
    fn a_process_that_has_its_arena_mapped_still_runs() {
        assert_eq!(end(ProcessEnd::Unknown, None, true, || true), ProcessEnd::Running);
        assert_eq!(end(ProcessEnd::Unknown, None, true, || false), ProcessEnd::Unknown);
    }

    #[test]
    fn an_unseen_end_is_not_before_the_last_reading() {
        let sample = Sample { at: Nanos::new(50), ..Sample::default() };
        let process = Process { start: Nanos::new(20), timeline: vec![sample], ..Process::default() };
        assert_eq!(finish(&process, Nanos::new(90)), Nanos::new(50));
        let killed = Process { end: ProcessEnd::Ended(KILLED), ..process };
        assert_eq!(finish(&killed, Nanos::new(90)), Nanos::new(90));
    }
}
