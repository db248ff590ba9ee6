//! Which frame of a native stack a site is named by: not the allocator, nor the standard library that calls it.

use super::frame::StackFrame;
use super::origin::Origin;
use heaplens_format::object_file::is_interpreter_file;

/// Functions that allocate for others.
const ALLOCATORS: &[&str] = &[
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "valloc",
    "pvalloc",
    "mmap",
    "mmap64",
    "mremap",
    "brk",
    "sbrk",
    "strdup",
    "strndup",
    "__strdup",
    "__strndup",
    "__rust_alloc",
    "__rust_alloc_zeroed",
    "__rust_realloc",
    "__rdl_alloc",
    "__rdl_alloc_zeroed",
    "__rdl_realloc",
    "getdelim",
];
/// How names of allocating library code begin.
const LIBRARIES: &[&str] = &[
    "operator new",
    "std::",
    "__gnu_cxx::",
    "alloc::",
    "core::",
    "hashbrown::",
    "<alloc::",
    "<core::",
    "<std::",
    "<hashbrown::",
    "__rustc::",
];
/// Folders with sources of the standard libraries of C++ and Rust, and of packages that Cargo fetched.
const LIBRARY_SOURCES: &[&str] =
    &["/include/c++/", "/rustlib/src/rust/library/", "/.cargo/registry/src/", "/.cargo/git/checkouts/"];
/// Where the sources of Rust's own libraries were when these were compiled.
const SOURCES_OF_RUST: &str = "/rustc/";
/// What the C library's function that starts a thread is called, with its symbols and without.
const THREAD_STARTS: &[&str] = &["pthread_create", "__pthread_create", "__pthread_create_2_1", "thrd_create"];
/// What starting a thread allocates lies so many frames below it, at most.
const BELOW_THREAD_START: usize = 8;

/// The frame that a site is named by: the innermost one that is not library code, else the innermost.
pub fn headline<'a>(stack: impl Iterator<Item = &'a StackFrame> + Clone) -> Option<&'a StackFrame> {
    stack.clone().find(|frame| !is_library(frame)).or_else(|| stack.clone().next())
}

/// The innermost frame whose source is known and that is not library code: the user compiled it. Else the headline. What
/// starting a thread allocates is named by who started it, though the C library's own sources may be known.
pub(crate) fn own_line<'a>(stack: impl Iterator<Item = &'a StackFrame> + Clone) -> Option<&'a StackFrame> {
    let below = thread_start(stack.clone()).map_or(0, |at| at + 1);
    let stack = stack.skip(below);
    let own = stack.clone().find(|frame| frame.file.is_some() && !is_library(frame) && !is_c_library(frame));
    own.or_else(|| headline(stack))
}

/// The line that a memory error is reported for: the innermost one of the user's own, be it native code whose source is known or Python.
pub(crate) fn error_line(stack: &[StackFrame]) -> Option<&StackFrame> {
    let is_users = |frame: &&StackFrame| match frame.origin {
        Origin::User => true,
        Origin::Native => frame.file.is_some() && !is_library(frame) && !is_c_library(frame),
        Origin::Generated | Origin::Library(_) | Origin::Import | Origin::Imported(_) => false,
    };
    stack.iter().find(is_users).or_else(|| headline(stack.iter()))
}

/// Whether the innermost code of a stack, without what allocates for others, is the user's own: of the executable, or compiled with
/// line numbers.
pub(crate) fn is_own(stack: &[StackFrame], executable: &str) -> bool {
    let first = stack.iter().find(|frame| !is_library(frame) && !is_c_library(frame));
    first.is_some_and(|frame| {
        let is_of_executable = frame.module.as_deref() == Some(executable) && !is_interpreter(frame);
        !frame.is_python() && (is_of_executable || frame.file.is_some())
    })
}

/// The position of the frame that starts a thread, in a stack of what that allocates.
pub(crate) fn thread_start<'a>(stack: impl Iterator<Item = &'a StackFrame>) -> Option<usize> {
    // A symbol may have a version after its name.
    let is_start = |name: &str| {
        let rest = |start: &&str| name.strip_prefix(*start);
        THREAD_STARTS.iter().filter_map(rest).any(|rest| rest.is_empty() || rest.starts_with('@'))
    };
    stack.take(BELOW_THREAD_START).position(|frame| frame.function.as_deref().is_some_and(is_start))
}

/// Whether a frame is the C library's own: what stands below every thread, or calls back.
fn is_c_library(frame: &StackFrame) -> bool {
    let name = frame.module.as_deref().and_then(|module| module.rsplit('/').next()).unwrap_or_default();
    ["libc.so.", "libc-", "libpthread"].iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a function allocates for others or belongs to a library whose sources are known, as those of templates and generic functions are.
pub fn is_library(frame: &StackFrame) -> bool {
    let by_name =
        |name: &str| ALLOCATORS.contains(&name) || LIBRARIES.iter().any(|prefix| name.starts_with(prefix));
    let by_file = |file: &str| {
        file.starts_with(SOURCES_OF_RUST) || LIBRARY_SOURCES.iter().any(|folder| file.contains(folder))
    };
    frame.function.as_deref().is_some_and(by_name) || frame.file.as_deref().is_some_and(by_file)
}

/// Whether the object file of a frame is the Python interpreter.
pub fn is_interpreter(frame: &StackFrame) -> bool {
    frame.module.as_deref().is_some_and(is_interpreter_file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Origin;

    fn frame(function: &str, file: Option<&str>, module: &str) -> StackFrame {
        StackFrame {
            origin: Origin::Native,
            function: Some(function.into()),
            file: file.map(Into::into),
            line: file.map(|_| 1),
            module: Some(module.into()),
            offset: 16,
        }
    }

    #[test]
    fn sources_of_standard_libraries_are_not_the_users_whatever_their_functions_are_called() {
        let own = frame("Unit::create", Some("/home/u/unit.cpp"), "/home/u/unit");
        for (function, file) in [
            ("_ZSt11make_sharedI4UnitJiEE", "/usr/include/c++/12/bits/shared_ptr.h"),
            (
                "<T as alloc::slice::to_vec_in::ConvertVec>::to_vec",
                "/rustc/59807616/library/alloc/src/slice.rs",
            ),
            ("<indexmap::IndexMap<K, V>>::insert", "/home/u/.cargo/registry/src/index/indexmap-2/src/map.rs"),
        ] {
            let stack = [frame(function, Some(file), "/home/u/unit"), own.clone()];
            assert_eq!(own_line(stack.iter()), Some(&own), "{file}");
        }
    }

    #[test]
    fn where_only_the_c_library_has_sources_nobody_else_is_blamed_on_it() {
        let inner =
            [frame("operator new", None, "/lib/libstdc++.so.6"), frame("xla::Allocate", None, "/x.so")];
        let thread = frame("start_thread", Some("pthread_create.c"), "/usr/lib/libc.so.6");
        let own = frame("pool::run", Some("pool.cpp"), "/opt/libpool.so");
        let line = |stack: &[StackFrame]| own_line(stack.iter()).and_then(|frame| frame.function.clone());
        let with =
            |others: &[&StackFrame]| inner.iter().chain(others.iter().copied()).cloned().collect::<Vec<_>>();
        assert_eq!(line(&with(&[&thread])).as_deref(), Some("xla::Allocate"));
        assert_eq!(line(&with(&[&own, &thread])).as_deref(), Some("pool::run"));
    }
}
