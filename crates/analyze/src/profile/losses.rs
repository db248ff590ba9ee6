//! What a report must admit about the process: what the agent counted, and which stacks are cut.

use std::collections::BTreeMap;

use heaplens_format::Loss;
use heaplens_format::recording::Process;
use rustc_hash::FxHashSet;

use super::stacks::{Cut, StackId};
use super::{SiteProfile, Stacks};

/// One line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossLine {
    /// A plural noun phrase.
    pub what: String,
    /// How many.
    pub count: u64,
    /// Out of how many, where that is known.
    pub of: Option<u64>,
}

/// The losses of a process, the gravest kinds of the agent first.
pub(crate) fn losses(process: &Process, sites: &[SiteProfile], stacks: &Stacks) -> Vec<LossLine> {
    let counted = process.losses.iter().filter(|(loss, count)| *count > 0 && !is_cut(*loss));
    let mut lines: Vec<_> =
        counted.map(|&(loss, count)| LossLine { what: loss.words().to_owned(), count, of: None }).collect();
    lines.extend(cut_stacks(sites, stacks));
    lines
}

/// Whether the trie itself says it, stack by stack: a count of events by the agent would be the same fact twice.
fn is_cut(loss: Loss) -> bool {
    matches!(loss, Loss::StackNoUnwindInfo | Loss::StackTooDeep | Loss::StackBroken | Loss::ModuleLost)
}

fn cut_stacks(sites: &[SiteProfile], stacks: &Stacks) -> Vec<LossLine> {
    let distinct: FxHashSet<StackId> = sites.iter().map(|site| site.stack).collect();
    let mut counts = BTreeMap::new();
    for cut in distinct.iter().filter_map(|&stack| stacks.cut(stack)) {
        *counts.entry(cut).or_insert(0) += 1;
    }
    let of = Some(distinct.len() as u64);
    let line = |(cut, count)| LossLine { what: loss_of(cut).words().to_owned(), count, of };
    counts.into_iter().map(line).collect()
}

fn loss_of(cut: Cut) -> Loss {
    match cut {
        Cut::NoUnwindInfo => Loss::StackNoUnwindInfo,
        Cut::TooDeep => Loss::StackTooDeep,
        Cut::Broken => Loss::StackBroken,
        Cut::NoModule => Loss::ModuleLost,
    }
}
