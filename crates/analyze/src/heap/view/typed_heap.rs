//! The heap of one snapshot as a graph whose blocks have types: what of a snapshot is a block and what is a root, what each block is,
//! and which of them nothing leads to.

use std::collections::HashMap;
use std::path::PathBuf;

use heaplens_format::recording::{LeakKind, LostSite};
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{Block, Mapping, Memory, Rank, RootKind, RootRange, Snapshot, Span, ThreadState};

use super::literals::Literals;
use super::namer::Namer;
use super::native_names::NativeNames;
use crate::heap::memory::{BlockId, BlockSet, Blocks, TooManyBlocks};
use crate::heap::python::{Python, PythonRoot, RootName};
use crate::heap::reachability::{LeakKinds, Paths, ReferenceCounts, Unreachable};
use crate::heap::scan::{BasePointers, Content, Graph, Heuristics, NamedRoot, Roots};
use crate::heap::types::{
    Arenas, CppClasses, Interner, PythonRuntime, TypeResolver, Types, thread_local_size,
};

/// The site of blocks whose stack is not known.
pub(crate) const NO_SITE: u32 = Block::NO_SITE;

/// The heap of one snapshot.
pub(crate) struct TypedHeap<'m> {
    memory: &'m Memory,
    mappings: &'m [Mapping],
    threads: &'m [ThreadState],
    python: Option<Python<'m, Memory>>,
    graph: Graph,
    /// Of named roots.
    root_names: Vec<RootName>,
    /// Where Python's small objects lie.
    arenas: Arenas,
    /// Blocks that the program mapped itself.
    mapped: BlockSet,
    /// Blocks that the program keeps on purpose.
    ignored: BlockSet,
    types: Types,
    /// The file of the script.
    script: Option<PathBuf>,
}

impl<'m> TypedHeap<'m> {
    /// Makes the graph. CppClasses have one number in all snapshots that share `names`.
    pub(crate) fn new(
        snapshot: &'m Snapshot,
        names: &mut Interner,
        heuristics: Heuristics,
    ) -> Result<Self, TooManyBlocks> {
        let (memory, mappings) = (&snapshot.memory, snapshot.mappings.as_slice());
        let (python, runtime) = interpreter(snapshot).unzip();
        let state = runtime.as_ref().map(|runtime| runtime.span);
        let Contents { blocks, ranges, mapped: own, arenas } = Contents::of(snapshot, python.as_ref(), state);
        let blocks = Blocks::new(blocks)?;
        let mapped = BlockSet::of(own.iter().map(|range| range.span.start), &blocks);
        let ignored = BlockSet::of(snapshot.ignored.iter().copied(), &blocks);
        let found = python.as_ref().map(Python::roots).unwrap_or_default();
        let script = python.as_ref().and_then(|python| script_of(python, &found));
        let (named, root_names) = named_roots(found);
        let constants = python.as_ref().map(|python| constants(python, mappings, &ranges));
        let roots = Roots {
            ranges,
            allocator_data: snapshot.roots.allocator_data.clone(),
            mappings: own,
            registers: snapshot.roots.registers.clone(),
            named,
            constants: constants.unwrap_or_default(),
        };
        let cpp = CppClasses::new(memory, files(mappings).map(|file| file.span).collect());
        let mut resolver = TypeResolver::new(python.as_ref(), &arenas, cpp, &mapped, names, blocks.len());
        let mut graph = Graph::with_heuristics(blocks, &roots, memory, heuristics, |id, block, words| {
            resolver.resolve(id, block, words)
        });
        graph.forget(resolver.non_owning(), memory);
        let is_extension = |code| {
            let file = files(mappings).find(|file| file.span.contains(code)).and_then(Mapping::file);
            runtime.as_ref().zip(file).is_some_and(|(runtime, file)| runtime.is_extension(file))
        };
        let types = resolver.finish(graph.blocks(), is_extension);
        let threads = snapshot.roots.threads.as_slice();
        Ok(Self {
            memory,
            mappings,
            threads,
            python,
            graph,
            root_names,
            arenas,
            mapped,
            ignored,
            types,
            script,
        })
    }

