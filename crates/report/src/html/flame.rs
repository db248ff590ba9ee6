//! The flame graph: all stacks as one tree, with the live bytes of each at the end and at the peak, and their growth per
//! iteration. Equal frames are merged. The file must stay small: the heaviest branches are written within a
//! budget, and the rest of each branch is summed up as `[smaller]`, so that totals stay exact.

use std::collections::HashMap;

use heaplens_analyze::Profile;
use heaplens_analyze::diagnose::How;
use heaplens_analyze::profile::{Origin, SiteProfile, StackFrame};
use serde::Serialize;

use super::strings::Strings;
use crate::catalogue::stack::label::{NO_STACK, TRUNCATED, file_name};

/// Bytes that the tree may take in the file. With everything else a page stays below 2 MiB.
const ROOM: usize = 1_700_000;
/// What a node takes: its depth, its frame, and a value or two.
const NODE: usize = 16;
/// A longer name of a function is cut: names of templates can have thousands of characters.
const LONGEST_NAME: usize = 240;
/// Stands for the branches that are not written.
const SMALLER: &str = "[smaller]";

/// The values of a stack: live at the end, live at the peak, growth per iteration.
const VALUES: usize = 3;
type Values = [u64; VALUES];

/// The tree as the script reads it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Flame {
    frames: FrameColumns,
    /// The depth of each node below the root, callers before what they call.
    depth: Vec<u32>,
    /// The frame of each node.
    frame: Vec<u32>,
    /// For each value, the nodes that have some themselves: how many nodes further, and bytes.
    own: [Vec<u64>; VALUES],
    /// The sums.
    total: Values,
    /// Whether growth of single stacks is known.
    knows_growth: bool,
}

/// Columns of the table of frames.
#[derive(Debug, Default, Serialize)]
struct FrameColumns {
    name: Vec<u32>,
    file: Vec<u32>,
    line: Vec<u32>,
    /// 0: native, 1: the user's Python, 2: a library's Python, 3: a placeholder.
    kind: Vec<u8>,
}

/// The tree of a profile. Names go to the table of the page.
pub(super) fn flame(profile: &Profile, strings: &mut Strings) -> Flame {
    let tree = Tree::of(profile);
    let knows_growth = profile.diagnosis.how != How::Time && profile.diagnosis.verdict.is_some();
    let mut flame = Flame { total: tree.nodes[0].total, knows_growth, ..Flame::default() };
    let chosen = tree.chosen();
    Writer {
        tree: &tree,
        chosen: &chosen,
        numbers: HashMap::new(),
        last: [0; VALUES],
        strings,
        flame: &mut flame,
    }
    .write();
    flame
}

/// What distinguishes frames in the graph: all lines of a native function are one frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FrameEntry<'a> {
    name: &'a str,
    file: &'a str,
    line: u32,
    kind: u8,
    /// Of unnamed code.
    offset: u64,
}

impl<'a> FrameEntry<'a> {
    fn of(frame: &'a StackFrame) -> Self {
        let file = frame.file.as_deref().or(frame.module.as_deref()).unwrap_or_default();
        let name = frame.function.as_deref().unwrap_or_default();
        let kind = match &frame.origin {
            Origin::Native => 0,
            Origin::User | Origin::Generated => 1,
            Origin::Library(_) | Origin::Import | Origin::Imported(_) => 2,
        };
        let line = if kind == 0 { 0 } else { frame.line.unwrap_or(0) };
        Self { name, file, line, kind, offset: if name.is_empty() { frame.offset } else { 0 } }
    }

    fn word(word: &'static str) -> Self {
        Self { name: word, file: "", line: 0, kind: 3, offset: 0 }
    }

    fn written_name(&self) -> String {
        if !self.name.is_empty() {
            return crate::catalogue::wording::cut(self.name, LONGEST_NAME);
        }
        match self.file {
            "" => format!("0x{:x}", self.offset),
            file => format!("{}+0x{:x}", file_name(file), self.offset),
        }
    }
}

