//! The stack trie of an arena: which of its nodes are on stacks of sites, what they mean, and how the recording numbers them.

use heaplens_format::arena::frame::{split_frame, split_sections_frame};
use heaplens_format::arena::python::split_python_frame;
use heaplens_format::arena::table::NodeRecord;
use heaplens_format::arena::{CounterId, FRAME_PSEUDO_MODULE, NODE_SIZE, Pseudo};
use heaplens_format::recording::{Frame, Module, Node, SiteKind};
use heaplens_format::{Addr, ModuleId, NodeId};

use super::codes::Codes;
use super::records::word;
use crate::agent;

/// What a node of the arena becomes in the recording.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    /// Its number, still the old one.
    pub(crate) node: NodeId,
    /// Its allocation kind.
    pub(crate) kind: AllocationKind,
}

/// What a stack allocates: the pseudo frame below its outermost frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllocationKind {
    /// Memory of a kind.
    Memory(SiteKind),
    /// No memory, but events of a counter.
    Counter(CounterId),
}

/// The trie of the arena, with the nodes marked that are on stacks of sites.
pub(crate) struct Trie<'a> {
    records: &'a [u8],
    modules: &'a [Module],
    paths: Vec<PathState>,
    /// The agent, whose one frame between `main` and libc is left out.
    agent: Option<u16>,
    wanted: Vec<bool>,
    torn: u64,
}

/// What is known of the path from the root to a node. Found once for all nodes: stacks may be thousands deep and have a
/// site at every depth.
#[derive(Clone, Copy, Default)]
struct PathState {
    kind: Option<AllocationKind>,
    is_torn: bool,
}

impl<'a> Trie<'a> {
    pub(crate) fn new(records: &'a [u8], modules: &'a [Module]) -> Self {
        let count = records.len() / NODE_SIZE;
        let paths = Vec::with_capacity(count);
        let agent = modules.iter().position(|module| agent::is_agent(std::path::Path::new(&module.path)));
        let agent = agent.and_then(|at| u16::try_from(at + 1).ok());
        let mut trie = Self { records, modules, paths, agent, wanted: vec![false; count], torn: 0 };
        for number in 0..count as u32 {
            let state = trie.state(number);
            trie.paths.push(state);
        }
        trie
    }

    /// Needs those of the nodes before it, among which its parent is.
    fn state(&self, number: u32) -> PathState {
        if number == 0 {
            return PathState::default();
        }
        let Some((frame, parent)) = self.node(number) else {
            return PathState { kind: None, is_torn: true };
        };
        let above = self.paths[parent as usize];
        PathState { kind: above.kind.or_else(|| allocation_kind_of(frame)), ..above }
    }

    /// Hash, frame and parent of a node; `None` for the root and for what is torn.
    fn node(&self, number: u32) -> Option<(u64, u32)> {
        let start = number as usize * NODE_SIZE;
        let record = self.records.get(start..start + NODE_SIZE)?;
        let parent = word(record, std::mem::offset_of!(NodeRecord, parent)) as u32;
        let whole = word(record, std::mem::offset_of!(NodeRecord, hash)) != 0 && parent < number;
        whole.then(|| (word(record, std::mem::offset_of!(NodeRecord, frame)), parent))
    }

    /// Marks the path of a site, and finds its allocation kind.
    pub(crate) fn enter(&mut self, number: u32) -> Option<Path> {
        let Some(&state) = self.paths.get(number as usize) else {
            self.torn += 1;
            return None;
        };
        self.torn += u64::from(state.is_torn);
        let mut at = number;
        while at != 0
            && !self.wanted[at as usize]
            && let Some((_, parent)) = self.node(at)
        {
            self.wanted[at as usize] = true;
            at = parent;
        }
        let kind = state.kind.unwrap_or(AllocationKind::Memory(SiteKind::Heap));
        Some(Path { node: NodeId::new(number), kind })
    }

    /// The bits of the sections in which a site's stack allocated.
    pub(crate) fn sections(&self, number: u32) -> u32 {
        self.node(number).and_then(|(frame, _)| split_sections_frame(frame)).unwrap_or(0)
    }

    /// Numbers the marked nodes anew, parents before children, without the pseudo frames of kinds and sections,
    /// without the agent's, and without those of the probe's Python.
    pub(crate) fn finish(self, codes: &mut Codes<'_>) -> (Order, u64) {
        let mut order = Order { nodes: Vec::new(), new_numbers: vec![0; self.wanted.len()] };
        for number in 1..self.wanted.len() as u32 {
            if !self.wanted[number as usize] {
                continue;
            }
            let Some((frame, parent)) = self.node(number) else { continue };
            let parent = order.new_numbers[parent as usize];
            let is_section = split_sections_frame(frame).is_some();
            if is_section
                || allocation_kind_of(frame).is_some()
                || self.is_agents(frame)
                || is_probes(frame, codes)
            {
                order.new_numbers[number as usize] = parent;
                continue;
            }
            order.nodes.push(Node { parent: NodeId::new(parent), frame: self.frame(frame, codes) });
            order.new_numbers[number as usize] = order.nodes.len() as u32;
        }
        (order, self.torn)
    }

