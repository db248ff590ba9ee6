//! `heaplens agent`: installs libheaplens.so, which `heaplens run` preloads, for programs that write heap profiles by themselves.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use heaplens_record::install_agent;

use crate::failure::Failure;
use crate::render::print;

/// `heaplens agent`. The path goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// Also create the symbolic link LINK to it; repeat after an upgrade to update the link
    #[arg(long, value_name = "LINK")]
    link: Option<PathBuf>,
}

/// Printed at the end of `heaplens agent --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens agent
  heaplens agent --link libheaplens.so          LD_PRELOAD=$PWD/libheaplens.so HEAPPROFILE=/tmp/profile python script.py";

/// Installs the library and prints its path.
pub(crate) fn agent(arguments: &AgentArguments, agent: &[u8]) -> Result<ExitCode, Failure> {
    let file = install_agent(agent).map_err(|error| Failure::new(error.to_string()))?;
    file.keep();
    if let Some(link) = &arguments.link {
        create_link(file.path(), link)?;
    }
    print(&[file.path().as_os_str().as_bytes(), b"\n"].concat())?;
    Ok(ExitCode::SUCCESS)
}

/// Replaces an existing symbolic link, but no other file.
fn create_link(path: &Path, link: &Path) -> Result<(), Failure> {
    let created = match link.symlink_metadata() {
        Ok(about) if about.is_symlink() => std::fs::remove_file(link).and_then(|()| symlink(path, link)),
        _ => symlink(path, link),
    };
    created
        .map_err(|error| Failure::new(format!("cannot create the symbolic link {}: {error}", link.display())))
}
