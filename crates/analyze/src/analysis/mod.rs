//! What a report reads about the processes of a run: their profiles and diagnoses as one, summed and sorted, the worst of them and
//! the tree as a whole. It formats nothing.

mod analyse;
mod engine;
mod errors;
mod findings;
mod floor;
mod imports;
mod leaks;
mod lost;
mod profile;
mod tree;

pub(crate) use analyse::profile_at;
pub use analyse::{main_process, process_profile, profile, profile_by};
pub use findings::{HolderOf, remarks};
pub use imports::{ImportCost, ImportedModule, imports};
pub use profile::Profile;
pub use tree::{Member, ProcessGroup, TreeLoss};
