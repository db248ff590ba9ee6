//! The two sides of a comparison, and the limits of the comparison, a sentence each.

use heaplens_analyze::diff::{Note, Side};
use heaplens_format::Bytes;

use super::number::size;
use super::wording::one_line;

/// One side of a comparison, and the file that it comes from.
pub type RecordingSide<'a> = (&'a str, &'a Side);

/// A limit of the comparison, in one sentence.
pub(crate) fn sentence(note: &Note) -> String {
    let side = |is_first: bool| if is_first { "first" } else { "second" };
    match note {
        Note::OtherPrograms { from, to } => format!(
            "the recordings are of different programs, {} and {}: only lines with the same name are compared",
            one_line(from),
            one_line(to)
        ),
        Note::OtherSampling { from, to } => {
            let how = |interval: &Option<Bytes>| match interval {
                Some(interval) => format!("sampled every {} on average", size(*interval)),
                None => "recorded exactly".to_owned(),
            };
            format!(
                "the first was {}, the second {}: sampled values are estimates, and differences within their margin are omitted",
                how(from),
                how(to)
            )
        }
        Note::ObjectsOnOneSide { is_first } => format!(
            "only the {} recording has small Python objects: they are omitted",
            side(*is_first)
        ),
        Note::NoLedger { from: false, to: false } => "neither recording has a ledger".to_owned(),
        Note::NoLedger { from, .. } => {
            format!("the {} recording has no ledger: ledgers are not compared", side(!from))
        }
        Note::NoLedgerBetween => "no ledger was read between the two moments: ledgers are not compared".to_owned(),
        Note::OtherEnds => {
            "only one of the ledgers was read at exit: what the other program freed while exiting shows as a difference".to_owned()
        }
        Note::OneEndOfScript { is_first } => format!(
            "the end of the script is known for the {} recording only: what Python frees between that and exit shows as a difference",
            side(*is_first)
        ),
        Note::NearestIteration { asked } => {
            format!("pass {asked} was not kept: the nearest pass that was is used instead")
        }
        Note::Damaged { from: true, to: true } => "both recordings are damaged: lost data is missing from both".to_owned(),
        Note::Damaged { from, .. } => {
            format!("the {} recording is damaged: lost data shows as a change", side(*from))
        }
    }
}
