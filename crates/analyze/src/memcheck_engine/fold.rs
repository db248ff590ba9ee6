//! Records, folded: the user's by kind and line, all others by the object file that they are in, as sums.

use std::collections::{BTreeMap, HashMap};

use super::record::{Auxiliary, XmlFrame, XmlRecord};
use super::whose::{UserCode, harmless_origin, responsible};
use super::xml::Incomplete;
use crate::profile::StackFrame;

/// Different records that are kept; Memcheck itself stops at as many.
const MOST_KEPT: usize = 1000;
/// Object files whose records are counted by themselves.
const MOST_FOLDED: usize = 256;
/// Records whose counts, which come at the end, find their way: 24 bytes each.
const MOST_COUNTED: usize = 1 << 20;
/// Where no frame names an object file, and where there are too many.
const ELSEWHERE: &str = "code without an object file";
const OTHERS: &str = "other libraries";

/// What the engine found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineFindings {
    /// Whether nothing was recorded besides.
    pub is_only: bool,
    /// Its version, as `3.19.0`.
    pub version: Option<String>,
    /// Records that touch the user's code, in the order in which they were made.
    pub records: Vec<EngineRecord>,
    /// Records of the user's beyond those that are kept.
    pub not_kept: u64,
    /// All other records, by object file, the most frequent first.
    pub folded: Vec<FoldedRecords>,
    /// Errors that were suppressed, by the name of the suppression.
    pub suppressed: Vec<(String, u64)>,
    /// The signal that ended the program.
    pub signal: Option<String>,
    /// Why what was read is not all that there is.
    pub incomplete: Option<Incomplete>,
}

/// What the engine says about a line of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineRecord {
    /// The kind, as Memcheck's XML names it: `UninitCondition`.
    pub kind: String,
    /// Memcheck's sentence.
    pub what: String,
    /// Where, innermost frame first.
    pub stack: Vec<StackFrame>,
    /// What it says besides.
    pub auxiliary: Vec<Auxiliary>,
    /// Bytes and blocks that are lost, of a leak.
    pub leaked: Option<(u64, u64)>,
    /// How often it happened.
    pub count: u64,
    /// Records of Memcheck's that are this one.
    pub records: u64,
}

/// Records that are nobody's of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldedRecords {
    /// The name of the object file.
    pub module: String,
    /// Why they are no errors, where that is known. Else it is that no frame of them is in the user's code.
    pub reason: Option<&'static str>,
    /// Records, by kind.
    pub kinds: BTreeMap<String, u64>,
    /// How often they happened.
    pub count: u64,
    /// Bytes that are lost.
    pub leaked: u64,
}

impl FoldedRecords {
    /// Records of every kind.
    pub fn records(&self) -> u64 {
        self.kinds.values().sum()
    }
}

/// Where a record went.
#[derive(Clone, Copy, Debug)]
enum Home {
    Kept(usize),
    Folded(usize),
}

/// What was read so far.
#[derive(Debug)]
pub(super) struct Fold<'a> {
    code: &'a UserCode,
    found: EngineFindings,
    kept: HashMap<String, usize>,
    /// By the number of a record: where it went, and how often it has counted.
    homes: HashMap<u64, (Home, u64)>,
}

impl<'a> Fold<'a> {
    pub(super) fn new(code: &'a UserCode) -> Self {
        Self { code, found: EngineFindings::default(), kept: HashMap::new(), homes: HashMap::new() }
    }

    pub(super) fn use_version(&mut self, version: &str) {
        self.found.version = Some(version.to_owned());
    }

    pub(super) fn end_by(&mut self, signal: String) {
        self.found.signal = Some(signal);
    }

    pub(super) fn add(&mut self, record: XmlRecord) {
        let unique = record.unique;
        let harmless = harmless_origin(&record);
        let is_kept = harmless.is_none() && self.code.has_part_in(&record);
        let home = if is_kept { self.keep(record) } else { Some(self.fold(&record, harmless)) };
        match home {
            Some(home) if self.homes.len() < MOST_COUNTED => {
                self.homes.insert(unique, (home, 1));
            }
            Some(_) => {}
            None => self.found.not_kept += 1,
        }
    }

