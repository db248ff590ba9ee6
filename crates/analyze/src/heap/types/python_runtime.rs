//! Where a process has the state of Python's interpreter: a variable of the executable, or of the library that it comes in.

use std::path::Path;

use heaplens_format::Addr;
use heaplens_snapshot::Mapping;

use crate::symbols::Image;

const STATE: &str = "_PyRuntime";

/// Its address, by what the process has mapped; the first file is the program itself.
pub(crate) fn of_python(mappings: &[Mapping]) -> Option<Addr> {
    let is_named_so =
        |path: &&Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains("python"));
    let paths = mappings.iter().filter_map(Mapping::file);
    // A program that has Python linked into it has any name.
    let mut candidates: Vec<&Path> = paths.clone().filter(is_named_so).chain(paths.take(1)).collect();
    candidates.dedup();
    candidates.into_iter().find_map(|path| {
        let own = mappings.iter().filter(|mapping| mapping.file() == Some(path));
        let starts: Vec<(u64, u64)> = own.map(|mapping| (mapping.span.start.get(), mapping.offset)).collect();
        let image = Image::read(path)?;
        Some(Addr::new(image.bias(&starts)?.wrapping_add(Image::variable(path, STATE)?)))
    })
}
