//! One look at the heap: what its blocks are, which of them are lost, who holds the others, and what grew since the look before.
//!
//! ```text
//!   scene ─▶ names (Python's roots, classes) ─▶ graph ─┬─ kinds ──────────────────▶ lost blocks
//!                                                      ├─ paths ───▶ namer ──┬─────▶ holders of sites
//!                                                      └─ dominators ────────┴─────▶ retainers, growing containers
//! ```

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use heaplens_format::recording::{Amount, ClassRow, GrowingNode, HeapView, Holder as SiteHolder, LostSite};
use heaplens_format::{Addr, Bytes};

use super::blocks::{Block, BlockId, Blocks, TooManyBlocks};
use super::classes::Classes;
use super::dominators::{Dominators, Node};
use super::globals::{Globals, MappedFile};
use super::graph::Graph;
use super::growing::{Growing, growing, largest};
use super::interner::Interner;
use super::kinds::Kinds;
use super::marked::Marked;
use super::memory::ReadMemory;
use super::namer::Namer;
use super::objects::{Arenas, Typist};
use super::paths::{Content, Paths};
use super::python::{Python, RootName};
use super::roots::{NamedRoot, RootKind, RootOrigin, RootRange, Roots};
use super::runtime;
use super::samples::Samples;
use super::scene::{self, Scene};
use super::summary::{BlockKind, Summary};
use super::ways::{Named, Ways, shape};

/// The site of blocks whose stack is not known.
const NO_SITE: u32 = u32::MAX;
/// The class of memory that the program mapped itself.
const MAPPING: &str = "mapping";
/// Rows of classes.
const CLASSES: usize = 200;
/// Retainers and growing containers.
const POINTS: usize = 20;

/// How early a root is asked for a way: what comes first gives it its name. Other roots bring their own.
mod rank {
    pub(super) const MAIN: u8 = 0;
    pub(super) const LOCALS: u8 = 1;
    pub(super) const MODULES: u8 = 2;
    pub(super) const INTERPRETER: u8 = 7;
    pub(super) const TEMPORARIES: u8 = 8;
}

/// What one look gives.
#[derive(Debug)]
pub struct Look {
    /// Which blocks can be reached.
    pub lost: Vec<LostSite>,
    /// What the heap is; when and how long is left to the caller.
    pub view: HeapView,
}

/// Looks at one process again and again, and remembers what it needs to tell what grew.
#[derive(Debug, Default)]
pub struct Examiner {
    /// Classes and groups of roots have one number over all looks.
    names: Interner,
    earlier: Option<Summary>,
    /// How many elements containers of Python's had, by their addresses.
    lengths: HashMap<u64, u64>,
}

impl Examiner {
    /// Which blocks of a process can be reached.
    ///
    /// # Errors
    /// When there are more blocks than a graph can be made of.
    pub fn lost<M: ReadMemory>(&mut self, scene: Scene<'_, M>) -> Result<Vec<LostSite>, TooManyBlocks> {
        let heap = Heap::new(scene, &mut self.names)?;
        Ok(heap.lost())
    }

    /// The same, and who holds them.
    ///
    /// # Errors
    /// When there are more blocks than a graph can be made of.
    pub fn look<M: ReadMemory>(&mut self, scene: Scene<'_, M>) -> Result<Look, TooManyBlocks> {
        let heap = Heap::new(scene, &mut self.names)?;
        let lost = heap.lost();
        let view = heap.view(self);
        Ok(Look { lost, view })
    }
}

/// The heap of one look.
struct Heap<'m, M> {
    memory: &'m M,
    graph: Graph,
    python: Option<Python<'m, M>>,
    /// Of named roots.
    root_names: Vec<RootName>,
    /// The class of each block, 0 where it is not known.
    classes: Vec<u32>,
    /// Those of them that are Python's, and what their instances are.
    python_classes: HashMap<u32, Content>,
    /// Blocks that the interpreter keeps for later use.
    spare: HashSet<BlockId>,
    files: Vec<MappedFile>,
    /// Where Python's small objects lie.
    arenas: Arenas,
    /// Blocks that the program mapped itself.
    mappings: Marked,
}

