//! Whose code a record is about: the user's if any frame of its stacks is in an object file that was not installed.

use std::path::{Path, PathBuf};

use super::record::{XmlFrame, XmlRecord};
use crate::profile::stacks::{is_installed, is_interpreter_file, is_runtime_file};

/// Valgrind's own object files in the program, which stand for functions of the C library.
const REPLACEMENTS: &str = "vgpreload_";

/// How Memcheck begins what it says of a value's origin.
pub(super) const ORIGIN: &str = "Uninitialised value was created by";
/// What makes a number in CPython. Up to 3.11 it leaves the digit unset, and reads it also where the number is 0 and has none: multiplied
/// by the size, which is 0. What is computed from that, such as the address of the shared object 0, counts as unset ever after.
const NEW_NUMBER: &str = "_PyLong_New";
const DIGIT_OF_ZERO: &str =
    "CPython up to 3.11 reads the unset digit of the number 0, and multiplies it by 0";
/// Frames of an allocation that are the allocator's and those of the function that calls it.
const ALLOCATING: usize = 5;

/// What the user's own code is, besides what was not installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserCode {
    /// The program that was run, unless it is an interpreter: whoever runs `/usr/bin/sort` asks about it.
    program: Option<PathBuf>,
    /// Where the libraries of an interpreter are that is not the system's.
    libraries: Option<PathBuf>,
}

impl UserCode {
    /// Of a run of a program, by its path.
    pub fn of(program: &Path) -> Self {
        let path = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        if is_interpreter_file(&path.to_string_lossy()) {
            let prefix = path.parent().and_then(Path::parent);
            return Self { program: None, libraries: prefix.map(|prefix| prefix.join("lib")) };
        }
        Self { program: Some(path), libraries: None }
    }

    /// Whether a record touches the user's own code.
    pub(super) fn has_part_in(&self, record: &XmlRecord) -> bool {
        record.stacks().flatten().any(|frame| self.is_own(frame))
    }

    pub(super) fn is_own(&self, frame: &XmlFrame) -> bool {
        frame.module.as_deref().is_some_and(|module| self.is_own_object(module))
    }

    fn is_own_object(&self, module: &str) -> bool {
        let path = Path::new(module);
        if self.program.as_deref() == Some(path) {
            return true;
        }
        let is_of_interpreter = self.libraries.as_deref().is_some_and(|folder| path.starts_with(folder));
        let is_helper = is_runtime_file(module) || is_replacement(module);
        !(is_of_interpreter || is_helper || is_installed(module) || is_interpreter_file(module))
    }
}

/// The object file that a record without the user's code is counted for: the innermost that does not serve others.
pub(super) fn responsible(record: &XmlRecord) -> Option<&str> {
    let modules = || record.stack.iter().filter_map(|frame| frame.module.as_deref());
    let serves_others = |module: &&str| is_runtime_file(module) || is_replacement(module);
    modules().find(|module| !serves_others(module)).or_else(|| modules().next()).map(file_name)
}

/// Why a record about an unset value is no error, whatever code it is in: by what created the value.
pub(super) fn harmless_origin(record: &XmlRecord) -> Option<&'static str> {
    let origin = record.auxiliary.iter().find(|(what, _)| what.starts_with(ORIGIN))?;
    let is_number = |frame: &XmlFrame| {
        frame.function.as_deref() == Some(NEW_NUMBER)
            && frame.module.as_deref().is_some_and(is_interpreter_file)
    };
    origin.1.iter().take(ALLOCATING).any(is_number).then_some(DIGIT_OF_ZERO)
}

/// Whether an object file is Valgrind's own.
pub(super) fn is_replacement(module: &str) -> bool {
    file_name(module).starts_with(REPLACEMENTS)
}

fn file_name(module: &str) -> &str {
    module.rsplit('/').next().unwrap_or(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(stacks: &[&[&str]]) -> XmlRecord {
        let frame = |module: &&str| XmlFrame { module: Some((*module).to_owned()), ..XmlFrame::default() };
        let stack = |modules: &&[&str]| modules.iter().map(frame).collect::<Vec<_>>();
        let mut stacks = stacks.iter().map(stack);
        let mut record = XmlRecord { stack: stacks.next().unwrap_or_default(), ..XmlRecord::default() };
        record.auxiliary = stacks.map(|stack| (String::new(), stack)).collect();
        record
    }

    const LIBC: &str = "/usr/lib/x86_64-linux-gnu/libc.so.6";
    const REPLACED: &str = "/opt/valgrind/libexec/vgpreload_memcheck-amd64-linux.so";
    const PYTHON: &str = "/usr/bin/python3.11";
    const TORCH: &str = "/home/u/v/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so";
    const OWN: &str = "/home/u/app/build/operation.so";

    #[test]
    fn one_frame_of_the_user_in_any_stack_makes_a_record_theirs() {
        let code = UserCode::of(Path::new(PYTHON));
        assert!(code.has_part_in(&record(&[&[REPLACED, OWN, TORCH, PYTHON]])));
        assert!(code.has_part_in(&record(&[&[TORCH, PYTHON], &[REPLACED, OWN]])), "they allocated it");
        assert!(!code.has_part_in(&record(&[&[REPLACED, LIBC, TORCH, PYTHON], &[TORCH]])));
        assert!(!code.has_part_in(&record(&[&[]])));
    }

    #[test]
    fn the_program_itself_is_the_users_wherever_it_is_installed_unless_it_interprets() {
        let sort = "/usr/bin/sort";
        assert!(
            UserCode { program: Some(sort.into()), libraries: None }.has_part_in(&record(&[&[LIBC, sort]]))
        );
        assert!(!UserCode::default().has_part_in(&record(&[&[LIBC, sort]])));
        assert_eq!(UserCode::of(Path::new("/no/where/bin/python3.12")).program, None);
    }

    #[test]
    fn libraries_of_an_interpreter_of_its_own_are_not_the_users() {
        let code = UserCode::of(Path::new("/home/u/conda/bin/python3.12"));
        assert!(!code.has_part_in(&record(&[&["/home/u/conda/lib/libcrypto.so.3"]])));
        assert!(code.has_part_in(&record(&[&["/home/u/own/lib/libown.so"]])));
    }

    #[test]
    fn values_that_come_from_the_digit_of_zero_are_no_error_in_any_code() {
        let mut unset = record(&[&[OWN, PYTHON], &[REPLACED, "/opt/lib/libpython3.11.so.1.0"]]);
        unset.auxiliary[0].0 = format!("{ORIGIN} a heap allocation");
        assert_eq!(harmless_origin(&unset), None);
        unset.auxiliary[0].1[1].function = Some(NEW_NUMBER.to_owned());
        assert_eq!(harmless_origin(&unset), Some(DIGIT_OF_ZERO));
        unset.auxiliary[0].1[1].module = Some(OWN.to_owned());
        assert_eq!(harmless_origin(&unset), None, "a function of the same name");
    }

    #[test]
    fn a_record_is_counted_for_the_innermost_library_that_does_not_serve_others() {
        assert_eq!(responsible(&record(&[&[REPLACED, LIBC, TORCH, PYTHON]])), Some("libtorch_cpu.so"));
        assert_eq!(responsible(&record(&[&[LIBC]])), Some("libc.so.6"));
        assert_eq!(responsible(&record(&[&[]])), None);
    }
}
