//! Names of variables of C and C++ by the address of a word in them, from the symbols of the mapped files. Files are read when an
//! address leads to them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use heaplens_snapshot::Mapping;

use crate::symbols::{Image, Variables};

/// A place in a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// The variable, readable.
    pub name: String,
    /// Where it begins.
    pub start: u64,
    /// How far behind that the place lies.
    pub offset: u64,
}

impl fmt::Display for Global {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
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
    bias: u64,
    start: u64,
    end: u64,
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
        modules.sort_by_key(|module| module.start);
        Self { modules }
    }

    /// The object file that an address belongs to, its data without initial values included.
    pub fn file(&self, address: u64) -> Option<&Path> {
        self.modules.get(self.module(address)?).map(|module| &*module.path)
    }

    /// The variable that an address lies in.
    pub fn find(&mut self, address: u64) -> Option<Global> {
        let module = self.module(address)?;
        let Module { path, bias, variables, .. } = &mut self.modules[module];
        let variables = variables.get_or_insert_with(|| Variables::open(path)).as_ref()?;
        let (name, start) = variables.at(address.wrapping_sub(*bias))?;
        let start = start.wrapping_add(*bias);
        Some(Global { name, start, offset: address - start })
    }

    /// Where the variable begins that an address lies in; else where its file does, less one so that it is no variable's, or 0.
    /// Nothing is read to find a name.
    pub(crate) fn beginning(&mut self, address: u64) -> u64 {
        let Some(module) = self.module(address) else { return 0 };
        let Module { path, bias, variables, start, .. } = &mut self.modules[module];
        let variables = variables.get_or_insert_with(|| Variables::open(path)).as_ref();
        let variable = variables.and_then(|variables| variables.beginning(address.wrapping_sub(*bias)));
        variable.map_or(start.wrapping_sub(1), |variable| variable.wrapping_add(*bias))
    }

    fn module(&self, address: u64) -> Option<usize> {
        let last = self.modules.partition_point(|module| module.start <= address).checked_sub(1)?;
        (address < self.modules[last].end).then_some(last)
    }
}

impl Module {
    fn new(path: &Path, mappings: &[(u64, u64)]) -> Option<Self> {
        let image = Image::read(path)?;
        let (bias, extent) = (image.bias(mappings)?, image.extent()?);
        let (start, end) = (extent.start.wrapping_add(bias), extent.end.wrapping_add(bias));
        Some(Self { path: path.to_owned(), bias, start, end, variables: None })
    }
}