    /// Objects of Python's are left out, and count as reached: of one that nothing seems to lead to it is not known whether the
    /// interpreter keeps it where it is not read. So do mappings, as with Memcheck: a program may well know where they are
    /// without a pointer. And so do blocks that a forked process inherited: they are its parent's. Blocks that the program keeps on purpose
    /// are still reachable.
    pub(crate) fn lost(&self) -> Vec<LostSite> {
        let is_given = self.is_given();
        self.kinds(&is_given).sites(&self.graph, |block| !is_given(block))
    }

    /// The same of the blocks of some sites, in order, with objects of Python's that are blocks: small ones and mappings are known by
    /// their counters.
    pub(crate) fn left_by(&self, sites: &[u32]) -> Vec<LostSite> {
        let is_wanted = |block: BlockId| {
            let Block { address, site, .. } = self.graph.blocks().get(block);
            sites.binary_search(&site).is_ok() && !self.mapped.contains(block) && !self.is_small(address)
        };
        self.kinds(self.is_given()).sites(&self.graph, is_wanted)
    }

    /// The leak kind of each block, where these are reached whatever leads to them.
    fn kinds(&self, is_given: impl Fn(BlockId) -> bool) -> LeakKinds {
        let content = self.content();
        let is_ignored = |block: BlockId| self.ignored.contains(block);
        let mut kinds = LeakKinds::with(&self.graph, |block| is_given(block) || is_ignored(block));
        // The values of an object's attributes are found by a pointer behind what precedes them.
        kinds.promote_from(&self.graph, |block| content(block) != Content::Unknown);
        if self.graph.heuristics().multiple_inheritance {
            self.count_bases(&mut kinds);
        }
        kinds
    }

    /// Whether a block counts as reached whatever leads to it.
    fn is_given(&self) -> impl Fn(BlockId) -> bool + '_ {
        let content = self.content();
        move |block: BlockId| {
            let Block { address, site, .. } = self.graph.blocks().get(block);
            let is_small = || self.is_small(address);
            site == NO_SITE
                || content(block) != Content::Unknown
                || self.mapped.contains(block)
                || self.types.spare.contains(&block)
                || is_small()
        }
    }

    /// Objects of which a pointer to a base is left are not lost.
    fn count_bases(&self, kinds: &mut LeakKinds) {
        let mut files: Vec<Span> = files(self.mappings).map(|file| file.span).collect();
        files.sort_unstable();
        let is_possible = |block| kinds.get(block) == LeakKind::PossiblyLost;
        let bases = BasePointers::find(&self.graph, self.memory, &files, is_possible);
        kinds.promote(&self.graph, &bases);
    }

    /// Blocks of Python that no root leads to; `None` where its objects are not known.
    pub(crate) fn unreachable(&self) -> Option<Unreachable> {
        let objects = PythonObjects { heap: self, python: self.python.as_ref()?, content: self.content() };
        Some(Unreachable::of(&self.graph, &objects))
    }

    /// The graph.
    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The interpreter.
    pub(crate) fn python(&self) -> Option<&Python<'m, Memory>> {
        self.python.as_ref()
    }

    /// The class of a block, 0 where it is not known.
    pub(crate) fn class(&self, block: BlockId) -> u32 {
        self.types.classes[block.index()]
    }

    /// Whether a small object of Python lies there.
    pub(crate) fn is_small(&self, address: Addr) -> bool {
        self.arenas.contains(address)
    }

    /// The shortest path to each block, through objects where there are any, be they Python's or of a C++ class.
    pub(crate) fn paths(&self) -> Paths {
        if self.python.is_none() {
            return Paths::of(&self.graph);
        }
        let of_python = self.content();
        Paths::through(&self.graph, |block| match of_python(block) {
            Content::Unknown if self.mapped.contains(block) => Content::Mapping,
            Content::Unknown if self.class(block) != 0 => Content::Native,
            content => content,
        })
    }

    /// Names the steps of paths; keys of dicts that are not in the source only where `shows_keys`.
    pub(crate) fn namer(&self, names: &Interner, shows_keys: bool) -> Namer<'_, 'm, Memory> {
        Namer {
            graph: &self.graph,
            memory: self.memory,
            python: self.python.as_ref(),
            arenas: &self.arenas,
            names: &self.root_names,
            classes: &self.types.classes,
            mappings: &self.mapped,
            class_names: names.all().to_vec(),
            native: NativeNames::new(self.memory, self.mappings, self.threads),
            literals: Literals::new(shows_keys, self.script.clone()),
        }
    }

    /// Knows objects of Python's.
    pub(crate) fn content(&self) -> impl Fn(BlockId) -> Content + '_ {
        let Types { classes, python_classes, .. } = &self.types;
        let count = 1 + classes.iter().max().map_or(0, |&class| class as usize);
        let mut of_class = vec![Content::Unknown; count];
        for (&class, &content) in python_classes {
            of_class.get_mut(class as usize).into_iter().for_each(|entry| *entry = content);
        }
        move |block| of_class[classes[block.index()] as usize]
    }
}

