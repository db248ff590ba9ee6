//! `heaplens agent`: the library that `heaplens run` preloads, for programs that write heap profiles by themselves.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use heaplens_record::place_agent;

use crate::failure::Failure;
use crate::render::print;

/// `heaplens agent`. The path goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// Make LINK lead to it, too: a name that stays when heaplens is upgraded and the link made again
    #[arg(long, value_name = "LINK")]
    link: Option<PathBuf>,
}

/// What `heaplens agent --help` ends with.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens agent
  heaplens agent --link libheaplens.so          LD_PRELOAD=$PWD/libheaplens.so HEAPPROFILE=/tmp/profile python script.py";

/// Puts the library into its place and prints where that is.
pub(crate) fn agent(arguments: &AgentArguments, agent: &[u8]) -> Result<ExitCode, Failure> {
    let file = place_agent(agent).map_err(|error| Failure::new(error.to_string()))?;
    file.keep();
    if let Some(link) = &arguments.link {
        make_link(file.path(), link)?;
    }
    print(&[file.path().as_os_str().as_bytes(), b"\n"].concat())?;
    Ok(ExitCode::SUCCESS)
}

/// A link that is there already is replaced; a file of another kind is not.
fn make_link(path: &Path, link: &Path) -> Result<(), Failure> {
    let made = match link.symlink_metadata() {
        Ok(about) if about.is_symlink() => std::fs::remove_file(link).and_then(|()| symlink(path, link)),
        _ => symlink(path, link),
    };
    made.map_err(|error| Failure::new(format!("cannot make the link {}: {error}", link.display())))
}