impl<'m, M: ReadMemory> Heap<'m, M> {
    fn new(scene: Scene<'m, M>, names: &mut Interner) -> Result<Self, TooManyBlocks> {
        let memory = scene.memory;
        let python = scene
            .python
            .as_ref()
            .and_then(|python| Python::open(memory, python.version, runtime::of_python(&scene.files)?));
        let (named, root_names) = python.as_ref().map(named_roots).unwrap_or_default();
        let mut roots = scene.roots;
        let mut blocks = scene.blocks;
        let mut arenas = Arenas::default();
        if let Some(of) = scene.python {
            match &python {
                Some(python) => blocks.extend(small_blocks(python, &of.arenas, &of.sampled)),
                // What cannot be told apart counts as reached.
                None => roots.extend(of.arenas.iter().map(|&(start, end)| scene::unknown(start, end))),
            }
            arenas = Arenas::new(of.arenas);
        }
        let mappings: Vec<RootRange> = roots.extract_if(.., |range| is_mapping(range)).collect();
        blocks.extend(mappings.iter().map(mapped_block));
        let blocks = Blocks::new(blocks)?;
        let mapped = Marked::of(mappings.iter().map(|range| range.start), &blocks);
        let (allocator_data, registers) = (scene.allocator_data, scene.registers);
        let constants =
            python.as_ref().map(|python| constants(python, &scene.files, &roots)).unwrap_or_default();
        let roots = Roots { ranges: roots, allocator_data, mappings, registers, named, constants };
        let images = scene.files.iter().map(|file| (file.start, file.end)).collect();
        let mut typist = Typist {
            python: python.as_ref(),
            arenas: &arenas,
            cpp: Classes::new(memory, images),
            mappings: &mapped,
            mapping: names.number(MAPPING),
            names,
            classes: vec![0; blocks.len()],
            known: HashMap::new(),
            spare: Vec::new(),
            idle: Vec::new(),
        };
        let mut graph =
            Graph::with_links(blocks, &roots, memory, |id, block, words| typist.look_at(id, block, words));
        graph.forget(&typist.idle, memory);
        let python_classes = typist.known.iter().map(|(&class, &number)| {
            let makes_classes = python.as_ref().is_some_and(|python| python.makes_classes(class));
            (number, if makes_classes { Content::Class } else { Content::Object })
        });
        let (python_classes, classes) = (python_classes.collect(), typist.classes);
        let spare =
            typist.spare.iter().filter_map(|&address| Some(graph.blocks().find(address)?.0)).collect();
        let files = scene.files;
        let mappings = mapped;
        Ok(Self {
            memory,
            graph,
            python,
            root_names,
            classes,
            python_classes,
            spare,
            files,
            arenas,
            mappings,
        })
    }

    /// Objects of Python's are not told of, and count as reached: of one that nothing seems to lead to it is not known whether
    /// the interpreter keeps it in a way that is not read here. So do mappings, as with Memcheck: a program may well know where
    /// they are without a pointer.
    fn lost(&self) -> Vec<LostSite> {
        let content = self.content();
        let is_given = |block: BlockId| {
            let is_small = || self.arenas.contains(self.graph.blocks().get(block).address.get());
            content(block) != Content::Unknown
                || self.mappings.contains(block)
                || self.spare.contains(&block)
                || is_small()
        };
        Kinds::with(&self.graph, is_given).sites(&self.graph, |block| !is_given(block))
    }

