//! What the code on a Python stack has to do with imports, decided once for each code object, by its file and its name.

use heaplens_format::python_file::{Owner, is_import_system, is_rewritten};

use super::codes;
use crate::modules::interpreter::Known;
use crate::modules::memory::word;

/// log2 of the code objects that a thread keeps in mind.
const BITS: u32 = 11;

/// What a frame of some code says about an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum CodeKind {
    /// Nothing.
    Library = 1,
    /// Nothing folds inside it: the user's own, or ours.
    User,
    /// The import system's.
    ImportSystem,
    /// The import system's function that finds and loads the module whose name is its first argument.
    Finder,
    /// The code of a module itself.
    Module,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct CachedKind {
    identity: u64,
    kind: u64,
}

/// Those of the code that a thread met lately. Zero pages are an empty table.
#[repr(C)]
pub(super) struct CodeKinds([CachedKind; 1 << BITS]);

impl CodeKinds {
    /// The kind of a code object, which `identity` sets apart from all others.
    #[inline(always)]
    pub(super) fn of(&mut self, known: &Known, code: u64, identity: u64) -> CodeKind {
        let kept = &mut self.0[(identity >> 4 ^ identity >> 16) as usize & ((1 << BITS) - 1)];
        if kept.identity != identity || kept.kind == 0 {
            *kept = CachedKind { identity, kind: read(known, code) as u64 };
        }
        match kept.kind {
            2 => CodeKind::User,
            3 => CodeKind::ImportSystem,
            4 => CodeKind::Finder,
            5 => CodeKind::Module,
            _ => CodeKind::Library,
        }
    }
}

#[cold]
#[inline(never)]
fn read(known: &Known, code: u64) -> CodeKind {
    let [file, name] = [known.layout.code.filename, known.layout.code.name].map(|offset| word(code, offset));
    codes::with_text(known, file, |file| codes::with_text(known, name, |name| kind(file, name)))
}

fn kind(file: &str, name: &str) -> CodeKind {
    match Owner::of(file) {
        Owner::User | Owner::Probe => CodeKind::User,
        Owner::Generated if is_rewritten(file) => CodeKind::User,
        Owner::Package("importlib") if is_import_system(file) => match name {
            "_find_and_load" => CodeKind::Finder,
            _ => CodeKind::ImportSystem,
        },
        Owner::Package(_) if name == "<module>" => CodeKind::Module,
        Owner::Generated | Owner::Package(_) | Owner::Import(_) => CodeKind::Library,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_by_its_file_and_its_name() {
        const BOOTSTRAP: &str = "<frozen importlib._bootstrap>";
        const KERAS: &str = "/v/lib/python3.12/site-packages/keras/__init__.py";
        let truths = [
            (BOOTSTRAP, "_find_and_load", CodeKind::Finder),
            (BOOTSTRAP, "_call_with_frames_removed", CodeKind::ImportSystem),
            ("/usr/lib/python3.11/importlib/__init__.py", "reload", CodeKind::ImportSystem),
            ("/usr/lib/python3.11/importlib/metadata/__init__.py", "version", CodeKind::Library),
            (KERAS, "<module>", CodeKind::Module),
            (KERAS, "_find_and_load", CodeKind::Library),
            ("<string>", "<module>", CodeKind::Library),
            ("/home/user/train.py", "<module>", CodeKind::User),
            ("/tmp/__autograph_generated_file4x.py", "tf__f", CodeKind::User),
            ("<heaplens>", "<module>", CodeKind::User),
        ];
        for (file, name, truth) in truths {
            assert_eq!(kind(file, name), truth, "{file} {name}");
        }
    }
}
