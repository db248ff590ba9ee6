//! The view of one heap, as it goes into a recording: names and sums, never memory of the program.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use heaplens_format::recording::{
    Amount, BaseClass, ClassRow, GrowingNode, HeapView, Holder, UnreachableSite,
};
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{Block, Memory};

use super::namer::Namer;
use super::reference_paths::{NamedStep, ReferencePaths, common_beginning, shape};
use super::reused::{REUSED_TYPES, Reuse, reused_sites};
use super::samples::Samples;
use super::typed_heap::{NO_SITE, TypedHeap};
use crate::heap::memory::BlockId;
use crate::heap::reachability::{BlockKind, Dominators, Growing, Node, Paths, Summary, growing, largest};
use crate::heap::scan::{self, RootOrigin};
use crate::heap::types::Interner;

/// Rows of classes.
const CLASSES: usize = 200;
/// Retainers and growing containers.
const POINTS: usize = 20;

/// What is remembered from one snapshot to the next.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// CppClasses and groups of roots have one number in all snapshots.
    names: Interner,
    earlier: Option<Summary>,
    /// How many elements containers of Python's had, by their addresses.
    lengths: HashMap<Addr, u64>,
    /// Whether keys of dicts are shown that are not in the source.
    shows_keys: bool,
}

impl History {
    /// Of snapshots whose keys are all shown, or only those of the source.
    pub(crate) fn new(shows_keys: bool) -> Self {
        Self { shows_keys, ..Self::default() }
    }

    /// Names of classes and groups.
    pub(crate) fn names(&mut self) -> &mut Interner {
        &mut self.names
    }
}

/// What the heap is; when it was and how long that took is left to whoever took the snapshot.
pub(crate) fn view(heap: &TypedHeap<'_>, history: &mut History) -> HeapView {
    let History { names, earlier, lengths, shows_keys } = history;
    let mut builder = ViewBuilder::new(heap, heap.namer(names, *shows_keys));
    let holders = builder.holders();
    let (mut retainers, mut grown) = (Vec::new(), Vec::new());
    if let Some(tree) = builder.tree(names) {
        let summary = Summary::of(heap.graph(), &tree.dominators, |node| kind(heap, node));
        retainers = builder.retainers(&tree, &summary);
        grown = earlier.as_ref().map(|earlier| builder.grown(&tree, earlier, &summary)).unwrap_or_default();
        builder.add_retained(&tree.dominators);
        *earlier = Some(summary);
    }
    let reused = reused_sites(heap.graph().blocks(), &builder.free_lists(names));
    *lengths = builder.count_elements(lengths, &mut grown);
    HeapView {
        live: amount(heap),
        classes: class_rows(heap, names),
        limited: builder.recorded.limited().to_vec(),
        bases: builder.base_classes(),
        nodes: builder.recorded.finish(),
        holders,
        retainers,
        growing: grown,
        unreachable: unreachable(heap),
        reused,
        ..HeapView::default()
    }
}

/// Who holds the blocks of some sites, in order.
pub(crate) fn section_view(heap: &TypedHeap<'_>, history: &History, sites: &[u32]) -> HeapView {
    let is_wanted = |site: u32| sites.binary_search(&site).is_ok();
    let mut builder = ViewBuilder::new(heap, heap.namer(&history.names, history.shows_keys));
    let holders = builder.holders_of(is_wanted);
    let mut unreachable = unreachable(heap);
    unreachable.iter_mut().for_each(|sites| sites.retain(|of| is_wanted(of.site)));
    let blocks = heap.graph().blocks();
    let own = blocks.ids().map(|id| blocks.get(id)).filter(|block| is_wanted(block.site));
    let live = own.map(of_one).sum();
    HeapView { live, nodes: builder.recorded.finish(), holders, unreachable, ..HeapView::default() }
}

/// Only the objects of Python that no root leads to; `None` where these are not known.
pub(crate) fn unreachable_view(heap: &TypedHeap<'_>) -> Option<HeapView> {
    Some(HeapView { unreachable: Some(unreachable(heap)?), ..HeapView::default() })
}

/// What a view is made with.
struct ViewBuilder<'a, 'm> {
    heap: &'a TypedHeap<'m>,
    paths: Paths,
    namer: Namer<'a, 'm, Memory>,
    recorded: ReferencePaths,
}

/// What may come from a free list of the interpreter.
struct FreeLists<'a, 'm> {
    heap: &'a TypedHeap<'m>,
    paths: &'a Paths,
    /// Numbers of the types.
    types: [u32; REUSED_TYPES.len()],
    dict: u32,
}

impl Reuse for FreeLists<'_, '_> {
    fn is_reused(&self, block: BlockId) -> bool {
        let is_table = || self.holder(block).is_some_and(|holder| self.dict == self.heap.class(holder));
        match self.heap.class(block) {
            0 => is_table(),
            class => self.types.contains(&class),
        }
    }

