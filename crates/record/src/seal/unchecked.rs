//! Processes that were to be inspected at their end and were not: which these are, and the reason that the recording gives. Silence would read
//! as "nothing is lost".

use heaplens_format::arena::ledger::LARGE;
use heaplens_format::recording::{Exit, LeakCheck, Process, ProcessEnd, signal_name};
use heaplens_format::{Bytes, Pid};

/// Which processes are inspected at their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Inspected {
    /// None.
    #[default]
    Nobody,
    /// The command's own, and large ones.
    Large {
        /// The command's own.
        main: Pid,
    },
    /// Every one that holds a block.
    Everyone,
}

/// The leak check of a process that has none; `seen` is the end that its agent saw.
pub(super) fn leak_check(process: &Process, seen: ProcessEnd, inspected: Inspected) -> Option<LeakCheck> {
    let is_large = || process.rss.is_some_and(|rss| rss.peak >= Bytes::new(LARGE));
    let is_replaced = [process.end, seen].contains(&ProcessEnd::Replaced);
    match inspected {
        Inspected::Nobody => return None,
        // Whatever it held, the next program does not have.
        _ if is_replaced => return None,
        Inspected::Large { main } if process.pid != main && !is_large() => return None,
        Inspected::Everyone if process.sites.iter().all(|site| site.live.blocks == 0) => {
            return Some(LeakCheck::Done(Vec::new()));
        }
        Inspected::Large { .. } | Inspected::Everyone => {}
    }
    Some(LeakCheck::NotDone(reason(process.end, seen)))
}

fn reason(end: ProcessEnd, seen: ProcessEnd) -> String {
    match (end, seen) {
        (ProcessEnd::Ended(Exit::Signal(signal)), _) => {
            let name = signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned);
            format!("{name} ended the process before its heap could be inspected")
        }
        (ProcessEnd::Ended(Exit::Code(_)), ProcessEnd::Unknown) => {
            "the process ended by a system call of its own, and its heap could not be inspected".to_owned()
        }
        (ProcessEnd::Ended(Exit::Code(_)), _) => {
            "the process exited before its heap was inspected".to_owned()
        }
        (ProcessEnd::Running, _) => "the process was still running when the command ended".to_owned(),
        (ProcessEnd::Unknown | ProcessEnd::Replaced, _) => {
            "the process ended unseen (it may have been killed), and its heap could not be inspected"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use heaplens_format::NodeId;
    use heaplens_format::recording::{Amount, Rss, Site, SiteKind};

    use super::*;

    const MAIN: Inspected = Inspected::Large { main: Pid::new(7) };

    fn process(pid: u32, end: ProcessEnd) -> Process {
        let live = Amount { bytes: Bytes::new(8), blocks: 1 };
        let none = Amount::default();
        let sites =
            vec![Site { node: NodeId::new(0), kind: SiteKind::Heap, live, peak: none, allocated: none }];
        Process { pid: Pid::new(pid), end, sites, ..Process::default() }
    }

    #[test]
    fn a_killed_process_is_not_called_clean() {
        let killed = process(7, ProcessEnd::Ended(Exit::Signal(9)));
        for inspected in [MAIN, Inspected::Everyone] {
            let check = leak_check(&killed, ProcessEnd::Unknown, inspected);
            assert!(
                matches!(&check, Some(LeakCheck::NotDone(why)) if why.starts_with("SIGKILL")),
                "{check:?}"
            );
        }
        assert_eq!(leak_check(&killed, ProcessEnd::Unknown, Inspected::Nobody), None);
    }

    #[test]
    fn a_process_that_holds_nothing_has_lost_nothing() {
        let empty = Process { sites: Vec::new(), ..process(8, ProcessEnd::Unknown) };
        let check = leak_check(&empty, ProcessEnd::Unknown, Inspected::Everyone);
        assert_eq!(check, Some(LeakCheck::Done(Vec::new())));
    }

    #[test]
    fn of_other_processes_only_large_ones_matter_unless_leaks_are_looked_for() {
        let small = process(8, ProcessEnd::Ended(Exit::Code(0)));
        assert_eq!(leak_check(&small, ProcessEnd::Unknown, MAIN), None);
        let rss = Rss { peak: Bytes::new(LARGE), ..Rss::default() };
        let large = Process { rss: Some(rss), ..small.clone() };
        assert!(leak_check(&large, ProcessEnd::Unknown, MAIN).is_some());
        assert!(leak_check(&small, ProcessEnd::Unknown, Inspected::Everyone).is_some());
    }

    #[test]
    fn a_program_that_became_another_one_is_not_asked_for() {
        let code = ProcessEnd::Ended(Exit::Code(0));
        assert_eq!(leak_check(&process(7, code), ProcessEnd::Replaced, Inspected::Everyone), None);
        assert_eq!(leak_check(&process(7, ProcessEnd::Replaced), ProcessEnd::Unknown, MAIN), None);
    }

    #[test]
    fn an_exit_that_the_agent_saw_is_told_from_one_that_it_did_not() {
        let code = ProcessEnd::Ended(Exit::Code(3));
        assert_ne!(reason(code, code), reason(code, ProcessEnd::Unknown));
    }
}
