//! Where a process has the state of Python's interpreter: a variable of the executable, or of the library that it comes in.

use std::path::{Path, PathBuf};

use heaplens_format::Addr;
use heaplens_snapshot::{Mapping, Span};

use crate::symbols::Image;

const STATE: &str = "_PyRuntime";

/// The folder of extension modules that come with the interpreter.
const OWN_MODULES: &str = "/lib-dynload/";

/// Where that state lies.
pub(crate) struct PythonRuntime {
    /// In memory.
    pub(crate) span: Span,
    /// The object file whose variable it is.
    file: PathBuf,
}

impl PythonRuntime {
    /// By what the process has mapped; the first file is the program itself.
    pub(crate) fn of(mappings: &[Mapping]) -> Option<Self> {
        let is_named_so =
            |path: &&Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains("python"));
        let paths = mappings.iter().filter_map(Mapping::file);
        // A program that has Python linked into it has any name.
        let mut candidates: Vec<&Path> = paths.clone().filter(is_named_so).chain(paths.take(1)).collect();
        candidates.dedup();
        candidates.into_iter().find_map(|path| {
            let own = mappings.iter().filter(|mapping| mapping.file() == Some(path));
            let starts: Vec<(u64, u64)> =
                own.map(|mapping| (mapping.span.start.get(), mapping.offset)).collect();
            let image = Image::read(path)?;
            let (address, size) = Image::variable(path, STATE)?;
            let start = Addr::new(image.bias(&starts)?.wrapping_add(address));
            Some(PythonRuntime { span: Span::of_length(start, size), file: path.to_owned() })
        })
    }

    /// Whether an object file is an extension module, and none that comes with the interpreter.
    pub(crate) fn is_extension(&self, file: &Path) -> bool {
        file != self.file && !file.to_string_lossy().contains(OWN_MODULES)
    }
}