    /// Tells objects of Python's.
    fn content(&self) -> impl Fn(BlockId) -> Content + '_ {
        let count = 1 + self.classes.iter().max().map_or(0, |&class| class as usize);
        let mut of_class = vec![Content::Unknown; count];
        for (&class, &content) in &self.python_classes {
            of_class.get_mut(class as usize).into_iter().for_each(|entry| *entry = content);
        }
        move |block| of_class[self.classes[block.index()] as usize]
    }

    fn view(&self, memory: &mut Examiner) -> HeapView {
        let Examiner { names, earlier, lengths } = memory;
        let paths = match self.python {
            Some(_) => Paths::through(&self.graph, self.content()),
            None => Paths::of(&self.graph),
        };
        let namer = Namer {
            graph: &self.graph,
            memory: self.memory,
            python: self.python.as_ref(),
            arenas: &self.arenas,
            names: &self.root_names,
            classes: &self.classes,
            mappings: &self.mappings,
            class_names: names.all().to_vec(),
            globals: RefCell::new(Globals::new(&self.files)),
        };
        let mut ways = Ways::default();
        let holders = self.holders(&paths, &namer, &mut ways);
        let mut groups: HashMap<u32, Vec<Named>> = HashMap::new();
        let mut numbers: HashMap<RootOrigin, u32> = HashMap::new();
        let dominators = Dominators::of(&self.graph, |origin| {
            *numbers.entry(namer.same_way(origin)).or_insert_with(|| {
                let way = namer.root_alone(origin);
                let label: Vec<String> =
                    way.iter().map(|named| format!("{:?} {}", named.step, named.name)).collect();
                let number = names.number(&label.join("/"));
                groups.entry(number).or_insert(way);
                number
            })
        });
        let (mut retainers, mut grown) = (Vec::new(), Vec::new());
        if let Ok(dominators) = &dominators {
            let summary = Summary::of(&self.graph, dominators, |node| self.kind(node));
            let place = |point: &Growing| match point.node {
                Node::Block(block) => self.way(&paths, &namer, block),
                Node::Group(group) => groups.get(&group).cloned(),
                Node::Everything => None,
            };
            for point in largest(&summary, POINTS) {
                let node = place(&point).and_then(|way| ways.add(&way));
                retainers.extend(node.inspect(|&node| ways.set_retained(node, point.after)));
            }
            for point in earlier.iter().flat_map(|earlier| growing(earlier, &summary, POINTS)) {
                let Some(node) = place(&point).and_then(|way| ways.add(&way)) else { continue };
                ways.set_retained(node, point.after);
                grown.push(GrowingNode { node, before: point.before.unwrap_or_default(), elements: [0; 2] });
            }
            let blocks = self.graph.blocks();
            let held: Vec<(u32, Amount)> = ways
                .addresses()
                .filter_map(|(node, address)| Some((node, dominators.retained(blocks.find(address)?.0))))
                .collect();
            held.into_iter().for_each(|(node, retained)| ways.set_retained(node, retained));
            *earlier = Some(summary);
        }
        self.count_elements(&ways, lengths, &mut grown);
        retainers.dedup();
        let live = self.graph.blocks().ids().map(|id| of_one(self.graph.blocks().get(id))).sum();
        HeapView {
            live,
            classes: self.class_rows(names),
            nodes: ways.finish(),
            holders,
            retainers,
            growing: grown,
            ..HeapView::default()
        }
    }

    /// Containers say themselves how many elements they have, now and at the look before.
    fn count_elements(&self, ways: &Ways, lengths: &mut HashMap<u64, u64>, grown: &mut [GrowingNode]) {
        let length = |address: u64| self.python.as_ref()?.length(address);
        let now: HashMap<u64, u64> = ways
            .addresses()
            .filter(|&(_, address)| address != 0)
            .filter_map(|(_, address)| Some((address, length(address)?)))
            .collect();
        for growing in grown {
            let address = ways.address(growing.node);
            if let (Some(&before), Some(&now)) = (lengths.get(&address), now.get(&address)) {
                growing.elements = [before, now];
            }
        }
        *lengths = now;
    }

    /// Who holds the blocks of each site that has many bytes.
    fn holders(&self, paths: &Paths, namer: &Namer<'_, 'm, M>, ways: &mut Ways) -> Vec<SiteHolder> {
        let samples =
            Samples::of(self.graph.blocks(), |site| site != NO_SITE, |address| self.arenas.contains(address));
        let mut holders = Vec::new();
        for (site, blocks) in samples.sites() {
            let found: Vec<Vec<Named>> =
                blocks.iter().filter_map(|&block| self.way(paths, namer, block)).collect();
            let mut alike: HashMap<_, (u32, usize)> = HashMap::new();
            for (at, way) in found.iter().enumerate() {
                alike.entry(shape(way)).or_insert((0, at)).0 += 1;
            }
            // Of ways that are as frequent the first counts, so that the answer is the same each time.
            let most = alike.into_values().max_by_key(|&(count, at)| (count, std::cmp::Reverse(at)));
            if let Some((count, node)) = most.and_then(|(count, at)| Some((count, ways.add(&found[at])?))) {
                holders.push(SiteHolder { site, node, looked_at: found.len() as u32, alike: count });
            }
        }
        holders
    }

    /// The way to a block; `None` where it is lost.
    fn way(&self, paths: &Paths, namer: &Namer<'_, 'm, M>, block: BlockId) -> Option<Vec<Named>> {
        Some(namer.way(&paths.path(&self.graph, block)?))
    }

    fn kind(&self, node: Node) -> BlockKind {
        match node {
            Node::Block(block) => BlockKind {
                class: self.classes[block.index()],
                site: Some(self.graph.blocks().get(block).site).filter(|&site| site != NO_SITE).unwrap_or(0),
            },
            Node::Everything | Node::Group(_) => BlockKind::default(),
        }
    }

    /// What the blocks are. Of those that have no class it is told how large they are.
    fn class_rows(&self, names: &mut Interner) -> Vec<ClassRow> {
        let mut sums: HashMap<u32, Amount> = HashMap::new();
        for id in self.graph.blocks().ids() {
            let block = self.graph.blocks().get(id);
            let class = match (self.classes[id.index()], self.graph.payload(id)) {
                (0, Some(payload)) => names.number(payload.words()),
                (0, None) => names.number(size_class(block.size.get())),
                (class, _) => class,
            };
            *sums.entry(class).or_default() += of_one(block);
        }
        let mut rows: Vec<ClassRow> = sums
            .into_iter()
            .map(|(class, live)| ClassRow { class: names.name(class).clone(), live })
            .collect();
        rows.sort_by(|one, other| (other.live.bytes, &one.class).cmp(&(one.live.bytes, &other.class)));
        rows.truncate(CLASSES);
        rows
    }
}

