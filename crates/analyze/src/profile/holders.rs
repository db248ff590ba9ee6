//! Who holds the blocks of a stack, by the snapshots that were taken of the heap.

use std::cmp::Reverse;
use std::sync::Arc;

use heaplens_format::recording::{GrowingNode, Heap, HeapMoment, HeapView, Holder, PathNode, Process, Step};
use rustc_hash::{FxHashMap, FxHashSet};

use super::stacks::{StackId, Stacks};

/// The heap snapshots of the process shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    heap: Heap,
    /// Of each snapshot, who holds the blocks of a stack.
    by_stack: Vec<FxHashMap<StackId, StackHolder>>,
    /// Of stacks whose objects may have been reused, the one that allocated what holds them.
    containers: FxHashMap<StackId, StackId>,
}

/// Who holds the blocks of a stack, be they of one site or of several: threads have their own, and so does code that is compiled anew each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StackHolder {
    /// Of the first of its sites among those of the snapshot, the most bytes first.
    position: usize,
    holder: Holder,
}

/// A reference path from a root to blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBy<'a> {
    /// The snapshot that has it.
    pub view: &'a HeapView,
    /// From the root on.
    pub steps: Vec<&'a PathNode>,
    /// Of the blocks whose reference paths were inspected.
    pub inspected: u32,
    /// So many are held by the same path.
    pub alike: u32,
    /// The step that grew since the snapshot before.
    pub growing: Option<&'a GrowingNode>,
}

impl HeldBy<'_> {
    /// Whether nothing but the list of Python's collector leads to them.
    fn is_of_collector(&self) -> bool {
        self.steps.first().is_some_and(|root| root.step == Step::Collector)
    }

    /// Whether a function that runs holds them.
    fn is_of_frame(&self) -> bool {
        self.steps.first().is_some_and(|root| root.step == Step::Frame)
    }

    /// Whether every step from a module on has a name: a pointer without one may be an old word.
    fn is_named(&self) -> bool {
        self.steps.first().is_some_and(|root| root.step == Step::Module)
            && self.steps.iter().all(|node| node.step != Step::Pointer)
    }
}

/// A site with so many inspected blocks speaks for itself.
const CLEAR: u32 = 6;

impl Holders {
    pub(crate) fn of(process: &Process, stacks: &Stacks) -> Self {
        let by_stack = |view: &HeapView| {
            let mut sites: FxHashMap<StackId, Vec<usize>> = FxHashMap::default();
            for (at, holder) in view.holders.iter().enumerate() {
                let stack = stacks.of(process.sites[holder.site as usize].node);
                sites.entry(stack).or_default().push(at);
            }
            sites.into_iter().filter_map(|(stack, sites)| Some((stack, most_alike(view, &sites)?))).collect()
        };
        let by_stack = process.heap.views.iter().map(by_stack).collect();
        Self { heap: process.heap.clone(), by_stack, containers: containers(process, stacks) }
    }

    /// All snapshots, in the order of time.
    pub fn views(&self) -> &[HeapView] {
        &self.heap.views
    }

    /// Why the last snapshot that was asked for was not taken.
    pub fn refusal(&self) -> Option<&Arc<str>> {
        self.heap.refusal.as_ref()
    }

    /// Why nobody is named for the blocks of these stacks.
    pub fn why_none(&self, stacks: &[StackId]) -> String {
        let is_inspected = |holders: &FxHashMap<StackId, StackHolder>| {
            stacks.iter().any(|stack| holders.contains_key(stack))
        };
        match (&self.heap.refusal, self.heap.views.is_empty()) {
            (Some(refusal), true) => format!("no heap snapshot could be taken: {refusal}"),
            (None, true) => "no heap snapshot was taken".to_owned(),
            (_, false) if self.is_of_collector(stacks) => {
                "no reference to it was found in a heap snapshot, only the garbage collector's list"
                    .to_owned()
            }
            (_, false) if self.by_stack.iter().any(is_inspected) => {
                "its blocks are held in different ways, none of which has most of them".to_owned()
            }
            (_, false) => "no block of it was live, or among those inspected, in a heap snapshot".to_owned(),
        }
    }