    fn is_agents(&self, frame: u64) -> bool {
        split_python_frame(frame).is_none() && self.agent.is_some_and(|agent| split_frame(frame).0 == agent)
    }

    fn frame(&self, frame: u64, codes: &mut Codes<'_>) -> Frame {
        if let Some((code, instruction)) = split_python_frame(frame) {
            return codes.frame(code, instruction);
        }
        if let Some(pseudo) = Pseudo::from_frame(frame) {
            return Frame::Pseudo(pseudo);
        }
        let (module, address) = split_frame(frame);
        match self.modules.get(usize::from(module).wrapping_sub(1)) {
            Some(object) if module != FRAME_PSEUDO_MODULE => {
                Frame::Code { module: ModuleId::new(module), offset: address.wrapping_sub(object.bias.get()) }
            }
            _ => Frame::Unknown { address: Addr::new(address) },
        }
    }
}

fn is_probes(frame: u64, codes: &Codes<'_>) -> bool {
    split_python_frame(frame).is_some_and(|(code, _)| codes.is_probes(code))
}

pub(crate) fn allocation_kind_of(frame: u64) -> Option<AllocationKind> {
    let kind = Pseudo::from_frame(frame)?;
    match kind {
        Pseudo::Counter(counter) => Some(AllocationKind::Counter(counter)),
        _ => SiteKind::of(kind).map(AllocationKind::Memory),
    }
}

/// The nodes in their new order, and the new number of each old one.
pub(crate) struct Order {
    /// In their new order.
    pub(crate) nodes: Vec<Node>,
    new_numbers: Vec<u32>,
}

impl Order {
    pub(crate) fn new_number(&self, old: NodeId) -> NodeId {
        NodeId::new(self.new_numbers.get(old.get() as usize).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::arena::frame::frame_word;
    use proptest::prelude::*;

    /// A node that may be torn, of a kind or not, with a parent that may not come before it.
    fn record(hash: u8, pseudo: bool, kind: u8, parent: u8) -> [u8; NODE_SIZE] {
        let frame = if pseudo { frame_word(FRAME_PSEUDO_MODULE, u64::from(kind)) } else { u64::from(kind) };
        let mut record = [0; NODE_SIZE];
        for (word, value) in record.chunks_exact_mut(8).zip([u64::from(hash != 0), frame, u64::from(parent)])
        {
            word.copy_from_slice(&value.to_le_bytes());
        }
        record
    }

    /// Walks the whole path of one site: kind, whether it is torn, the nodes on it.
    fn walked(trie: &Trie<'_>, number: u32) -> (AllocationKind, bool, Vec<u32>) {
        let (mut kind, mut at, mut path) = (AllocationKind::Memory(SiteKind::Heap), number, Vec::new());
        while at != 0 {
            let Some((frame, parent)) = trie.node(at) else { return (kind, true, path) };
            kind = allocation_kind_of(frame).unwrap_or(kind);
            path.push(at);
            at = parent;
        }
        (kind, false, path)
    }

    proptest! {
        #[test]
        fn the_paths_of_all_sites_are_those_of_walking_each(
            nodes in prop::collection::vec((0u8..5, any::<bool>(), 0u8..20, 0u8..12), 1..20),
            sites in prop::collection::vec(0u32..24, 0..20),
        ) {
            let records: Vec<u8> = nodes.iter().flat_map(|&(hash, pseudo, kind, parent)| record(hash, pseudo, kind, parent)).collect();
            let mut trie = Trie::new(&records, &[]);
            let (mut torn, mut wanted) = (0, vec![false; nodes.len()]);
            for number in sites {
                let entered = trie.enter(number).map(|path| (path.node, path.kind));
                if number as usize >= nodes.len() {
                    prop_assert_eq!(entered, None);
                    torn += 1;
                    continue;
                }
                let (kind, is_torn, path) = walked(&trie, number);
                prop_assert_eq!(entered, Some((NodeId::new(number), kind)));
                torn += u64::from(is_torn);
                path.iter().for_each(|&node| wanted[node as usize] = true);
            }
            prop_assert_eq!((trie.torn, &trie.wanted), (torn, &wanted));
        }
    }
}