    /// Every record counts once when it is read, and as often as it happened when that is said, which may be more than once.
    pub(super) fn count(&mut self, unique: Option<u64>, count: u64) {
        let Some((home, counted)) = unique.and_then(|unique| self.homes.get_mut(&unique)) else { return };
        let more = count.saturating_sub(*counted);
        *counted += more;
        match *home {
            Home::Kept(at) => self.found.records[at].count += more,
            Home::Folded(at) => self.found.folded[at].count += more,
        }
    }

    pub(super) fn suppress(&mut self, name: String, count: u64) {
        if self.found.suppressed.len() < MOST_KEPT {
            self.found.suppressed.push((name, count));
        }
    }

    fn keep(&mut self, record: XmlRecord) -> Option<Home> {
        let key = self.key(&record);
        if let Some(&at) = self.kept.get(&key) {
            let same = &mut self.found.records[at];
            (same.count, same.records) = (same.count + 1, same.records + 1);
            if let (Some(sum), Some(more)) = (&mut same.leaked, record.leaked) {
                *sum = (sum.0 + more.0, sum.1 + more.1);
            }
            return Some(Home::Kept(at));
        }
        if self.kept.len() == MOST_KEPT {
            return None;
        }
        let at = self.found.records.len();
        self.kept.insert(key, at);
        self.found.records.push(kept(record));
        Some(Home::Kept(at))
    }

    /// What makes two records one: the kind, and the lines of the user's code in all stacks. Two instructions of a line are one, two
    /// callers of a function are not.
    fn key(&self, record: &XmlRecord) -> String {
        let mut key = record.kind.clone();
        for stack in record.stacks() {
            key.push('\n');
            for frame in stack.iter().filter(|frame| self.code.is_own(frame)) {
                key.push_str(&line_of(frame));
                key.push('\t');
            }
        }
        key
    }

    fn fold(&mut self, record: &XmlRecord, reason: Option<&'static str>) -> Home {
        let at = self.folded_at(responsible(record).unwrap_or(ELSEWHERE), reason);
        let one = &mut self.found.folded[at];
        *one.kinds.entry(record.kind.clone()).or_default() += 1;
        one.count += 1;
        one.leaked += record.leaked.map_or(0, |(bytes, _)| bytes);
        Home::Folded(at)
    }

    fn folded_at(&mut self, module: &str, reason: Option<&'static str>) -> usize {
        let folded = &mut self.found.folded;
        let position = |folded: &[FoldedRecords], name: &str| {
            folded.iter().position(|one| one.module == name && one.reason == reason)
        };
        if let Some(at) = position(folded, module) {
            return at;
        }
        let name = if folded.len() < MOST_FOLDED { module } else { OTHERS };
        position(folded, name).unwrap_or_else(|| {
            folded.push(FoldedRecords { module: name.to_owned(), reason, ..FoldedRecords::default() });
            folded.len() - 1
        })
    }

    pub(super) fn finish(mut self, incomplete: Option<Incomplete>) -> EngineFindings {
        let order = |one: &FoldedRecords| (std::cmp::Reverse(one.records()), one.module.clone());
        self.found.folded.sort_by_cached_key(order);
        EngineFindings { incomplete, ..self.found }
    }
}

/// File and line; where these are not known the address.
fn line_of(frame: &XmlFrame) -> String {
    let function = frame.function.as_deref().unwrap_or_default();
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => {
            format!("{function} {}/{file}:{line}", frame.folder.as_deref().unwrap_or_default())
        }
        _ => format!("{function} {:#x}", frame.address),
    }
}

fn kept(record: XmlRecord) -> EngineRecord {
    let frames = |stack: &[XmlFrame]| stack.iter().map(XmlFrame::to_frame).collect();
    let auxiliary = record.auxiliary.iter();
    EngineRecord {
        auxiliary: auxiliary
            .map(|(what, stack)| Auxiliary { what: what.clone(), stack: frames(stack) })
            .collect(),
        stack: frames(&record.stack),
        kind: record.kind,
        what: record.what,
        leaked: record.leaked,
        count: 1,
        records: 1,
    }
}
