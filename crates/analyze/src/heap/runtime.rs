//! Where a process has the state of Python's interpreter: a variable of the executable, or of the library that it comes in.

use std::path::Path;

use super::globals::MappedFile;
use crate::symbols::Image;

const STATE: &str = "_PyRuntime";

/// Its address, among the files that the process has mapped; the program itself is the first.
pub(super) fn of_python(files: &[MappedFile]) -> Option<u64> {
    let is_named_so =
        |path: &&Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains("python"));
    let paths = files.iter().map(|file| file.path.as_path());
    // A program that has Python linked into it has any name.
    let mut candidates: Vec<&Path> = paths.clone().filter(is_named_so).chain(paths.take(1)).collect();
    candidates.dedup();
    candidates.into_iter().find_map(|path| {
        let own = files.iter().filter(|file| file.path == path);
        let mappings: Vec<(u64, u64)> = own.map(|file| (file.start, file.offset)).collect();
        let image = Image::read(path)?;
        Some(image.bias(&mappings)?.wrapping_add(Image::variable(path, STATE)?))
    })
}
