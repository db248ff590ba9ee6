//! Options of `heaplens memcheck` that are not known. Valgrind gets new ones with each version: a command line of its is not refused for one,
//! unless it looks like a known option misspelled.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The position of the option that clap stumbled over, where the command goes on without it.
pub(super) fn unknown_option_of_memcheck(error: &clap::Error, args: &[OsString]) -> Option<usize> {
    let is_memcheck = args.get(1).is_some_and(|command| command == "memcheck");
    let is_similar = error.get(ContextKind::SuggestedArg).is_some();
    if !is_memcheck || is_similar || error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let name = option.split('=').next().filter(|name| name.starts_with("--") && name.len() > 2)?;
    args.iter().position(|arg| {
        arg.to_str()
            .and_then(|arg| arg.strip_prefix(name))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })
}