/// What the interpreter says of the blocks of a heap.
struct PythonObjects<'a, 'm, F> {
    heap: &'a TypedHeap<'m>,
    python: &'a Python<'m, Memory>,
    content: F,
}

impl<F: Fn(BlockId) -> Content> ReferenceCounts for PythonObjects<'_, '_, F> {
    fn is_object(&self, block: BlockId) -> bool {
        (self.content)(block) != Content::Unknown
    }

    fn is_plain(&self, block: BlockId) -> bool {
        matches!((self.content)(block), Content::Object | Content::Class)
    }

    fn references(&self, block: BlockId) -> Option<u64> {
        self.python.references(self.heap.graph.object_address(block))
    }
}

/// What of a snapshot is a block, and what leads to blocks.
struct Contents {
    blocks: Vec<Block>,
    ranges: Vec<RootRange>,
    /// Memory that the program mapped itself: these are blocks, too.
    mapped: Vec<RootRange>,
    arenas: Arenas,
}

impl Contents {
    fn of(snapshot: &Snapshot, python: Option<&Python<'_, Memory>>, state: Option<Span>) -> Self {
        let mut blocks = snapshot.blocks.clone();
        // Variables of threads come before other words of their memory, which may be old.
        let mut ranges = thread_locals(snapshot);
        ranges.extend(&snapshot.roots.ranges);
        let mut arenas = Arenas::default();
        if let Some(of) = &snapshot.python {
            match python {
                Some(python) => blocks.extend(small_blocks(python, &of.arenas, &of.sampled)),
                // Objects that cannot be distinguished count as reached.
                None => ranges.extend(of.arenas.iter().map(|&span| unknown(span))),
            }
            arenas = Arenas::new(of.arenas.clone());
        }
        if let Some(state) = state {
            ranges = ranges.into_iter().flat_map(|range| around(range, state)).collect();
        }
        let mapped: Vec<RootRange> = ranges.extract_if(.., |range| is_mapped(range)).collect();
        blocks.extend(mapped.iter().map(mapped_block));
        Self { blocks, ranges, mapped, arenas }
    }
}

/// The thread-local variables of the program itself.
fn thread_locals(snapshot: &Snapshot) -> Vec<RootRange> {
    let threads = &snapshot.roots.threads;
    let size = thread_local_size(&snapshot.mappings).filter(|_| !threads.is_empty()).unwrap_or(0);
    let range = |thread: &ThreadState| {
        let start = thread.control_block.checked_sub(size).filter(|_| size > 0)?;
        let span = Span::new(Addr::new(start), Addr::new(thread.control_block));
        Some(RootRange { span, kind: RootKind::Stack { thread: thread.thread } })
    };
    threads.iter().filter_map(range).collect()
}

/// The interpreter, and where its state lies.
fn interpreter(snapshot: &Snapshot) -> Option<(Python<'_, Memory>, PythonRuntime)> {
    let version = snapshot.python.as_ref()?.version;
    let runtime = PythonRuntime::of(&snapshot.mappings)?;
    Some((Python::open(&snapshot.memory, version, runtime.span.start)?, runtime))
}