    /// Who holds the blocks of one of these stacks, if most of them are held alike: those of which most is held in the best snapshot. That is the last one while
    /// the program ran, else the last one that was asked for: a local of a function that has returned is gone at the end. Where a function held blocks that
    /// stayed until the end, and a module has them then, the function handed them over.
    pub fn of_stacks(&self, stacks: &[StackId], have_stayed: bool) -> Option<HeldBy<'_>> {
        let rank = |view: &HeapView| match view.moment {
            HeapMoment::Running { .. } => 0,
            HeapMoment::Asked => 1,
            HeapMoment::Exit => 2,
        };
        let mut order: Vec<usize> = (0..self.heap.views.len()).rev().collect();
        order.sort_by_key(|&at| rank(&self.heap.views[at]));
        let at_the_end = order.last().filter(|_| have_stayed).and_then(|&at| self.in_view(at, stacks));
        let while_it_ran = order.into_iter().find_map(|at| self.in_view(at, stacks))?;
        Some(at_the_end.filter(|end| while_it_ran.is_of_frame() && end.is_named()).unwrap_or(while_it_ran))
    }

    fn in_view(&self, at: usize, stacks: &[StackId]) -> Option<HeldBy<'_>> {
        let found = stacks.iter().filter_map(|stack| self.by_stack[at].get(stack));
        let (view, holder) = (&self.heap.views[at], found.min_by_key(|of| of.position)?.holder);
        let held = (2 * holder.alike >= holder.inspected).then(|| held_by(view, &holder));
        held.filter(|held| !held.is_of_collector())
    }

    /// Whether a snapshot found nothing that leads to the blocks of these stacks but the list of Python's collector, which holds nothing.
    fn is_of_collector(&self, stacks: &[StackId]) -> bool {
        let views = self.heap.views.iter().zip(&self.by_stack);
        let mut found = views.flat_map(|(view, holders)| {
            stacks.iter().filter_map(|stack| holders.get(stack)).map(|of| held_by(view, &of.holder))
        });
        found.any(|held| held.is_of_collector())
    }

    /// The stack that allocated what holds the objects of a stack, where the interpreter may have reused these: in the last snapshot that
    /// was taken while the program ran.
    pub fn container_of(&self, stack: StackId) -> Option<StackId> {
        self.containers.get(&stack).copied()
    }
}

/// Of several sites the holder of the first, which has most bytes, where that is clear: small sites of the same stack may be of temporaries. Else
/// the longest beginning of a path that most blocks of all have: which element of a container leads to them does not matter.
fn most_alike(view: &HeapView, sites: &[usize]) -> Option<StackHolder> {
    let position = *sites.first()?;
    let first = view.holders[position];
    if sites.len() == 1 || first.inspected >= CLEAR && 2 * first.alike >= first.inspected {
        return Some(StackHolder { position, holder: first });
    }
    let inspected = sites.iter().map(|&at| view.holders[at].inspected).sum();
    let mut beginnings: FxHashMap<Vec<_>, (u32, usize, u32)> = FxHashMap::default();
    for &at in sites {
        let mut steps = Vec::new();
        for node in numbers(view, view.holders[at].node) {
            steps.push(shape(&view.nodes[node as usize]));
            beginnings.entry(steps.clone()).or_insert((0, at, node)).0 += view.holders[at].alike;
        }
    }
    let longest = |(steps, (alike, at, node)): (Vec<_>, (u32, usize, u32))| {
        // A root alone holds too much to say anything.
        let is_most = 2 * alike >= inspected && steps.len() >= 2;
        is_most.then_some((steps.len(), alike, Reverse(at), node))
    };
    let most = beginnings.into_iter().filter_map(longest).max();
    let holder = match most {
        Some((_, alike, Reverse(at), node)) => Holder { inspected, alike, node, ..view.holders[at] },
        None => Holder { inspected, ..first },
    };
    Some(StackHolder { position, holder })
}

/// A step without what differs from element to element.
fn shape(node: &PathNode) -> (Step, &str, &str) {
    match node.step {
        Step::Item | Step::Key | Step::Pointer => (node.step, "", &node.class),
        _ => (node.step, &node.name, &node.class),
    }
}

