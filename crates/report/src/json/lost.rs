//! The leak check: which blocks were reachable at the end.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{LeakRecord, Leaks, leaked};
use heaplens_format::recording::{Amount, LeakKind};

use super::{MOST_FRAMES, Stack};

#[derive(serde::Serialize)]
pub(super) struct LostFields<'a> {
    /// This and the next are `null` where there was no leak check.
    definitely: Option<AmountFields>,
    indirectly: Option<AmountFields>,
    possibly: Option<AmountFields>,
    still_reachable: Option<AmountFields>,
    /// Python objects that nobody holds though they count references, and what only these lead to; `null` where that is not known.
    unreferenced: Option<AmountFields>,
    suppressed: AmountFields,
    /// Whether what is definitely lost is too little to matter: only libraries lost it, and it is below the floor.
    below_floor: bool,
    /// Why there was no leak check; then there are no records.
    not_done: Option<&'a str>,
    records: Vec<RecordFields<'a>>,
    /// Those that are not written, for their stacks would be gigabytes.
    records_omitted: usize,
}

#[derive(serde::Serialize)]
pub(super) struct AmountFields {
    bytes: u64,
    blocks: u64,
}

#[derive(serde::Serialize)]
struct RecordFields<'a> {
    kind: &'static str,
    bytes: u64,
    blocks: u64,
    indirect_bytes: u64,
    indirect_blocks: u64,
    stack: Stack<'a>,
}

/// The leak check of another process than the one that the report is about.
#[derive(serde::Serialize)]
pub(super) struct OtherFields<'a> {
    pid: u32,
    command: String,
    lost: Option<LostFields<'a>>,
}

/// Those of other processes that were inspected, or should have been.
pub(super) fn in_others(others: &[Profile]) -> Vec<OtherFields<'_>> {
    let checked = others.iter().filter(|profile| profile.leaks.is_some());
    checked.filter_map(other).collect()
}

fn other(profile: &Profile) -> Option<OtherFields<'_>> {
    let row = profile.shown()?;
    Some(OtherFields { pid: row.pid.get(), command: row.command.join(" "), lost: lost(profile) })
}

pub(super) fn lost(profile: &Profile) -> Option<LostFields<'_>> {
    let (records, not_done) = match profile.leaks.as_ref()? {
        Leaks::Done(records) => (records.as_slice(), None),
        Leaks::NotDone(reason) => (&[][..], Some(reason.as_str())),
    };
    let total = |kind| not_done.is_none().then(|| amount(leaked(records, kind)));
    let written = leading(profile, records);
    Some(LostFields {
        definitely: total(LeakKind::DefinitelyLost),
        indirectly: total(LeakKind::IndirectlyLost),
        possibly: total(LeakKind::PossiblyLost),
        still_reachable: total(LeakKind::StillReachable),
        unreferenced: profile.unreferenced().map(amount),
        suppressed: amount(profile.suppressed.iter().map(|(_, amount)| *amount).sum()),
        below_floor: profile.lost_below_floor().is_some(),
        not_done,
        records: records[..written].iter().map(|record| fields(profile, record)).collect(),
        records_omitted: records.len() - written,
    })
}

/// How many records are written: the worst first, until the frames are used up.
fn leading(profile: &Profile, records: &[LeakRecord]) -> usize {
    let mut frames = 0;
    let fits = |record: &&LeakRecord| {
        frames += profile.frames(record.stack).count();
        frames < MOST_FRAMES
    };
    records.iter().take_while(fits).count()
}

pub(super) fn amount(amount: Amount) -> AmountFields {
    AmountFields { bytes: amount.bytes.get(), blocks: amount.blocks }
}

fn fields<'a>(profile: &'a Profile, record: &LeakRecord) -> RecordFields<'a> {
    RecordFields {
        kind: match record.kind {
            LeakKind::DefinitelyLost => "definitely",
            LeakKind::IndirectlyLost => "indirectly",
            LeakKind::PossiblyLost => "possibly",
            LeakKind::StillReachable => "still_reachable",
        },
        bytes: record.direct.bytes.get(),
        blocks: record.direct.blocks,
        indirect_bytes: record.indirect.bytes.get(),
        indirect_blocks: record.indirect.blocks,
        stack: Stack(profile, record.stack),
    }
}
