//! Reference paths from roots to blocks, as they go into a recording: what two paths share is kept once.

use std::collections::HashMap;
use std::sync::Arc;

use heaplens_format::recording::{Amount, LimitedNode, PathNode, Step};
use heaplens_format::{Addr, Bytes};

use super::limits::Occupancy;

/// One step, named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedStep {
    pub(crate) step: Step,
    /// Empty where it has none.
    pub(crate) name: Arc<str>,
    /// Empty where it is not known.
    pub(crate) class: Arc<str>,
    /// 0 for a root.
    pub(crate) address: Addr,
    pub(crate) size: Bytes,
    /// Of a container that has a limit.
    pub(crate) occupancy: Option<Occupancy>,
}

impl NamedStep {
    /// A step without a block.
    pub(crate) fn without_block(step: Step, name: &str) -> Self {
        let (class, address, size) = ("".into(), Addr::default(), Bytes::ZERO);
        Self { step, name: name.into(), class, address, size, occupancy: None }
    }
}

/// All steps so far.
#[derive(Debug, Default)]
pub(crate) struct ReferencePaths {
    nodes: Vec<PathNode>,
    known: HashMap<(Option<u32>, Step, Addr, Arc<str>), u32>,
    limited: Vec<LimitedNode>,
}

impl ReferencePaths {
    /// Adds a path; the number of its last step, or none where it has no step.
    pub(crate) fn add(&mut self, path: &[NamedStep]) -> Option<u32> {
        path.iter().fold(None, |parent, named| Some(self.step(parent, named)))
    }

    fn step(&mut self, parent: Option<u32>, named: &NamedStep) -> u32 {
        let key = (parent, named.step, named.address, named.name.clone());
        *self.known.entry(key).or_insert_with(|| {
            self.nodes.push(PathNode {
                parent,
                step: named.step,
                name: named.name.clone(),
                class: named.class.clone(),
                address: named.address.get(),
                size: named.size,
                retained: Amount::default(),
            });
            let node = self.nodes.len() as u32 - 1;
            let limited =
                named.occupancy.map(|Occupancy { elements, limit }| LimitedNode { node, elements, limit });
            self.limited.extend(limited);
            node
        })
    }

    /// What would be free without a step.
    pub(crate) fn set_retained(&mut self, node: u32, retained: Amount) {
        self.nodes[node as usize].retained = retained;
    }

    /// Where the block of a step begins; 0 for a root.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (u32, Addr)> + '_ {
        (0..).zip(self.nodes.iter().map(|node| Addr::new(node.address)))
    }

    /// Whether it is known what a step leads to.
    pub(crate) fn has_class(&self, node: u32) -> bool {
        !self.nodes[node as usize].class.is_empty()
    }

    /// Where the block of one step begins; 0 for a root.
    pub(crate) fn address(&self, node: u32) -> Addr {
        Addr::new(self.nodes[node as usize].address)
    }

    /// Which of the containers on paths have a limit, with how many elements they have.
    pub(crate) fn limited(&self) -> &[LimitedNode] {
        &self.limited
    }

    pub(crate) fn finish(self) -> Vec<PathNode> {
        self.nodes
    }
}

/// A step without what differs from element to element.
type StepShape = (Step, Arc<str>, Arc<str>);

fn step_shape(named: &NamedStep) -> StepShape {
    match named.step {
        Step::Item | Step::Key | Step::Pointer => (named.step, Arc::from(""), named.class.clone()),
        _ => (named.step, named.name.clone(), named.class.clone()),
    }
}

/// The longest beginning that most of these paths have in common, as one of them has it, and how many have it. At least two steps: a
/// root alone holds too much to say anything.
pub(crate) fn common_beginning(paths: &[Vec<NamedStep>]) -> Option<(u32, &[NamedStep])> {
    let (mut same, mut length): (Vec<&Vec<NamedStep>>, usize) = (paths.iter().collect(), 0);
    loop {
        let mut next: Vec<(StepShape, Vec<&Vec<NamedStep>>)> = Vec::new();
        for path in &same {
            let Some(step) = path.get(length).map(step_shape) else { continue };
            match next.iter_mut().find(|(shape, _)| *shape == step) {
                Some((_, paths)) => paths.push(path),
                None => next.push((step, vec![path])),
            }
        }
        let most = next
            .into_iter()
            .map(|(_, paths)| paths)
            .reduce(|one, other| if other.len() > one.len() { other } else { one });
        match most.filter(|most| 2 * most.len() >= paths.len()) {
            Some(most) => (same, length) = (most, length + 1),
            None => break,
        }
    }
    (length >= 2).then(|| (same.len() as u32, &same[0][..length]))
}

