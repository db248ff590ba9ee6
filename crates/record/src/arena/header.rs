//! Reads the header of an arena, as the recorder does every 20 ms while the process runs. It never reads a whole table.

use std::fs::File;
use std::os::unix::fs::FileExt;

use heaplens_format::arena::header::{FLAG_FORKED, FLAG_LEAVING, HEADER_SIZE, RegionView};
use heaplens_format::arena::marks::LOOP_SIZE;
use heaplens_format::arena::{End, HeaderView, Region};
use heaplens_format::recording::LedgerMoment;
use heaplens_format::{Bytes, Nanos, Pid};

use super::error::ArenaError;
use super::records::word;

/// The counters of an arena at one moment.
#[derive(Clone, Copy, Debug)]
pub struct HeaderReading {
    /// The process.
    pub pid: Pid,
    /// Its parent when the arena was made.
    pub parent: Pid,
    /// Live heap bytes.
    pub live: Bytes,
    /// Their peak.
    pub peak: Bytes,
    /// Heaplens's own resident memory in the process.
    pub own_bytes: Bytes,
    /// How the program image ended.
    pub end: End,
    /// Whether the program is exiting.
    pub is_leaving: bool,
    /// Whether it began by `fork`.
    pub is_forked: bool,
    /// When it began, on the monotonic clock.
    pub start: Nanos,
    /// Loops of Python that were found so far.
    pub loops: u32,
    /// Whether it runs an interpreter.
    pub has_python: bool,
    /// Modules of packages that were seen to be imported.
    pub imports: u32,
    /// How many marks there are.
    pub marks: u32,
    /// The table of their records.
    pub mark_records: RegionView,
    /// The table of changes: what sites had at marks.
    pub changes: RegionView,
    /// The table of strings, such as labels of marks.
    pub strings: RegionView,
    /// The moment of the ledger that the agent waits for; `None` when it waits for none.
    pub ledger_wanted: Option<LedgerMoment>,
    /// Heap snapshots that it has asked for so far.
    pub snapshots_wanted: u32,
    /// The one of these that is wanted because a loop is over.
    pub snapshot_of_loop: u32,
    /// The number of the leak check that it waits for.
    pub leak_check_wanted: Option<u32>,
    /// Whether there are canaries behind its blocks.
    pub has_canaries: bool,
}

/// Reads the counters alone: one `pread` of the header.
pub fn read_header(file: &File) -> Result<HeaderReading, ArenaError> {
    let bytes = header_bytes(file)?;
    let header = HeaderView::new(&bytes).ok_or(ArenaError::NotAnArena)?;
    Ok(HeaderReading {
        pid: Pid::new(header.pid()),
        parent: Pid::new(header.parent()),
        live: Bytes::new(header.live_bytes()),
        peak: Bytes::new(header.peak_bytes()),
        own_bytes: Bytes::new(header.reserved_bytes().saturating_add(header.private_bytes())),
        end: header.end(),
        is_leaving: header.flags() & FLAG_LEAVING != 0,
        is_forked: header.flags() & FLAG_FORKED != 0,
        start: Nanos::new(header.start_ns()),
        loops: (header.region(Region::Loops).used / LOOP_SIZE as u64) as u32,
        has_python: header.python() != 0,
        imports: header.imports(),
        marks: header.moment().mark(),
        mark_records: header.region(Region::Marks),
        changes: header.region(Region::Changes),
        strings: header.region(Region::Strings),
        ledger_wanted: ledger_wanted(&header),
        leak_check_wanted: Some(header.leak_checks_wanted())
            .filter(|&wanted| wanted > header.leak_checks_made()),
        snapshots_wanted: header.snapshots_wanted(),
        snapshot_of_loop: header.snapshot_of_loop(),
        has_canaries: header.canary_families() != 0,
    })
}

/// The most loops that are read while the program runs.
const MOST_LOOPS: u64 = 4096;

/// The records of the first loops, as they are now.
pub(crate) fn read_loops(file: &File) -> Result<Vec<u8>, ArenaError> {
    let bytes = header_bytes(file)?;
    let header = HeaderView::new(&bytes).ok_or(ArenaError::NotAnArena)?;
    let RegionView { offset, used, .. } = header.region(Region::Loops);
    let mut records = vec![0; used.min(MOST_LOOPS * LOOP_SIZE as u64) as usize];
    file.read_exact_at(&mut records, offset)?;
    Ok(records)
}

fn ledger_wanted(header: &HeaderView<'_>) -> Option<LedgerMoment> {
    let wanted = header.ledger_wanted();
    let moment = LedgerMoment::from_number(wanted.into()).filter(|&moment| moment != LedgerMoment::Running);
    moment.filter(|_| wanted != header.ledger_given())
}

pub(super) fn header_bytes(file: &File) -> Result<Vec<u8>, ArenaError> {
    let mut bytes = vec![0; HEADER_SIZE];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) if word(&bytes, 0) == 0 => Err(ArenaError::Unborn),
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => short_file(file),
        Err(error) => Err(error.into()),
    }
}

fn short_file(file: &File) -> Result<Vec<u8>, ArenaError> {
    Err(if file.metadata()?.len() == 0 { ArenaError::Unborn } else { ArenaError::NotAnArena })
}
