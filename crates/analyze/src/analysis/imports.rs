//! What each import costs, as a tree: a module that another one imports while it is loaded itself is its child.

use std::collections::HashMap;

use heaplens_format::Bytes;
use heaplens_format::memory::Category;
use heaplens_format::python_file::imported_module;

use super::profile::Profile;
use crate::profile::{Measure, Origin, SiteProfile, StackFrame};

/// The import of a module, from one line or by one other module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedModule<'a> {
    /// Its whole name.
    pub module: &'a str,
    /// Its place in the list of the module that imported it, which comes before it.
    pub parent: Option<usize>,
    /// Where no other module imported it: the line that did, the user's where there is one.
    pub by: Option<&'a StackFrame>,
    /// What is live of what was allocated while it was the innermost module being loaded.
    pub own: ImportCost,
    /// The same with all modules that were loaded inside it.
    pub total: ImportCost,
}

/// Memory of an import, at the end of the script where that is known, else at exit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportCost {
    /// Bytes of the heap.
    pub bytes: Bytes,
    /// Blocks of the heap.
    pub blocks: u64,
    /// Bytes of small Python objects, which may be an estimate.
    pub objects: Bytes,
    /// Bytes of mappings.
    pub mapped: Bytes,
}

impl ImportCost {
    fn add(&mut self, category: Category, measure: Measure) {
        match category {
            Category::Heap => {
                self.bytes += measure.bytes;
                self.blocks += measure.blocks;
            }
            Category::Objects => self.objects += measure.bytes,
            _ => self.mapped += measure.bytes,
        }
    }

    fn join(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.blocks += other.blocks;
        self.objects += other.objects;
        self.mapped += other.mapped;
    }
}

/// What a list of modules is looked up by.
type Key<'a> = (Option<usize>, Option<(&'a str, Option<u32>)>, &'a str);

/// All imports, parents before their children; of siblings the one first that costs most.
pub fn imports(profile: &Profile) -> Vec<ImportedModule<'_>> {
    let mut list = List::default();
    for site in &profile.sites {
        list.take(profile, site);
    }
    list.finish()
}

#[derive(Default)]
struct List<'a> {
    modules: Vec<ImportedModule<'a>>,
    known: HashMap<Key<'a>, usize>,
}

impl<'a> List<'a> {
    fn take(&mut self, profile: &'a Profile, site: &SiteProfile) {
        let frames: Vec<_> = profile.stack(site).collect();
        let inside = frames.iter().take_while(|frame| module(frame).is_some()).count();
        let by = profile.import(site).and_then(|import| import.by).or_else(|| frames.get(inside).copied());
        let mut parent = None;
        for module in frames[..inside].iter().rev().filter_map(|frame| module(frame)) {
            parent = Some(self.enter(parent, by.filter(|_| parent.is_none()), module));
        }
        if let Some(innermost) = parent {
            let measure = if site.category().row().is_mapped { site.live } else { site.held };
            self.modules[innermost].own.add(site.category(), measure);
        }
    }

    fn enter(&mut self, parent: Option<usize>, by: Option<&'a StackFrame>, module: &'a str) -> usize {
        let line = by.map(|frame| (frame.file.as_deref().unwrap_or_default(), frame.line));
        *self.known.entry((parent, line, module)).or_insert_with(|| {
            let (own, total) = Default::default();
            self.modules.push(ImportedModule { module, parent, by, own, total });
            self.modules.len() - 1
        })
    }

    fn finish(mut self) -> Vec<ImportedModule<'a>> {
        for at in (0..self.modules.len()).rev() {
            let ImportedModule { own, parent, .. } = self.modules[at];
            self.modules[at].total.join(own);
            if let Some(parent) = parent {
                let total = self.modules[at].total;
                self.modules[parent].total.join(total);
            }
        }
        self.sorted()
    }

    /// Depth first.
    fn sorted(self) -> Vec<ImportedModule<'a>> {
        let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for (at, module) in self.modules.iter().enumerate() {
            children.entry(module.parent).or_default().push(at);
        }
        for siblings in children.values_mut() {
            // The least first: they are taken from the end.
            siblings
                .sort_by_key(|&at| (weight(&self.modules[at]), std::cmp::Reverse(self.modules[at].module)));
        }
        let (mut sorted, mut numbers) = (Vec::with_capacity(self.modules.len()), HashMap::new());
        let mut waiting = children.remove(&None).unwrap_or_default();
        while let Some(at) = waiting.pop() {
            let parent = self.modules[at].parent.and_then(|parent| numbers.get(&parent).copied());
            numbers.insert(at, sorted.len());
            sorted.push(ImportedModule { parent, ..self.modules[at].clone() });
            waiting.extend(children.remove(&Some(at)).unwrap_or_default());
        }
        sorted
    }
}

fn weight(module: &ImportedModule<'_>) -> (Bytes, Bytes, Bytes) {
    (module.total.bytes, module.total.objects, module.total.mapped)
}

/// The module whose import a frame stands for.
fn module(frame: &StackFrame) -> Option<&str> {
    matches!(frame.origin, Origin::Imported(_)).then(|| imported_module(frame.file.as_deref()?)).flatten()
}
