//! What grows in a process: its lines and the causes that take memory from them, its threads, its mappings; and the findings that
//! these make. Which causes there are is not known here, rules say it.

mod causes;
mod counted;
mod findings;
mod held_lines;
mod mappings;
mod overhead;
mod residency;
mod site_sum;
mod sites;
mod threads;

pub(super) use causes::Cause;
pub(super) use findings::{
    GrowingLine, given_up, lines, of_lines, of_mapping, of_seconds, of_threads, together,
};
pub(super) use held_lines::{held_by_lines, most_threads};
pub(super) use mappings::growing as growing_mappings;
pub(super) use overhead::Overhead;
pub(super) use sites::GrowingSites;
pub(super) use threads::ThreadCounts;