/// Data of a module without the interpreter's state, and the part of that state in it.
fn around(range: RootRange, state: Span) -> impl Iterator<Item = RootRange> {
    let RootRange { span, kind } = range;
    let (from, to) = match kind {
        RootKind::Data => (state.start.clamp(span.start, span.end), state.end.clamp(span.start, span.end)),
        _ => (span.end, span.end),
    };
    let parts = [(span.start, from, kind), (from, to, RootKind::PythonRuntime), (to, span.end, kind)];
    let ranges = parts.map(|(start, end, kind)| RootRange { span: Span::new(start, end), kind });
    ranges.into_iter().filter(|range| range.span.length() > Bytes::ZERO)
}

fn files(mappings: &[Mapping]) -> impl Iterator<Item = &Mapping> {
    mappings.iter().filter(|mapping| mapping.file().is_some())
}

/// Memory of which nothing is known but that it may lead to blocks.
fn unknown(span: Span) -> RootRange {
    RootRange { span, kind: RootKind::Anonymous }
}

fn is_mapped(range: &RootRange) -> bool {
    matches!(range.kind, RootKind::Mapped { .. })
}

/// Memory that the program mapped itself, as far as it is there, as a block.
fn mapped_block(range: &RootRange) -> Block {
    let site = match range.kind {
        RootKind::Mapped { site } => site,
        _ => NO_SITE,
    };
    Block { address: range.span.start, size: range.span.length(), site }
}

/// Where names begin in Python, and how early each is asked.
fn named_roots(found: Vec<PythonRoot>) -> (Vec<NamedRoot>, Vec<RootName>) {
    let (mut roots, mut names) = (Vec::new(), Vec::new());
    for root in found {
        let (rank, is_sole) = match &root.name {
            RootName::Module(name) if name == "__main__" => (Rank::MainModule, true),
            RootName::Module(_) | RootName::NumberedModule(_) => (Rank::Module, true),
            RootName::Local { running, .. } if running.is_of_library() => (Rank::LibraryLocal, false),
            RootName::Local { .. } => (Rank::Local, false),
            RootName::Temporary { .. } => (Rank::Temporary, false),
            RootName::Interpreter(_) => (Rank::Interpreter, false),
        };
        roots.push(NamedRoot { rank, id: names.len() as u32, address: root.object, is_sole });
        names.push(root.name);
    }
    (roots, names)
}

/// The file of the script. A relative path would be one of a directory that the program may have left.
fn script_of(python: &Python<'_, Memory>, roots: &[PythonRoot]) -> Option<PathBuf> {
    let is_main = |root: &&PythonRoot| matches!(&root.name, RootName::Module(name) if name == "__main__");
    let file = python.file_of_module(roots.iter().find(is_main)?.object)?;
    Some(PathBuf::from(file)).filter(|file| file.is_absolute())
}

/// What is no pointer in the data of the interpreter.
fn constants(python: &Python<'_, Memory>, mappings: &[Mapping], ranges: &[RootRange]) -> Vec<Span> {
    let runtime = python.runtime();
    let Some(own) = files(mappings).find(|file| file.span.contains(runtime)) else { return Vec::new() };
    let is_own = |range: &&RootRange| {
        files(mappings).any(|file| file.name == own.name && file.span.contains(range.span.start))
    };
    let mut parts: Vec<Span> = Vec::new();
    ranges.iter().filter(is_own).for_each(|range| parts.extend(python.constants(range.span)));
    parts.sort_unstable();
    parts
}

/// Small objects, with the sites of those that were sampled.
fn small_blocks(python: &Python<'_, Memory>, arenas: &[Span], sampled: &[Block]) -> Vec<Block> {
    let sites: HashMap<Addr, u32> = sampled.iter().map(|block| (block.address, block.site)).collect();
    let block = |(address, size): (Addr, Bytes)| Block {
        address,
        size,
        site: sites.get(&address).copied().unwrap_or(NO_SITE),
    };
    python.small_blocks(arenas).into_iter().map(block).collect()
}
