//! Which frame of a native stack a site is named by: not the allocator, nor the standard library that calls it.

use super::stacks::StackFrame;

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
/// The frame that a site is named by: the innermost one that is not library code, else the innermost.
pub fn headline<'a>(stack: impl Iterator<Item = &'a StackFrame> + Clone) -> Option<&'a StackFrame> {
    stack.clone().find(|frame| !is_library(frame)).or_else(|| stack.clone().next())
}

/// The innermost frame whose source is known and that is not library code: the user compiled it. Else the headline.
pub(crate) fn own_line<'a>(stack: impl Iterator<Item = &'a StackFrame> + Clone) -> Option<&'a StackFrame> {
    let own = stack.clone().find(|frame| frame.file.is_some() && !is_library(frame));
    own.or_else(|| headline(stack))
}

/// Whether a function allocates for others or belongs to the standard library.
pub fn is_library(frame: &StackFrame) -> bool {
    frame.function.as_deref().is_some_and(|name| {
        ALLOCATORS.contains(&name) || LIBRARIES.iter().any(|prefix| name.starts_with(prefix))
    })
}

/// Whether the object file of a frame is the Python interpreter.
pub fn is_interpreter(frame: &StackFrame) -> bool {
    let name = frame.module.as_deref().and_then(|module| module.rsplit('/').next()).unwrap_or_default();
    name == "python" || ["python2", "python3", "libpython"].iter().any(|prefix| name.starts_with(prefix))
}