fn is_mapping(range: &RootRange) -> bool {
    matches!(range.kind, RootKind::Mapped { .. })
}

/// Memory that the program mapped itself, as far as it is there, as a block.
fn mapped_block(range: &RootRange) -> Block {
    let site = match range.kind {
        RootKind::Mapped { site } => site,
        _ => NO_SITE,
    };
    Block { address: Addr::new(range.start), size: Bytes::new(range.end - range.start), site }
}

fn of_one(block: Block) -> Amount {
    Amount { bytes: block.size, blocks: 1 }
}

fn size_class(bytes: u64) -> &'static str {
    match bytes {
        0..=64 => "blocks up to 64 B",
        65..=512 => "blocks up to 512 B",
        513..=4096 => "blocks up to 4 KiB",
        4097..=65_536 => "blocks up to 64 KiB",
        65_537..=1_048_576 => "blocks up to 1 MiB",
        _ => "blocks beyond 1 MiB",
    }
}

/// Where names begin in Python, and how early each is asked.
fn named_roots<M: ReadMemory>(python: &Python<'_, M>) -> (Vec<NamedRoot>, Vec<RootName>) {
    let (mut roots, mut names) = (Vec::new(), Vec::new());
    for root in python.roots() {
        let (rank, is_sole) = match &root.name {
            RootName::Module(name) if name == "__main__" => (rank::MAIN, true),
            RootName::Module(_) => (rank::MODULES, true),
            RootName::Local { .. } => (rank::LOCALS, false),
            RootName::Temporary { .. } => (rank::TEMPORARIES, false),
            RootName::Interpreter(_) => (rank::INTERPRETER, false),
        };
        roots.push(NamedRoot { rank, id: names.len() as u32, address: root.object, is_sole });
        names.push(root.name);
    }
    (roots, names)
}

/// What is no pointer in the data of the interpreter.
fn constants<M: ReadMemory>(
    python: &Python<'_, M>,
    files: &[MappedFile],
    roots: &[RootRange],
) -> Vec<(u64, u64)> {
    let has = |file: &MappedFile, address: u64| file.start <= address && address < file.end;
    let Some(own) = files.iter().find(|file| has(file, python.runtime())) else { return Vec::new() };
    let is_own =
        |range: &&RootRange| files.iter().any(|file| file.path == own.path && has(file, range.start));
    let mut parts: Vec<(u64, u64)> = Vec::new();
    roots.iter().filter(is_own).for_each(|range| parts.extend(python.constants((range.start, range.end))));
    parts.sort_unstable();
    parts
}

/// Small objects, with the sites of those that were sampled.
fn small_blocks<M: ReadMemory>(
    python: &Python<'_, M>,
    arenas: &[(u64, u64)],
    sampled: &[Block],
) -> Vec<Block> {
    let sites: HashMap<u64, u32> = sampled.iter().map(|block| (block.address.get(), block.site)).collect();
    let block = |(address, size): (u64, u64)| Block {
        address: Addr::new(address),
        size: Bytes::new(size),
        site: sites.get(&address).copied().unwrap_or(NO_SITE),
    };
    python.small_blocks(arenas).into_iter().map(block).collect()
}
