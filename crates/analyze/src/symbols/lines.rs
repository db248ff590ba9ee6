//! Functions, inlined ones included, and their lines from DWARF.

use std::borrow::Cow;
use std::path::Path;

use addr2line::Loader;
use heaplens_format::recording::Function;

use super::demangle::demangle;
use super::strings::Strings;

/// The DWARF of one file.
pub(super) struct Lines(Loader);

impl Lines {
    /// Opens a file that has DWARF sections; the file is mapped, and units are parsed when an address leads to them.
    pub(super) fn open(path: &Path, supplement: Option<&Path>) -> Option<Self> {
        Loader::new_with_sup(path, supplement).ok().map(Self)
    }

    /// The functions at an address, innermost first; empty where DWARF says nothing.
    pub(super) fn functions(&self, address: u64, strings: &mut Strings) -> Vec<Function> {
        let mut functions = Vec::new();
        let Ok(mut frames) = self.0.find_frames(address) else { return functions };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|name| name.raw_name().ok());
            let location = frame.location;
            let file = location.as_ref().and_then(|location| location.file);
            functions.push(Function {
                name: name.map(|name: Cow<'_, str>| strings.share(&demangle(&name))),
                file: file.map(|file| strings.share(file)),
                line: location.and_then(|location| location.line).filter(|&line| line > 0),
            });
        }
        functions
    }
}
