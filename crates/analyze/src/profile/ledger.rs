//! The ledger as a report shows it: at the start, at the peak and at the end, and the mappings that its lines are made of.

use std::collections::BTreeMap;

use heaplens_format::memory::{Line, Space, SpaceKind, Tables};
use heaplens_format::recording::{Ledger, LedgerMoment, Process, Rss, SpaceLedgers};
use heaplens_format::{Bytes, Nanos};

use super::iterations::Iterations;
use super::stacks::{StackId, Stacks};

/// Where the bytes of the process were in one space: of the host's, the resident ones.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerProfile {
    /// The space.
    pub space: Space,
    /// When the loop had begun; where there is no loop, the first one.
    pub start: Ledger,
    /// The one with the most resident memory of the program.
    pub peak: Ledger,
    /// The last one.
    pub end: Ledger,
    /// Mappings by name and by maker, the largest at the end first.
    pub mappings: Vec<MappingProfile>,
    /// All that were kept, in the order of time.
    pub all: Vec<Ledger>,
    /// Whether the process began by `fork`: what it inherited is not in its tables, and has a line of its own.
    pub is_forked: bool,
}

/// A space beside the host's.
#[derive(Clone, Debug, PartialEq)]
pub struct SpaceProfile {
    /// Who counted.
    pub source: String,
    /// Where the bytes were.
    pub ledger: LedgerProfile,
}

/// A value of the ledger at its three moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// At the start.
    pub start: Bytes,
    /// At the peak.
    pub peak: Bytes,
    /// At the end.
    pub end: Bytes,
}

impl Moments {
    /// The largest of them.
    pub fn most(&self) -> Bytes {
        self.start.max(self.peak).max(self.end)
    }
}

/// Mappings of one name, or of one maker. One that is not among a ledger's largest counts as nothing there.
#[derive(Clone, Debug, PartialEq)]
pub struct MappingProfile {
    /// The line that it is a part of.
    pub line: Line,
    /// What the kernel calls it; empty where it has no name.
    pub name: String,
    /// Resident bytes.
    pub bytes: Moments,
    /// The stack that mapped it, for [`crate::Profile::mapping_stack`].
    pub(crate) stack: Option<StackId>,
}

impl LedgerProfile {
    /// A value of each of the three ledgers.
    pub fn moments(&self, value: impl Fn(&Ledger) -> Bytes) -> Moments {
        Moments { start: value(&self.start), peak: value(&self.peak), end: value(&self.end) }
    }

    /// A line.
    pub fn line(&self, line: Line) -> Moments {
        self.moments(|ledger| ledger.line(line))
    }

    /// Whether the last one was taken when the process waited for it at its end.
    pub fn has_end(&self) -> bool {
        self.end.moment != LedgerMoment::Running
    }
}

/// The spaces beside the host's that a process has ledgers of; those that the tables do not know are left out.
pub(crate) fn of_spaces(
    process: &Process,
    stacks: &Stacks,
    iterations: Option<&Iterations>,
    tables: Tables,
) -> Vec<SpaceProfile> {
    let is_known =
        |one: &&SpaceLedgers| one.space.kind != SpaceKind::HOST && tables.space(one.space).is_some();
    let profile = |one: &SpaceLedgers| {
        let ledger = of(process, (one.space, &one.ledgers), stacks, iterations)?;
        Some(SpaceProfile { source: one.source.clone(), ledger })
    };
    process.spaces.iter().filter(is_known).filter_map(profile).collect()
}

/// The ledger of a process, by all that were taken of one space; `None` when none was.
pub(crate) fn of(
    process: &Process,
    (space, all): (Space, &[Ledger]),
    stacks: &Stacks,
    iterations: Option<&Iterations>,
) -> Option<LedgerProfile> {
    let began = iterations.and_then(|found| beginning(process, found)).unwrap_or_default();
    let start = all.iter().find(|ledger| ledger.at >= began).or(all.last())?;
    let peak = all.iter().rev().max_by_key(|ledger| ledger.program())?;
    let end = all.last()?;
    Some(LedgerProfile {
        space,
        start: start.clone(),
        peak: peak.clone(),
        end: end.clone(),
        mappings: mappings(process, stacks, [start, peak, end]),
        all: all.to_vec(),
        is_forked: process.forked,
    })
}

