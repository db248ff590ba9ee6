//! Starting the command, under the agent or bare.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use heaplens_format::Pid;
use heaplens_format::environment::PRELOAD;

use super::environment::{Preload, set_environment};
use crate::os::HeldSignals;

/// Starts `program` with the words of `command`. It is a child of this process and has the signal mask that the recorder started with.
pub(crate) fn spawn(
    program: &Path,
    command: &[OsString],
    preload: Option<&Preload>,
    signals: &HeldSignals,
) -> io::Result<Pid> {
    let mut direct = Command::new(program);
    direct.arg0(&command[0]).args(&command[1..]);
    match start(direct, preload, signals) {
        Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => {
            start(through_shell(program, command), preload, signals)
        }
        started => started,
    }
}

/// A text file without `#!` is a script for the shell: execvp and every shell do the same.
fn through_shell(program: &Path, command: &[OsString]) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg(program).args(&command[1..]);
    shell
}

fn start(mut command: Command, preload: Option<&Preload>, signals: &HeldSignals) -> io::Result<Pid> {
    if let Some(preload) = preload {
        set_environment(&mut command, preload, env::var_os(PRELOAD));
    }
    signals.release_in(&mut command);
    command.spawn().map(|child| Pid::new(child.id()))
}
