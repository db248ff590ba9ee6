//! The environment by which the agent is loaded and gets its options. It is set for the child alone.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use heaplens_format::Bytes;
use heaplens_format::environment::{
    AGENT, CHECKS, Checks, DIRECTORY, FINALIZE, GUARDED_CODE, IMPORTS, Imports, LEAK_CHECK, LEAK_CHECK_FROM,
    LEAK_CHECK_TO, MEMCHECK, NO_FOLLOW, NO_FRAMEWORKS, OBJECTS, Objects, PASSIVE, PRELOAD, SAMPLE,
};

/// The options of the agent, which go through the environment.
#[derive(Debug)]
pub(crate) struct Preload {
    /// The library.
    pub(crate) agent: PathBuf,
    /// Where arenas go.
    pub(crate) directory: PathBuf,
    /// Mean distance of samples; `None`: every allocation.
    pub(crate) sample: Option<Bytes>,
    /// Which small objects of Python are recorded.
    pub(crate) objects: Objects,
    /// What is kept of stacks inside imports.
    pub(crate) imports: Imports,
    /// Whether programs that the command starts are recorded too.
    pub(crate) follow: bool,
    /// Whether the reclaim test is off.
    pub(crate) passive: bool,
    /// Whether framework integration is on.
    pub(crate) frameworks: bool,
    /// After how many runs of a session its graph is finalized.
    pub(crate) finalize_graph: Option<u32>,
    /// Whether stacks of frees are kept and arguments are checked.
    pub(crate) memcheck: bool,
    /// What else is done to find memory errors.
    pub(crate) checks: Checks,
    /// The code whose blocks are guarded.
    pub(crate) guarded_code: String,
    /// The labels of the marks between which leaks are checked: the first and the last.
    pub(crate) leak_check: Option<[String; 2]>,
    /// Whether the allocator overwrites old contents of blocks.
    pub(crate) clean_blocks: bool,
    /// Whether leaks are looked for at the end of every process.
    pub(crate) inspects_every_end: bool,
}

/// glibc's tunables. `perturb` is a byte that fills freed blocks, and whose complement fills allocated ones. Blocks of the per-thread
/// cache are not filled: the agent clears them. Without the cache a program that writes behind a small block would end otherwise.
const TUNABLES: &str = "GLIBC_TUNABLES";
const CLEAN_BLOCKS: &str = "glibc.malloc.perturb=255";

pub(super) fn set_environment(command: &mut Command, preload: &Preload, before: Option<OsString>) {
    command.env(PRELOAD, preload_list(&preload.agent, before.as_deref()));
    command.env(AGENT, &preload.agent).env(DIRECTORY, &preload.directory);
    match preload.sample {
        Some(interval) => command.env(SAMPLE, interval.get().to_string()),
        None => command.env_remove(SAMPLE),
    };
    match preload.objects {
        Objects::Sampled => command.env_remove(OBJECTS),
        objects => command.env(OBJECTS, objects.word()),
    };
    match preload.imports {
        Imports::Folded => command.env_remove(IMPORTS),
        imports => command.env(IMPORTS, imports.word()),
    };
    match preload.follow {
        true => command.env_remove(NO_FOLLOW),
        false => command.env(NO_FOLLOW, "1"),
    };
    match preload.passive {
        true => command.env(PASSIVE, "1"),
        false => command.env_remove(PASSIVE),
    };
    match preload.frameworks {
        true => command.env_remove(NO_FRAMEWORKS),
        false => command.env(NO_FRAMEWORKS, "1"),
    };
    match preload.inspects_every_end {
        true => command.env(LEAK_CHECK, "1"),
        false => command.env_remove(LEAK_CHECK),
    };
    match preload.finalize_graph {
        Some(runs) => command.env(FINALIZE, runs.to_string()),
        None => command.env_remove(FINALIZE),
    };
    match preload.memcheck {
        true => command.env(MEMCHECK, "1"),
        false => command.env_remove(MEMCHECK),
    };
    match preload.checks.are_on() {
        true => command.env(CHECKS, preload.checks.to_string()),
        false => command.env_remove(CHECKS),
    };
    match preload.guarded_code.is_empty() {
        true => command.env_remove(GUARDED_CODE),
        false => command.env(GUARDED_CODE, &preload.guarded_code),
    };
    for (at, name) in [LEAK_CHECK_FROM, LEAK_CHECK_TO].into_iter().enumerate() {
        match &preload.leak_check {
            Some(labels) => command.env(name, &labels[at]),
            None => command.env_remove(name),
        };
    }
    if preload.clean_blocks {
        // Of two values the later one counts: the user's.
        let own = std::env::var_os(TUNABLES).unwrap_or_default();
        let parts = [OsStr::new(CLEAN_BLOCKS), &own].into_iter().filter(|part| !part.is_empty());
        command.env(TUNABLES, parts.collect::<Vec<_>>().join(OsStr::new(":")));
    }
}

/// The agent comes first, so that its `malloc` is the one that the program finds; what the user preloads comes after it.
fn preload_list(agent: &Path, before: Option<&OsStr>) -> OsString {
    let mut list = agent.as_os_str().to_owned();
    let splits = |&byte: &u8| byte == b':' || byte == b' ';
    let libraries = before.unwrap_or_default().as_bytes().split(splits);
    for library in libraries.filter(|library| !library.is_empty() && *library != agent.as_os_str().as_bytes())
    {
        list.push(":");
        list.push(OsStr::from_bytes(library));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(before: Option<&str>) -> OsString {
        preload_list(Path::new("/a/agent.so"), before.map(OsStr::new))
    }

    #[test]
    fn the_agent_comes_before_what_the_user_preloads() {
        assert_eq!(list(Some("/x.so /y.so:/z.so")), "/a/agent.so:/x.so:/y.so:/z.so");
    }

    #[test]
    fn without_another_library_the_agent_is_the_only_one() {
        assert_eq!(list(None), "/a/agent.so");
        assert_eq!(list(Some("")), "/a/agent.so");
    }

    #[test]
    fn the_agent_is_not_listed_twice() {
        assert_eq!(list(Some("/a/agent.so:/x.so")), "/a/agent.so:/x.so");
    }

    #[test]
    fn options_that_are_off_are_not_inherited() {
        let mut command = Command::new("x");
        let preload = Preload {
            agent: "/a.so".into(),
            directory: "/d".into(),
            sample: None,
            objects: Objects::Sampled,
            imports: Imports::Folded,
            follow: true,
            passive: false,
            frameworks: true,
            finalize_graph: None,
            memcheck: false,
            checks: Checks::NONE,
            guarded_code: String::new(),
            leak_check: None,
            clean_blocks: false,
            inspects_every_end: false,
        };
        set_environment(&mut command, &preload, None);
        let removed: Vec<_> =
            command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        let all = [
            CHECKS,
            FINALIZE,
            GUARDED_CODE,
            IMPORTS,
            LEAK_CHECK,
            LEAK_CHECK_FROM,
            LEAK_CHECK_TO,
            MEMCHECK,
            NO_FOLLOW,
            NO_FRAMEWORKS,
            OBJECTS,
            PASSIVE,
            SAMPLE,
        ];
        assert_eq!(removed, all.map(OsStr::new));
    }
}
