//! Names of variables of C and C++ by the address of a word in them, from the symbols of the mapped files. Files are read when an
//! address leads to them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{Mapping, Span};

use crate::symbols::{Image, Variables};

/// A location in a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// The variable, readable.
    pub name: String,
    /// Where it begins.
    pub start: Addr,
    /// How far into it the location is.
    pub offset: Bytes,
}

impl fmt::Display for Global {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset.get() {
            0 => write!(to, "{}", self.name),
            offset => write!(to, "{}+{offset}", self.name),
        }
    }
}

/// The variables of one process.
pub struct Globals {
    /// Sorted by where they begin.
    modules: Vec<Module>,
}

struct Module {
    path: PathBuf,
    /// What is added to an address of the file.
    bias: Bytes,
    span: Span,
    variables: Option<Option<Variables>>,
}

impl Globals {
    /// From mappings; all that are known, in any order.
    pub fn new(mappings: &[Mapping]) -> Self {
        let mut by_path = BTreeMap::<&Path, Vec<(u64, u64)>>::new();
        for mapping in mappings {
            if let Some(path) = mapping.file() {
                by_path.entry(path).or_default().push((mapping.span.start.get(), mapping.offset));
            }
        }
        let modules = by_path.into_iter().filter_map(|(path, mappings)| Module::new(path, &mappings));
        let mut modules: Vec<Module> = modules.collect();
        modules.sort_by_key(|module| module.span.start);
        Self { modules }
    }

    /// The object file that an address belongs to, its data without initial values included.
    pub fn file(&self, address: Addr) -> Option<&Path> {
        self.modules.get(self.module(address)?).map(|module| &*module.path)
    }

    /// The variable that an address lies in.
    pub fn find(&mut self, address: Addr) -> Option<Global> {
        let module = self.module(address)?;
        let Module { path, bias, variables, .. } = &mut self.modules[module];
        let variables = variables.get_or_insert_with(|| Variables::open(path)).as_ref()?;
        let (name, start) = variables.at(in_file(address, *bias))?;
        let start = Addr::new(start) + *bias;
        Some(Global { name, start, offset: address - start })
    }

    /// Where the variable begins that an address lies in; else where its file does, less one so that it is no variable's, or 0.
    /// Nothing is read to find a name.
    pub(crate) fn beginning(&mut self, address: Addr) -> Addr {
        let Some(module) = self.module(address) else { return Addr::default() };
        let Module { path, bias, variables, span, .. } = &mut self.modules[module];
        let variables = variables.get_or_insert_with(|| Variables::open(path)).as_ref();
        let variable = variables.and_then(|variables| variables.beginning(in_file(address, *bias)));
        let no_variable = Addr::new(span.start.get().wrapping_sub(1));
        variable.map_or(no_variable, |variable| Addr::new(variable) + *bias)
    }

    fn module(&self, address: Addr) -> Option<usize> {
        let last = self.modules.partition_point(|module| module.span.start <= address).checked_sub(1)?;
        (address < self.modules[last].span.end).then_some(last)
    }
}

impl Module {
    fn new(path: &Path, mappings: &[(u64, u64)]) -> Option<Self> {
        let image = Image::read(path)?;
        let (bias, extent) = (Bytes::new(image.bias(mappings)?), image.extent()?);
        let span = Span::new(Addr::new(extent.start) + bias, Addr::new(extent.end) + bias);
        Some(Self { path: path.to_owned(), bias, span, variables: None })
    }
}

/// An address as the symbols of its file have it.
fn in_file(address: Addr, bias: Bytes) -> u64 {
    address.get().wrapping_sub(bias.get())
}