/// What of a path is the same for all elements of a container: the numbers of items and what lies past a pointer do not matter.
pub(crate) fn shape(path: &[NamedStep]) -> Vec<StepShape> {
    let mut shape = Vec::with_capacity(path.len());
    for step in path.iter().map(step_shape) {
        shape.push(step);
        // A list of pairs and a chain of links are as long as they like.
        if let Some(period) = (1..=LONGEST_LINK).find(|&period| is_repeated(&shape, period)) {
            shape.truncate(shape.len() - period);
        }
    }
    shape
}

/// Steps from one link of a chain to the next, at most: a node, the block of its edges, an edge.
const LONGEST_LINK: usize = 3;

/// Whether the last so many are those before them once more.
fn is_repeated<T: PartialEq>(steps: &[T], period: usize) -> bool {
    let before = steps.len().checked_sub(2 * period);
    before.is_some_and(|before| steps[before..before + period] == steps[before + period..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(step: Step, name: &str, address: u64) -> NamedStep {
        NamedStep {
            step,
            name: name.into(),
            class: "list".into(),
            address: Addr::new(address),
            size: Bytes::new(8),
            occupancy: None,
        }
    }

    #[test]
    fn what_two_paths_share_is_kept_once() {
        let mut paths = ReferencePaths::default();
        let to = |item: &str, address| {
            [named(Step::Module, "m", 0), named(Step::Variable, "v", 64), named(Step::Item, item, address)]
        };
        let (first, second) = (paths.add(&to("1", 128)), paths.add(&to("2", 256)));
        assert_eq!(
            (first, second, paths.add(&to("1", 128)), paths.add(&[])),
            (Some(2), Some(3), Some(2), None)
        );
        let nodes = paths.finish();
        assert_eq!(
            nodes.iter().map(|node| node.parent).collect::<Vec<_>>(),
            [None, Some(0), Some(1), Some(1)]
        );
    }

    #[test]
    fn what_most_paths_begin_with_is_their_holder() {
        let to = |variable: &str, last: &[&str]| -> Vec<NamedStep> {
            let begin = [named(Step::Module, "m", 0), named(Step::Variable, variable, 64)];
            begin.into_iter().chain(last.iter().map(|name| named(Step::Attribute, name, 9))).collect()
        };
        let paths = [to("kept", &["a", "b"]), to("kept", &["c"]), to("other", &["a"]), to("kept", &["d"])];
        let (count, common) = common_beginning(&paths).unwrap();
        assert_eq!((count, common), (3, &paths[0][..2]));
        let unlike = [to("a", &[]), to("b", &[]), to("c", &[])];
        assert_eq!(common_beginning(&unlike), None);
    }

    #[test]
    fn elements_of_one_container_are_held_alike() {
        let to = |item: &str| [named(Step::Variable, "v", 64), named(Step::Item, item, 7)];
        assert_eq!(shape(&to("1")), shape(&to("2")));
        assert_ne!(shape(&to("1")), shape(&to("1")[..1]));
        let chain = |links: usize| vec![named(Step::Pointer, "", 9); links];
        assert_eq!(shape(&chain(2)), shape(&chain(7)));
        let links = |count: usize| -> Vec<NamedStep> {
            let link = ["", "AddBackward0", "std::vector elements"];
            let of = |class: &&str| NamedStep { class: Arc::from(*class), ..named(Step::Pointer, "", 9) };
            (0..count).flat_map(|_| link.iter().map(of)).chain([named(Step::Pointer, "", 1)]).collect()
        };
        assert_eq!(shape(&links(1)), shape(&links(9)));
        assert_ne!(shape(&links(1)), shape(&links(1)[1..]));
    }
}
