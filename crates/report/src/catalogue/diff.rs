//! The two sides of a comparison, and in a sentence each what keeps them from being compared.

use heaplens_analyze::diff::{Note, Side};
use heaplens_format::Bytes;

use super::number::size;
use super::wording::one_line;

/// One side of a comparison, and the file that it comes from.
pub type RecordingSide<'a> = (&'a str, &'a Side);

/// What a comparison lacks, in one sentence.
pub(crate) fn sentence(note: &Note) -> String {
    let side = |is_first: bool| if is_first { "first" } else { "second" };
    match note {
        Note::OtherPrograms { from, to } => format!(
            "these are recordings of two programs, {} and {}: only lines of the same name are compared",
            one_line(from),
            one_line(to)
        ),
        Note::OtherSampling { from, to } => {
            let how = |interval: &Option<Bytes>| match interval {
                Some(interval) => format!("sampled every {} on average", size(*interval)),
                None => "recorded exactly".to_owned(),
            };
            format!(
                "the first was {}, the second {}: what is sampled is an estimate, and a difference within its margin is left out",
                how(from),
                how(to)
            )
        }
        Note::ObjectsOnOneSide { is_first } => format!(
            "small Python objects were recorded in the {} only: they are left out",
            side(*is_first)
        ),
        Note::NoLedger { from: false, to: false } => "neither has a ledger".to_owned(),
        Note::NoLedger { from, .. } => {
            format!("the {} has no ledger: none is compared", side(!from))
        }
        Note::NoLedgerBetween => "no ledger was read between the two moments: none is compared".to_owned(),
        Note::OtherEnds => {
            "one program waited at its end for its ledger to be read, the other did not: what it frees at its end is in the difference of the ledgers".to_owned()
        }
        Note::OneEndOfScript { is_first } => format!(
            "the end of the script is known of the {} only: what Python frees between there and its exit is in the difference",
            side(*is_first)
        ),
        Note::NearestPass { asked } => {
            format!("what was held at pass {asked} is not kept: the nearest pass that is stands for it")
        }
        Note::Damaged { from: true, to: true } => "both recordings are damaged: what is lost is in neither".to_owned(),
        Note::Damaged { from, .. } => {
            format!("the {} recording is damaged: what is lost seems to have changed", side(*from))
        }
    }
}