/// The tree. Node 0 is the root; parents come before their children.
struct Tree<'a> {
    entries: Vec<FrameEntry<'a>>,
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Default)]
struct Node {
    parent: u32,
    entry: u32,
    own: Values,
    total: Values,
}

impl<'a> Tree<'a> {
    fn of(profile: &'a Profile) -> Self {
        let mut builder = Builder::new(profile);
        let of_stack = builder.stacks(profile, &needed(profile));
        for site in sites(profile) {
            let at = match site.stack.index() {
                0 => builder.word(0, NO_STACK),
                stack => of_stack[stack],
            };
            let own = &mut builder.tree.nodes[at as usize].own;
            own.iter_mut().zip(values(profile, site)).for_each(|(own, value)| *own += value);
        }
        let mut tree = builder.tree;
        tree.sum_up();
        tree
    }

    fn sum_up(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.total = node.own);
        for at in (1..self.nodes.len()).rev() {
            let Node { parent, total, .. } = self.nodes[at];
            let sum = &mut self.nodes[parent as usize].total;
            sum.iter_mut().zip(total).for_each(|(sum, value)| *sum += value);
        }
    }

    /// Which nodes are written: those with the largest part of any value, within the budget. A node has no larger part
    /// than its parent, so parents of those that are written are, too.
    fn chosen(&self) -> Vec<bool> {
        let all = self.nodes[0].total;
        let part = |node: &Node| {
            let parts = node.total.iter().zip(all).map(|(&value, all)| value as f64 / all.max(1) as f64);
            parts.fold(0.0, f64::max)
        };
        let mut order: Vec<(f64, usize)> = self.nodes.iter().map(part).zip(0..).skip(1).collect();
        order.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        let (mut chosen, mut entries) = (vec![false; self.nodes.len()], vec![false; self.entries.len()]);
        let mut room = ROOM;
        for (_, at) in order {
            let entry = self.nodes[at].entry as usize;
            let is_new = !std::mem::replace(&mut entries[entry], true);
            let name = if is_new { self.entries[entry].name.len().min(LONGEST_NAME) + 2 * NODE } else { 0 };
            let Some(left) = room.checked_sub(NODE + name) else { break };
            room = left;
            chosen[at] = true;
        }
        chosen
    }
}

/// Makes the tree.
struct Builder<'a> {
    tree: Tree<'a>,
    /// The entry of each frame of the profile.
    entry_of: Vec<u32>,
    known_entries: HashMap<FrameEntry<'a>, u32>,
    known: HashMap<(u32, u32), u32>,
}

impl<'a> Builder<'a> {
    fn new(profile: &'a Profile) -> Self {
        let tree = Tree { entries: Vec::new(), nodes: vec![Node::default()] };
        let mut builder =
            Self { tree, entry_of: Vec::new(), known_entries: HashMap::new(), known: HashMap::new() };
        builder.entry_of =
            profile.frame_table().iter().map(|frame| builder.entry(FrameEntry::of(frame))).collect();
        builder
    }

    fn entry(&mut self, entry: FrameEntry<'a>) -> u32 {
        *self.known_entries.entry(entry).or_insert_with(|| {
            self.tree.entries.push(entry);
            self.tree.entries.len() as u32 - 1
        })
    }

    /// The node of each stack that is needed.
    fn stacks(&mut self, profile: &Profile, needed: &[bool]) -> Vec<u32> {
        let mut of_stack = vec![0; needed.len()];
        for (at, step) in (1..).zip(profile.stack_steps()) {
            if !needed[at] {
                continue;
            }
            let mut node = of_stack[step.caller.index()];
            if step.frames.is_empty() && step.cut.is_some() {
                node = self.word(node, TRUNCATED);
            }
            for frame in step.frames.rev() {
                node = self.child(node, self.entry_of[frame]);
            }
            of_stack[at] = node;
        }
        of_stack
    }

    fn word(&mut self, parent: u32, word: &'static str) -> u32 {
        let entry = self.entry(FrameEntry::word(word));
        self.child(parent, entry)
    }

