//! The page that a user sees first: how the run ended, how much memory, which sites, what was lost, what it cost.
//! Short and ranked; everything is in the JSON.

pub mod diagnose;
pub mod diff;
mod engine;
mod errors;
mod findings;
mod footer;
mod header;
pub mod heap;
pub mod import_tree;
mod imports;
mod leak_options;
pub mod leaks;
mod ledger;
mod lost;
mod page;
mod sections;
mod sites;

use std::io::{self, Write};

use heaplens_analyze::Profile;

pub use crate::catalogue::number::{count, size};
pub use page::Options;
use page::Page;

/// Writes the page without colour, for a file or a pipe.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    write_with(profile, Options::default(), out)
}

/// Writes the page.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_with(profile: &Profile, options: Options, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { options, out };
    header::write_command(profile, &mut page)?;
    if profile.pid.is_none() {
        page.line("")?;
        page.line("  Nothing was recorded.")?;
        return if profile.damage.is_empty() { Ok(()) } else { footer::write_losses(profile, &mut page) };
    }
    findings::write(profile, &mut page)?;
    header::write_figures(profile, &mut page)?;
    ledger::write(profile, &mut page)?;
    lost::write(profile, &mut page)?;
    sections::write(profile, &mut page)?;
    sites::write(profile, &mut page)?;
    footer::write_other_processes(profile, &mut page)?;
    footer::write_losses(profile, &mut page)?;
    footer::write_cost(profile, &mut page)
}
