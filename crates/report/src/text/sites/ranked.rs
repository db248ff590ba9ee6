//! The same ranking for outputs that are laid out in another way.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{Category, Measure};

use super::{Name, Place, SHOWN_BRIEFLY, lines, share, source, table, title_of, words};

/// A row of a table, in words.
pub(crate) struct Ranked {
    pub(crate) measure: Measure,
    pub(crate) share: String,
    /// The place itself, then how the program came there.
    pub(crate) lines: Vec<String>,
    pub(crate) source: Option<String>,
    /// Stacks that meet there.
    pub(crate) stacks: u64,
}

/// What is live at last, in words.
pub(crate) struct Ranking {
    pub(crate) title: &'static str,
    /// The heaviest places, each with a thousandth of the whole at least.
    pub(crate) rows: Vec<Ranked>,
    /// How many others there are.
    pub(crate) others: usize,
}

/// Up to so many of the heaviest places, for an output with this room in a line.
pub(crate) fn ranked(profile: &Profile, category: Category, top: usize, room: usize) -> Ranking {
    let title = title_of(profile, category);
    let table = table(title, category, |site| site.held, profile.total(category).held, top);
    let row = |(name, place): &(Name<'_>, Place<'_>)| {
        let lines = lines(profile, place.heaviest, name, SHOWN_BRIEFLY);
        Ranked {
            measure: place.measure,
            share: share(place.measure.bytes, table.total.bytes),
            source: lines.first().and_then(|line| source(line, profile)),
            lines: lines.iter().map(|line| words(line, room)).collect(),
            stacks: place.stacks,
        }
    };
    let places = table.group(profile, |site| Some(Name::of(profile, site)));
    let is_heavy = |(_, place): &&(_, Place<'_>)| 1000 * place.measure.bytes.get() >= table.total.bytes.get();
    let rows: Vec<Ranked> = places.iter().take(top).take_while(is_heavy).map(row).collect();
    Ranking { title, others: places.len() - rows.len(), rows }
}