    fn child(&mut self, parent: u32, entry: u32) -> u32 {
        *self.known.entry((parent, entry)).or_insert_with(|| {
            self.tree.nodes.push(Node { parent, entry, ..Node::default() });
            self.tree.nodes.len() as u32 - 1
        })
    }
}

/// The heap and small Python objects, as far as they have something to show.
fn sites(profile: &Profile) -> impl Iterator<Item = &SiteProfile> {
    let is_shown =
        |site: &&SiteProfile| !site.category().row().is_mapped && values(profile, site) != [0; VALUES];
    profile.sites.iter().filter(is_shown)
}

fn values(profile: &Profile, site: &SiteProfile) -> Values {
    let growth = profile.diagnosis.of_site(site).map_or(0, |pace| pace.round().max(0.0) as u64);
    [site.held.bytes.get(), site.peak.bytes.get(), growth]
}

/// Which stacks lead to a site that is shown.
fn needed(profile: &Profile) -> Vec<bool> {
    let mut needed = vec![false; profile.stack_steps().len() + 1];
    for site in sites(profile) {
        needed[site.stack.index()] = true;
    }
    for (at, step) in (1..needed.len()).rev().zip(profile.stack_steps().rev()) {
        if needed[at] {
            needed[step.caller.index()] = true;
        }
    }
    needed
}

/// Writes the chosen nodes, each before its children.
struct Writer<'a> {
    tree: &'a Tree<'a>,
    chosen: &'a [bool],
    /// The number of an entry in the file.
    numbers: HashMap<FrameEntry<'a>, u32>,
    /// The last node that had each value itself.
    last: [usize; VALUES],
    strings: &'a mut Strings,
    flame: &'a mut Flame,
}

impl<'a> Writer<'a> {
    fn write(mut self) {
        let (children, smaller) = self.branches();
        // Stacks are thousands deep at times: no recursion.
        let mut open: Vec<(usize, u32)> = vec![(0, 0)];
        while let Some((at, depth)) = open.pop() {
            let node = self.tree.nodes[at];
            if at > 0 {
                self.node(self.tree.entries[node.entry as usize], depth, node.own);
            }
            if smaller[at] != [0; VALUES] {
                self.node(FrameEntry::word(SMALLER), depth + 1, smaller[at]);
            }
            open.extend(children[at].iter().rev().map(|&child| (child as usize, depth + 1)));
        }
    }

    /// The chosen children of each node, and what the others have together.
    fn branches(&self) -> (Vec<Vec<u32>>, Vec<Values>) {
        let count = self.tree.nodes.len();
        let (mut children, mut smaller) = (vec![Vec::new(); count], vec![[0; VALUES]; count]);
        for (at, node) in self.tree.nodes.iter().enumerate().skip(1) {
            let parent = node.parent as usize;
            if self.chosen[at] {
                children[parent].push(at as u32);
            } else if parent == 0 || self.chosen[parent] {
                smaller[parent].iter_mut().zip(node.total).for_each(|(sum, value)| *sum += value);
            }
        }
        (children, smaller)
    }

    fn node(&mut self, entry: FrameEntry<'a>, depth: u32, own: Values) {
        let frame = self.number(entry);
        let at = self.flame.depth.len() + 1;
        self.flame.depth.push(depth);
        self.flame.frame.push(frame);
        for (value, &bytes) in own.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
            self.flame.own[value].extend([(at - self.last[value]) as u64, bytes]);
            self.last[value] = at;
        }
    }
    /// The number of a frame, which is written when it is first met.
    fn number(&mut self, entry: FrameEntry<'a>) -> u32 {
        if let Some(&known) = self.numbers.get(&entry) {
            return known;
        }
        let (name, file) = (self.strings.number(&entry.written_name()), self.strings.number(entry.file));
        let frames = &mut self.flame.frames;
        frames.name.push(name);
        frames.file.push(file);
        frames.line.push(entry.line);
        frames.kind.push(entry.kind);
        let number = frames.name.len() as u32 - 1;
        self.numbers.insert(entry, number);
        number
    }
}