fn beginning(process: &Process, iterations: &Iterations) -> Option<Nanos> {
    let loops = iterations.of_loops.iter().filter_map(|own| (own.get() as usize).checked_sub(1));
    loops.filter_map(|index| process.loops.get(index)).map(|one| one.first).min()
}

/// The resident memory that the report quotes: start and end are those of the ledger, so that its lines add up to them.
pub(crate) fn rss(process: &Process, ledger: Option<&LedgerProfile>) -> Option<Rss> {
    let Some(ledger) = ledger else { return process.rss };
    let program = ledger.moments(Ledger::program);
    let read = process.rss.unwrap_or_default();
    let end = if ledger.has_end() { program.end } else { read.end };
    let peak = read.peak.max(program.peak).max(end);
    Some(Rss { start: program.start, peak, end })
}

fn mappings(process: &Process, stacks: &Stacks, ledgers: [&Ledger; 3]) -> Vec<MappingProfile> {
    let fields: [fn(&mut Moments) -> &mut Bytes; 3] =
        [|moments| &mut moments.start, |moments| &mut moments.peak, |moments| &mut moments.end];
    let stack = |site: Option<u32>| Some(stacks.of(process.sites.get(site? as usize)?.node));
    let mut rows = BTreeMap::<(Line, &str, Option<StackId>), Moments>::new();
    for (ledger, field) in ledgers.into_iter().zip(fields) {
        for mapping in &ledger.mappings {
            let row = rows.entry((mapping.line, &mapping.name, stack(mapping.site))).or_default();
            *field(row) += mapping.bytes;
        }
    }
    let row = |((line, name, stack), bytes): ((Line, &str, _), _)| MappingProfile {
        line,
        name: name.to_owned(),
        bytes,
        stack,
    };
    let mut rows: Vec<MappingProfile> = rows.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.bytes.end, row.bytes.peak, row.bytes.start)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(at: u64, rss: u64, moment: LedgerMoment) -> Ledger {
        Ledger { at: Nanos::new(at), rss: Bytes::new(rss), moment, ..Ledger::default() }
    }

    fn profile(process: &Process) -> Option<LedgerProfile> {
        of(process, (Space::HOST, &process.ledgers), &Stacks::new(process), None)
    }

    #[test]
    fn without_a_ledger_the_readings_stand() {
        let rss_read = Rss { start: Bytes::new(1), peak: Bytes::new(3), end: Bytes::new(2) };
        let process = Process { rss: Some(rss_read), ..Process::default() };
        assert_eq!(profile(&process), None);
        assert_eq!(rss(&process, None), Some(rss_read));
    }

    #[test]
    fn the_end_of_one_that_did_not_wait_is_that_of_the_readings() {
        let ledgers = vec![ledger(1, 10, LedgerMoment::Running), ledger(5, 30, LedgerMoment::Running)];
        let read = Rss { start: Bytes::new(4), peak: Bytes::new(50), end: Bytes::new(40) };
        let process = Process { ledgers, rss: Some(read), ..Process::default() };
        let found = profile(&process).unwrap();
        assert!(!found.has_end());
        let expected = Rss { start: Bytes::new(10), peak: Bytes::new(50), end: Bytes::new(40) };
        assert_eq!(rss(&process, Some(&found)), Some(expected));
    }

    #[test]
    fn lines_add_up_to_the_resident_memory_that_is_quoted() {
        let mut end = ledger(9, 100, LedgerMoment::Exit);
        end.lines.add(Line::HEAPLENS, Bytes::new(30));
        end.lines.add(Line::NATIVE, Bytes::new(70));
        let process =
            Process { ledgers: vec![ledger(1, 10, LedgerMoment::Running), end], ..Process::default() };
        let found = profile(&process).unwrap();
        assert_eq!(rss(&process, Some(&found)).unwrap().end, found.line(Line::NATIVE).end);
        assert_eq!(found.peak.at, Nanos::new(9));
    }
}
