//! Parts of the program whose leaks were checked.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{Category, CheckedAt, LeftAs, PassEnd, SectionLine, SectionProfile};
use heaplens_format::recording::{Amount, LeakKind};

use super::lost::{AmountFields, amount};
use super::{FrameFields, MOST_FRAMES, Stack, frame};
use crate::catalogue::reference_path::step_text;
use crate::catalogue::sections::is_lost;

#[derive(serde::Serialize)]
pub(super) struct SectionFields<'a> {
    name: &'a str,
    /// Where it was opened first; `null` where that is not known.
    file: Option<&'a str>,
    line: Option<u32>,
    passes: u64,
    /// Whether it ended before the process did.
    ended: bool,
    /// Of the heap, in all passes.
    allocated: AmountFields,
    freed: AmountFields,
    /// Left of it at the end of the last pass.
    left: AmountFields,
    /// Small objects of Python, estimated unless all were recorded; `null` where there are none.
    python_objects: Option<ObjectFields>,
    /// What passes had left at their ends: of the heap and of Python's objects.
    ends: Vec<EndFields>,
    bytes_per_pass: Option<f64>,
    checked: CheckFields<'a>,
    lost: Vec<LeftLineFields<'a>>,
    held: Vec<LeftLineFields<'a>>,
    suppressed: AmountFields,
    /// Lines that are not written, for their stacks would be gigabytes.
    lines_omitted: usize,
}

#[derive(serde::Serialize)]
struct ObjectFields {
    allocated: AmountFields,
    left: AmountFields,
}

#[derive(serde::Serialize)]
struct EndFields {
    pass: u64,
    bytes: u64,
    blocks: u64,
    /// What this pass left itself; less than zero where it freed what earlier ones had left.
    added_bytes: i64,
    added_blocks: i64,
}

/// When the blocks were looked for.
#[derive(serde::Serialize)]
struct CheckFields<'a> {
    /// `pass`, `exit` or `null`.
    at: Option<&'static str>,
    pass: Option<u64>,
    /// Why they were not looked for.
    not_done: Option<&'a str>,
}

#[derive(serde::Serialize)]
struct LeftLineFields<'a> {
    bytes: u64,
    blocks: u64,
    /// What became of them: a leak kind, `unreferenced`, `garbage`, `held` or `unknown`.
    kind: &'static str,
    category: &'static str,
    location: Option<FrameFields<'a>>,
    /// The reference path of what holds them, from its root on; `null` where none is known.
    held_by: Option<Vec<String>>,
    stack: Stack<'a>,
}

pub(super) fn sections(profile: &Profile) -> Vec<SectionFields<'_>> {
    profile.sections.iter().map(|section| section_fields(profile, section)).collect()
}

fn section_fields<'a>(profile: &'a Profile, section: &'a SectionProfile) -> SectionFields<'a> {
    let (heap, objects) = (section.of(Category::Heap), section.of(Category::Objects));
    let written = &section.lines[..leading(profile, section)];
    let lines = |wanted: bool| {
        let wanted = written.iter().filter(move |line| is_lost(line) == wanted);
        wanted.map(|line| line_fields(profile, section, line)).collect()
    };
    let begun = section.begun.as_ref();
    SectionFields {
        name: &section.name,
        file: begun.and_then(|frame| frame.file.as_deref()),
        line: begun.and_then(|frame| frame.line),
        passes: section.passes,
        ended: !section.is_open,
        allocated: amount(heap.allocated),
        freed: amount(heap.freed()),
        left: amount(heap.left),
        python_objects: (objects.allocated != Amount::default())
            .then(|| ObjectFields { allocated: amount(objects.allocated), left: amount(objects.left) }),
        ends: section.ends.iter().map(end).collect(),
        bytes_per_pass: section.bytes_per_pass(),
        checked: checked(&section.checked),
        lost: lines(true),
        held: lines(false),
        suppressed: amount(section.suppressed),
        lines_omitted: section.lines.len() - written.len(),
    }
}

/// How many lines are written: until the frames are used up.
fn leading(profile: &Profile, section: &SectionProfile) -> usize {
    let mut frames = 0;
    let fits = |line: &&SectionLine| {
        frames += profile.frames(line.stack).count();
        frames < MOST_FRAMES
    };
    section.lines.iter().take_while(fits).count()
}

fn end(end: &PassEnd) -> EndFields {
    let added = |left: u64, before: u64| left.wrapping_sub(before) as i64;
    EndFields {
        pass: end.pass,
        bytes: end.left.bytes.get(),
        blocks: end.left.blocks,
        added_bytes: added(end.left.bytes.get(), end.before.bytes.get()),
        added_blocks: added(end.left.blocks, end.before.blocks),
    }
}

fn checked(at: &CheckedAt) -> CheckFields<'_> {
    let (at, pass, not_done) = match at {
        CheckedAt::Never => (None, None, Some("no heap snapshot was taken at its end")),
        CheckedAt::NotDone(why) => (None, None, Some(why.as_str())),
        CheckedAt::Pass(pass) => (Some("pass"), Some(*pass), None),
        CheckedAt::Exit => (Some("exit"), None, None),
    };
    CheckFields { at, pass, not_done }
}

fn line_fields<'a>(
    profile: &'a Profile,
    section: &'a SectionProfile,
    line: &SectionLine,
) -> LeftLineFields<'a> {
    let steps = section.holder(line);
    LeftLineFields {
        bytes: line.amount.bytes.get(),
        blocks: line.amount.blocks,
        kind: match line.left_as {
            LeftAs::Lost(LeakKind::DefinitelyLost) => "definitely",
            LeftAs::Lost(LeakKind::IndirectlyLost) => "indirectly",
            LeftAs::Lost(LeakKind::PossiblyLost) => "possibly",
            LeftAs::Lost(LeakKind::StillReachable) | LeftAs::Held => "held",
            LeftAs::Unreferenced => "unreferenced",
            LeftAs::Garbage => "garbage",
            LeftAs::Unknown => "unknown",
        },
        category: line.category.row().key,
        location: profile.line_of(line.stack).map(frame),
        held_by: (!steps.is_empty()).then(|| steps.iter().map(|step| step_text(step)).collect()),
        stack: Stack(profile, line.stack),
    }
}
