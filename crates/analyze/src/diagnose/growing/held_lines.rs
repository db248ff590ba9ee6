//! What lines hold when a process ends, and which of them started the threads that are left: what is known without any
//! moment in between.

use rustc_hash::FxHashMap;

use super::site_sum::line_key;
use crate::profile::{Category, LineKey, Measure, SiteKind, SiteProfile, Stacks, thread_start};

/// What the lines of the heap hold at the end, each with its heaviest site and with all of them.
pub(crate) fn held_by_lines(stacks: &Stacks, sites: &[SiteProfile]) -> Vec<(Measure, usize, Vec<usize>)> {
    let mut lines: FxHashMap<Option<LineKey<'_>>, (Measure, usize, Vec<usize>)> = FxHashMap::default();
    for (at, site) in sites.iter().enumerate().filter(|(_, site)| site.category() == Category::Heap) {
        // Sites come by what they held: the first of a line is its heaviest.
        let line = lines.entry(stacks.line(site.stack).map(line_key)).or_insert((
            Measure::default(),
            at,
            Vec::new(),
        ));
        line.0.bytes += site.held.bytes;
        line.0.blocks += site.held.blocks;
        line.2.push(at);
    }
    lines.into_values().collect()
}

/// Whether a block was made by the C library for a thread that it starts. It makes one for each stack, which is given back
/// with the stack: when the thread is joined, or ends and need not be.
pub(crate) fn starts_thread(site: &SiteProfile, stacks: &Stacks) -> bool {
    site.kind == SiteKind::Heap && thread_start(stacks.frames(site.stack)).is_some()
}

/// The line that started most of the threads whose stacks are left at the end: its heaviest site, all of its sites, and how
/// many stacks that are.
pub(crate) fn most_threads(stacks: &Stacks, sites: &[SiteProfile]) -> Option<(usize, Vec<usize>, u64)> {
    let mut lines: FxHashMap<Option<LineKey<'_>>, (usize, Vec<usize>, u64)> = FxHashMap::default();
    for (at, site) in sites.iter().enumerate().filter(|(_, site)| starts_thread(site, stacks)) {
        let line = lines.entry(stacks.line(site.stack).map(line_key)).or_insert((at, Vec::new(), 0));
        line.1.push(at);
        line.2 += site.held.blocks;
    }
    lines
        .into_values()
        .max_by_key(|(representative, _, threads)| (*threads, std::cmp::Reverse(*representative)))
}