    fn holder(&self, block: BlockId) -> Option<BlockId> {
        match self.paths.holder(self.heap.graph(), block)? {
            scan::Holder::Block(holder) => Some(holder),
            scan::Holder::Root(_) => None,
        }
    }
}

/// What goes when one thing goes, and the names of groups of roots.
struct DominatorTree {
    dominators: Dominators,
    groups: HashMap<u32, Vec<NamedStep>>,
}

impl<'a, 'm> ViewBuilder<'a, 'm> {
    fn new(heap: &'a TypedHeap<'m>, namer: Namer<'a, 'm, Memory>) -> Self {
        Self { heap, paths: heap.paths(), namer, recorded: ReferencePaths::default() }
    }

    fn free_lists(&self, names: &mut Interner) -> FreeLists<'_, 'm> {
        let types = REUSED_TYPES.map(|name| names.number(name));
        FreeLists { heap: self.heap, paths: &self.paths, types, dict: names.number("dict") }
    }

    /// Who holds the blocks of each site that has many bytes.
    fn holders(&mut self) -> Vec<Holder> {
        self.holders_of(|site| site != NO_SITE)
    }

    /// The same of the sites that are wanted.
    fn holders_of(&mut self, is_wanted: impl Fn(u32) -> bool) -> Vec<Holder> {
        let is_small = |address| self.heap.is_small(address);
        let samples = Samples::of(self.heap.graph().blocks(), is_wanted, is_small);
        samples.sites().filter_map(|(site, blocks)| self.holder(site, blocks)).collect()
    }

    /// Who holds most of these blocks.
    fn holder(&mut self, site: u32, blocks: &[BlockId]) -> Option<Holder> {
        let found: Vec<Vec<NamedStep>> = blocks.iter().filter_map(|&block| self.path_to(block)).collect();
        let mut alike: HashMap<_, (u32, usize)> = HashMap::new();
        for (at, path) in found.iter().enumerate() {
            alike.entry(shape(path)).or_insert((0, at)).0 += 1;
        }
        // Of paths that are as frequent the first counts, so that the answer is the same each time.
        let (alike, at) = alike.into_values().max_by_key(|&(count, at)| (count, std::cmp::Reverse(at)))?;
        let inspected = found.len() as u32;
        let (alike, path) = match common_beginning(&found) {
            Some(common) if 2 * alike < inspected => common,
            _ => (alike, &found[at][..]),
        };
        let node = self.recorded.add(path)?;
        Some(Holder { site, node, inspected, alike })
    }

    /// The path to a block; `None` where it is lost.
    fn path_to(&self, block: BlockId) -> Option<Vec<NamedStep>> {
        Some(self.namer.steps(&self.paths.path(self.heap.graph(), block)?))
    }

    /// Roots of one name are one group; `None` where there are too many pointers.
    fn tree(&self, names: &mut Interner) -> Option<DominatorTree> {
        let mut groups: HashMap<u32, Vec<NamedStep>> = HashMap::new();
        let mut numbers: HashMap<RootOrigin, u32> = HashMap::new();
        let dominators = Dominators::through(self.heap.graph(), self.heap.content(), |origin| {
            *numbers.entry(self.namer.same_name(origin)).or_insert_with(|| {
                let path = self.namer.root_alone(origin);
                let number = names.number(&label(&path));
                groups.entry(number).or_insert(path);
                number
            })
        });
        Some(DominatorTree { dominators: dominators.ok()?, groups })
    }

    /// The path to a point.
    fn path_to_point(&self, tree: &DominatorTree, point: &Growing) -> Option<Vec<NamedStep>> {
        match point.node {
            Node::Block(block) => self.path_to(block),
            Node::Group(group) => tree.groups.get(&group).cloned(),
            Node::Everything => None,
        }
    }

    /// What holds most.
    fn retainers(&mut self, tree: &DominatorTree, summary: &Summary) -> Vec<u32> {
        let mut retainers: Vec<u32> =
            largest(summary, POINTS).iter().filter_map(|point| self.point(tree, point)).collect();
        retainers.dedup();
        retainers
    }

    /// Which containers hold more than before.
    fn grown(&mut self, tree: &DominatorTree, earlier: &Summary, summary: &Summary) -> Vec<GrowingNode> {
        let mut grown = Vec::new();
        for point in growing(earlier, summary, POINTS) {
            if let Some(node) = self.point(tree, &point) {
                grown.push(GrowingNode { node, before: point.before.unwrap_or_default(), elements: [0; 2] });
            }
        }
        grown
    }

    /// The node of a point, with what it holds.
    fn point(&mut self, tree: &DominatorTree, point: &Growing) -> Option<u32> {
        let node = self.recorded.add(&self.path_to_point(tree, point)?)?;
        self.recorded.set_retained(node, point.after);
        Some(node)
    }

    /// What each block on a path holds.
    fn add_retained(&mut self, dominators: &Dominators) {
        let blocks = self.heap.graph().blocks();
        let retained: Vec<(u32, Amount)> = self
            .recorded
            .addresses()
            .filter_map(|(node, address)| Some((node, dominators.retained(blocks.find(address)?.0))))
            .collect();
        retained.into_iter().for_each(|(node, retained)| self.recorded.set_retained(node, retained));
    }