/// Several sites may have one stack: the containers that hold most of their objects count.
fn containers(process: &Process, stacks: &Stacks) -> FxHashMap<StackId, StackId> {
    let stack_of = |site: u32| stacks.of(process.sites[site as usize].node);
    let view = process.heap.views.iter().rfind(|view| view.moment != HeapMoment::Exit);
    let reused = view.into_iter().flat_map(|view| &view.reused);
    let mut counts: FxHashMap<StackId, FxHashMap<StackId, u64>> = FxHashMap::default();
    for of in reused {
        let of_stack = counts.entry(stack_of(of.site)).or_default();
        *of_stack.entry(stack_of(of.container)).or_default() += u64::from(of.alike);
    }
    let most = |containers: FxHashMap<StackId, u64>| {
        containers.into_iter().max_by_key(|&(container, count)| (count, container)).map(|most| most.0)
    };
    counts.into_iter().filter_map(|(stack, containers)| Some((stack, most(containers)?))).collect()
}

/// Stacks most of whose blocks are held through an object of a class, by its name without its module, or through an attribute.
pub(crate) fn held_through(process: &Process, stacks: &Stacks, names: &[&str]) -> FxHashSet<StackId> {
    let is_meant = |node: &PathNode| {
        let class = node.class.rsplit('.').next().unwrap_or_default();
        names.contains(&class) || names.contains(&&*node.name)
    };
    let views = process.heap.views.iter();
    let through = views.flat_map(|view| {
        let is_through = |holder: &&Holder| {
            2 * holder.alike >= holder.inspected && path(view, holder.node).into_iter().any(is_meant)
        };
        view.holders.iter().filter(is_through)
    });
    through.map(|holder| stacks.of(process.sites[holder.site as usize].node)).collect()
}

fn held_by<'a>(view: &'a HeapView, holder: &Holder) -> HeldBy<'a> {
    let numbers = numbers(view, holder.node);
    let growing = view.growing.iter().find(|growing| numbers.contains(&growing.node));
    let steps = numbers.into_iter().map(|node| &view.nodes[node as usize]).collect();
    HeldBy { view, steps, inspected: holder.inspected, alike: holder.alike, growing }
}

/// The reference path to a node, from its root on.
pub fn path(view: &HeapView, node: u32) -> Vec<&PathNode> {
    numbers(view, node).into_iter().map(|node| &view.nodes[node as usize]).collect()
}

/// Parents come before their children, so this ends.
fn numbers(view: &HeapView, node: u32) -> Vec<u32> {
    let parent = |node: &u32| view.nodes.get(*node as usize)?.parent;
    let mut numbers: Vec<u32> = std::iter::successors(Some(node), parent).collect();
    numbers.reverse();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::Bytes;
    use heaplens_format::recording::Amount;

    /// A snapshot in which each site is held by an element of a container: (container, inspected, alike).
    fn view(sites: &[(&str, u32, u32)]) -> HeapView {
        let mut view = HeapView::default();
        for (site, &(container, inspected, alike)) in (0..).zip(sites) {
            let node = |parent, step, name: &str, class: &str| PathNode {
                parent,
                step,
                name: name.into(),
                class: class.into(),
                address: 0,
                size: Bytes::ZERO,
                retained: Amount::default(),
            };
            let root = view.nodes.len() as u32;
            view.nodes.push(node(None, Step::Module, "shop", ""));
            view.nodes.push(node(Some(root), Step::Variable, container, "dict"));
            view.nodes.push(node(Some(root + 1), Step::Key, &format!("'key {site}'"), "list"));
            view.holders.push(Holder { site, node: root + 2, inspected, alike });
        }
        view
    }

    fn most(sites: &[(&str, u32, u32)]) -> (u32, u32, u32) {
        let all: Vec<usize> = (0..sites.len()).collect();
        let StackHolder { holder, .. } = most_alike(&view(sites), &all).unwrap();
        (holder.site, holder.inspected, holder.alike)
    }

    #[test]
    fn sites_of_one_stack_are_asked_together() {
        let of = |container| (container, 2, 2);
        assert_eq!(most(&[of("plans"), of("seen"), of("plans"), of("plans")]), (0, 8, 6));
        assert_eq!(
            most(&[("seen", 12, 4), of("plans"), of("plans"), of("plans")]),
            (0, 18, 4),
            "no majority"
        );
        assert_eq!(most(&[("seen", 12, 12)]), (0, 12, 12), "one site alone");
        assert_eq!(most(&[of("a"), of("b")]), (0, 4, 2), "the first of two that are as frequent");
        assert_eq!(
            most(&[("seen", 12, 9), of("plans"), of("plans"), of("plans"), of("plans"), of("plans")]),
            (0, 12, 9)
        );
        assert_eq!(most(&[of("a"), of("b"), of("c")]), (0, 6, 2), "held in different ways");
    }
}
