//! Definitely lost blocks, in a few lines of the page.

use std::io;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{LeakRecord, Leaks};
use heaplens_format::recording::{Amount, LeakKind};

use super::page::Page;
use crate::catalogue::number::{count, size};
use crate::catalogue::stack::label::NO_STACK;
use crate::catalogue::stack::location::frame_text;
use crate::catalogue::wording::{amount_words, plural, plural_count};

/// Stacks that are named.
const SHOWN: usize = 3;

/// `run` leaves memory as the program does; `memcheck` clears blocks, so that no old word looks like a pointer.
const MAY_BE_MORE: &str = "old pointers in reused memory can hide more; heaplens memcheck clears such memory";

/// Writes what is lost, if anything is that matters, or why that is not known. In a sampled run it never is.
pub(super) fn write(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    if let (Some(Leaks::NotDone(why)), None) = (&profile.leaks, profile.run.sample_interval) {
        page.line("")?;
        return page.wrapped("  No leak check: ", why);
    }
    let definite = profile.lost(LeakKind::DefinitelyLost);
    let is_reported = definite.blocks > 0 && profile.lost_below_floor().is_none();
    let (Some(Leaks::Done(records)), true) = (&profile.leaks, is_reported) else { return Ok(()) };
    page.title(&headline(definite, profile.lost(LeakKind::IndirectlyLost)))?;
    let lost: Vec<&LeakRecord> =
        records.iter().filter(|record| record.kind == LeakKind::DefinitelyLost).collect();
    for record in lost.iter().take(SHOWN) {
        write_record(profile, record, page)?;
    }
    let more = lost.len().saturating_sub(SHOWN) as u64;
    if more > 0 {
        page.line(&format!("  {:>10}   {} more {}", "", count(more), plural(more, "stack")))?;
    }
    page.line(&format!("  {:>10}   {MAY_BE_MORE}", ""))
}

fn headline(definite: Amount, indirect: Amount) -> String {
    let own = format!("Definitely lost: at least {}", amount_words(definite));
    if indirect.blocks == 0 { own } else { format!("{own} · indirectly lost: {}", amount_words(indirect)) }
}

fn write_record(profile: &Profile, record: &LeakRecord, page: &mut Page<'_>) -> io::Result<()> {
    let front = format!(
        "  {:>10}   {:>14}   ",
        size(record.direct.bytes),
        plural_count(record.direct.blocks, "block")
    );
    let room = page.options.width.saturating_sub(front.chars().count());
    let line = profile.line_of(record.stack).or_else(|| profile.frames(record.stack).next());
    page.line(&format!(
        "{front}{}",
        line.map_or_else(|| NO_STACK.to_owned(), |frame| frame_text(frame, room))
    ))
}