    /// What the classes on paths inherit from: a rule about a class is one about those that are made from it.
    fn base_classes(&self) -> Vec<BaseClass> {
        let Some(python) = self.heap.python() else { return Vec::new() };
        let mut bases: BTreeMap<Rc<str>, Vec<Rc<str>>> = BTreeMap::new();
        for (_, address) in self.recorded.addresses().filter(|&(node, _)| self.recorded.has_class(node)) {
            bases.extend(python.class_and_bases(address));
        }
        let rows = bases.iter().flat_map(|(class, bases)| bases.iter().map(move |base| (class, base)));
        rows.map(|(class, base)| BaseClass { class: (**class).into(), base: (**base).into() }).collect()
    }

    /// Containers say themselves how many elements they have, now and at the snapshot before; those of now, by their addresses.
    fn count_elements(&self, lengths: &HashMap<Addr, u64>, grown: &mut [GrowingNode]) -> HashMap<Addr, u64> {
        let length = |address: Addr| self.heap.python()?.length(address);
        let addresses = self
            .recorded
            .addresses()
            .map(|(_, address)| address)
            .filter(|&address| address != Addr::default());
        let now: HashMap<Addr, u64> =
            addresses.filter_map(|address| Some((address, length(address)?))).collect();
        for growing in grown {
            let address = self.recorded.address(growing.node);
            if let (Some(&before), Some(&now)) = (lengths.get(&address), now.get(&address)) {
                growing.elements = [before, now];
            }
        }
        now
    }
}

fn label(path: &[NamedStep]) -> String {
    let steps: Vec<String> = path.iter().map(|named| format!("{:?} {}", named.step, named.name)).collect();
    steps.join("/")
}

fn kind(heap: &TypedHeap<'_>, node: Node) -> BlockKind {
    match node {
        Node::Block(block) => BlockKind {
            class: heap.class(block),
            site: Some(heap.graph().blocks().get(block).site).filter(|&site| site != NO_SITE).unwrap_or(0),
        },
        Node::Everything | Node::Group(_) => BlockKind::default(),
    }
}

fn amount(heap: &TypedHeap<'_>) -> Amount {
    let blocks = heap.graph().blocks();
    blocks.ids().map(|id| of_one(blocks.get(id))).sum()
}

/// What the blocks are. Those that have no class are listed by their size.
fn class_rows(heap: &TypedHeap<'_>, names: &mut Interner) -> Vec<ClassRow> {
    let mut sums: HashMap<u32, Amount> = HashMap::new();
    for id in heap.graph().blocks().ids() {
        let block = heap.graph().blocks().get(id);
        let class = match (heap.class(id), heap.graph().payload(id)) {
            (0, Some(payload)) => names.number(payload.words()),
            (0, None) => names.number(size_class(block.size)),
            (class, _) => class,
        };
        *sums.entry(class).or_default() += of_one(block);
    }
    let mut rows: Vec<ClassRow> =
        sums.into_iter().map(|(class, live)| ClassRow { class: names.name(class).clone(), live }).collect();
    rows.sort_by(|one, other| (other.live.bytes, &one.class).cmp(&(one.live.bytes, &other.class)));
    rows.truncate(CLASSES);
    rows
}

/// Sites with blocks that no root leads to, in order; `None` where Python objects are not known.
fn unreachable(heap: &TypedHeap<'_>) -> Option<Vec<UnreachableSite>> {
    let (found, blocks) = (heap.unreachable()?, heap.graph().blocks());
    let mut sites: BTreeMap<u32, UnreachableSite> = BTreeMap::new();
    let with_site = || blocks.ids().filter(|&id| blocks.get(id).site != NO_SITE);
    for id in with_site().filter(|&id| found.is_garbage(id) || found.is_overcounted(id)) {
        let block = blocks.get(id);
        let none = Amount::default();
        let empty = UnreachableSite { site: block.site, live: none, garbage: none, overcounted: none };
        let of = sites.entry(block.site).or_insert(empty);
        *if found.is_garbage(id) { &mut of.garbage } else { &mut of.overcounted } += of_one(block);
    }
    for block in with_site().map(|id| blocks.get(id)) {
        if let Some(of) = sites.get_mut(&block.site) {
            of.live += of_one(block);
        }
    }
    Some(sites.into_values().collect())
}

fn of_one(block: Block) -> Amount {
    Amount { bytes: block.size, blocks: 1 }
}

fn size_class(size: Bytes) -> &'static str {
    match size.get() {
        0..=64 => "blocks up to 64 B",
        65..=512 => "blocks up to 512 B",
        513..=4096 => "blocks up to 4 KiB",
        4097..=65_536 => "blocks up to 64 KiB",
        65_537..=1_048_576 => "blocks up to 1 MiB",
        _ => "blocks beyond 1 MiB",
    }
}
