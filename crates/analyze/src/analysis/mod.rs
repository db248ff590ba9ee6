//! What a report reads about one process of a run: its profile and its diagnosis as one, summed and sorted. It formats
//! nothing.

mod analyse;
mod findings;
mod leaks;
mod profile;

pub(crate) use analyse::profile_at;
pub use analyse::{profile, profile_by};
pub use findings::remarks;
pub use profile::Profile;
