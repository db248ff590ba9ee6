//! One function of a stack, and what distinguishes its line from others.

use std::sync::Arc;

use super::origin::Origin;

/// One function of a stack, inlined ones included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// Whose code it is.
    pub origin: Origin,
    /// Its name, the qualified one of a Python function; `None` where no symbol covers the address.
    pub function: Option<Arc<str>>,
    /// Its source file; `None` without DWARF.
    pub file: Option<Arc<str>>,
    /// The line; `None` without DWARF.
    pub line: Option<u32>,
    /// Path of the object file; `None` for code that no object file covers, hence for Python.
    pub module: Option<Arc<str>>,
    /// Return address: in the object file, or in the process where there is none; 0 for Python.
    pub offset: u64,
}

impl StackFrame {
    /// Whether it is a Python frame.
    pub fn is_python(&self) -> bool {
        self.origin != Origin::Native
    }

    /// What it is written in, as every output calls it.
    pub fn language(&self) -> &'static str {
        if self.is_python() { "python" } else { "native" }
    }
}

/// What distinguishes one line from another: function, file, line and object file, and the address where no name does.
pub(crate) type LineKey<'a> = (Option<&'a str>, Option<&'a str>, Option<u32>, Option<&'a str>, u64);

impl StackFrame {
    /// The line of a frame, with this address where one counts.
    pub(crate) fn line_key(&self, offset: u64) -> LineKey<'_> {
        (self.function.as_deref(), self.file.as_deref(), self.line, self.module.as_deref(), offset)
    }
}
