//! Reference paths in words: what holds an object, step by step from a root. Steps without a name, and links of chains, are left out of
//! long ones.

use std::borrow::Cow;
use std::ops::Range;

use heaplens_format::Bytes;
use heaplens_format::recording::{PathNode, Step};

use super::number::size;

/// Steps that are shown at the beginning and at the end of a long path.
const FIRST: usize = 5;
const LAST: usize = 3;
/// So many blocks without a name, one leading to the next, are a chain.
const LEAST_CHAIN: usize = 4;
/// Where the name of a class ends, at most.
const LONGEST_CLASS: usize = 48;

/// What is shown of a path, from its root on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown<'a> {
    /// A step.
    Step(&'a PathNode),
    /// Steps that are not shown one by one: how many, and what they are.
    Folded(String),
}

/// `module __main__ → results (list) → [812] EagerTensor`.
pub(crate) fn path_text(steps: &[&PathNode]) -> String {
    let words = shown(steps).into_iter().map(|shown| match shown {
        Shown::Step(step) => step_text(step),
        Shown::Folded(words) => format!("… {words} …"),
    });
    words.collect::<Vec<_>>().join(" → ")
}

/// What is shown of a path: without memory that has no name on the way, and of a chain only its first link; of what is still long the
/// middle is summed up.
pub(crate) fn shown<'a>(steps: &[&'a PathNode]) -> Vec<Shown<'a>> {
    let last = steps.len().saturating_sub(1);
    let named: Vec<&PathNode> = steps[..last].iter().copied().filter(|step| !is_bare(step)).collect();
    let is_named = named.len() > 1;
    if !is_named
        && let [first, middle @ .., last] = steps
        && middle.len() >= LEAST_CHAIN
    {
        return vec![Shown::Step(first), Shown::Folded(chain(middle)), Shown::Step(last)];
    }
    let kept: Vec<&PathNode> =
        if is_named { named.into_iter().chain(steps.last().copied()).collect() } else { steps.to_vec() };
    let (links, repeated) = without_repeats(&kept);
    let mut shown: Vec<Shown<'a>> = links.iter().map(|&step| Shown::Step(step)).collect();
    let hidden = hidden(links.len());
    if !hidden.is_empty() {
        let least = if steps.iter().any(|step| step.step == Step::More) { "at least " } else { "" };
        let summary = summary(&links[hidden.clone()], if is_named { repeated } else { 0 });
        shown.splice(hidden, [Shown::Folded(format!("{least}{summary}"))]);
    } else if repeated > 0 {
        let at = shown.len() - 1;
        shown.insert(at, Shown::Folded(format!("{repeated} more such steps")));
    }
    shown
}

/// Memory that says nothing about what holds it.
fn is_bare(step: &PathNode) -> bool {
    const ELEMENTS: [&str; 3] = ["", "std::vector elements", "std::string characters"];
    step.step == Step::More || step.step == Step::Pointer && ELEMENTS.contains(&&*step.class)
}

/// Steps from one link of a chain to the next, at most.
const LONGEST_LINK: usize = 4;

/// A path without the second and further links of its chains, but with its last step; and how many steps that leaves out.
fn without_repeats<'a>(steps: &[&'a PathNode]) -> (Vec<&'a PathNode>, usize) {
    let same = |one: &&PathNode, other: &&PathNode| {
        let is_number = matches!(one.step, Step::Item | Step::Key);
        one.step == other.step && one.class == other.class && (is_number || one.name == other.name)
    };
    let mut kept: Vec<&PathNode> = Vec::with_capacity(steps.len());
    let is_repeated = |kept: &[&'a PathNode], period: usize| {
        let before = kept.len().checked_sub(2 * period);
        before.is_some_and(|before| {
            let (one, other) = kept[before..].split_at(period);
            one.iter().zip(other).all(|(one, other)| same(one, other) && !is_bare(one))
        })
    };
    let (mut left_out, last) = (0, steps.len().saturating_sub(1));
    for (at, step) in steps.iter().enumerate() {
        kept.push(step);
        if at < last
            && let Some(period) = (1..=LONGEST_LINK).find(|&period| is_repeated(&kept, period))
        {
            kept.truncate(kept.len() - period);
            left_out += period;
        }
    }
    (kept, left_out)
}

/// `54 steps: AddBackward0 ×27, MulBackward0 ×26`.
fn summary(steps: &[&PathNode], more: usize) -> String {
    const NAMED: usize = 3;
    let mut classes: Vec<(usize, Cow<'_, str>)> = Vec::new();
    for step in steps.iter().filter(|step| !step.class.is_empty() && !is_container(&step.class)) {
        let name = class(&step.class);
        match classes.iter_mut().find(|(_, other)| *other == name) {
            Some((count, _)) => *count += 1,
            None => classes.push((1, name)),
        }
    }
    classes.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let times = |(count, name): &(usize, Cow<'_, str>)| match count {
        1 => name.to_string(),
        count => format!("{name} ×{count}"),
    };
    let names: Vec<String> = classes.iter().take(NAMED).map(times).collect();
    let colon = if names.is_empty() { "" } else { ": " };
    format!("{} steps{colon}{}", steps.len() + more, names.join(", "))
}

/// `a chain of at least 58 blocks, 8.00 KiB each`: of what has no name.
fn chain(steps: &[&PathNode]) -> String {
    let blocks: Vec<&&PathNode> = steps.iter().filter(|step| step.step != Step::More).collect();
    let least = if blocks.len() < steps.len() { "at least " } else { "" };
    let same =
        blocks.first().map(|first| first.size).filter(|&one| blocks.iter().all(|block| block.size == one));
    let each =
        same.filter(|&one| one > Bytes::ZERO).map_or_else(String::new, |one| format!(", {} each", size(one)));
    format!("a chain of {least}{} blocks{each}", blocks.len())
}

/// What anything may be in.
fn is_container(class: &str) -> bool {
    matches!(class, "list" | "dict" | "tuple" | "set" | "frozenset")
}

/// Which steps of a path of this length are only summed up.
fn hidden(steps: usize) -> Range<usize> {
    let end = if steps > FIRST + LAST + 1 { steps - LAST } else { FIRST };
    FIRST..end
}

/// One step.
pub(crate) fn step_text(node: &PathNode) -> String {
    let (name, class) = (&*node.name, class(&node.class));
    match node.step {
        Step::Module => format!("module {name}"),
        Step::Frame => name.to_owned(),
        Step::Global => format!("global {name}"),
        Step::Data => format!("data of {name}"),
        Step::Stack => format!("stack of thread {name}"),
        Step::Mapped => "mapped memory".to_owned(),
        Step::Interpreter if name.is_empty() => "the interpreter".to_owned(),
        Step::Interpreter => name.to_owned(),
        Step::Collector => "only the garbage collector's list".to_owned(),
        Step::Variable | Step::Cell => with_class(name, &class),
        Step::Attribute => with_class(&format!(".{name}"), &class),
        Step::Key | Step::Item => format!("[{name}] {class}").trim_end().to_owned(),
        Step::Part => with_class(name, &class),
        Step::Pointer if class.is_empty() => "block".to_owned(),
        Step::Pointer => class.into_owned(),
        Step::More => "…".to_owned(),
    }
}

fn with_class(name: &str, class: &str) -> String {
    if class.is_empty() { name.to_owned() } else { format!("{name} ({class})") }
}

/// A class without its modules or namespaces, and without long template arguments.
pub(crate) fn class(name: &str) -> Cow<'_, str> {
    let name = match name.find('<').filter(|_| name.chars().count() > LONGEST_CLASS) {
        Some(open) => Cow::Owned(format!("{}<…>", &name[..open])),
        None => Cow::Borrowed(name),
    };
    let head = name.find('<').unwrap_or(name.len());
    let start = ["::", "."].iter().filter_map(|mark| Some(name[..head].rfind(mark)? + mark.len())).max();
    match start.filter(|&start| start < name.len()) {
        Some(start) => Cow::Owned(name[start..].to_owned()),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::recording::Amount;

    fn node(step: Step, name: &str, class: &str) -> PathNode {
        PathNode {
            parent: None,
            step,
            name: name.into(),
            class: class.into(),
            address: 0,
            size: Bytes::ZERO,
            retained: Amount::default(),
        }
    }

    #[test]
    fn a_path_is_written_step_by_step() {
        let steps = [
            node(Step::Module, "__main__", "module"),
            node(Step::Variable, "results", "list"),
            node(Step::Item, "812", "tensorflow.python.framework.ops.EagerTensor"),
            node(Step::Pointer, "", "tensorflow::TensorHandle"),
            node(Step::Pointer, "", ""),
        ];
        assert_eq!(
            path_text(&steps.iter().collect::<Vec<_>>()),
            "module __main__ → results (list) → [812] EagerTensor → TensorHandle → block"
        );
    }

    #[test]
    fn the_middle_of_a_long_path_is_counted() {
        let steps: Vec<PathNode> = (0..20).map(|at| node(Step::Attribute, &format!("a{at}"), "")).collect();
        let text = path_text(&steps.iter().collect::<Vec<_>>());
        assert!(text.starts_with(".a0 → ") && text.ends_with(".a17 → .a18 → .a19"), "{text}");
        assert!(text.contains(".a4 → … 12 steps … → .a17"), "{text}");
    }

    #[test]
    fn memory_without_a_name_and_links_of_a_chain_are_left_out() {
        let mut steps =
            vec![node(Step::Module, "__main__", ""), node(Step::Variable, "total", "torch.Tensor")];
        for class in ["torch::autograd::AddBackward0", "torch::autograd::MulBackward0"].repeat(20) {
            steps.extend([node(Step::Pointer, "", class), node(Step::Pointer, "", "std::vector elements")]);
        }
        steps.push(node(Step::Pointer, "", ""));
        assert_eq!(
            path_text(&steps.iter().collect::<Vec<_>>()),
            "module __main__ → total (Tensor) → AddBackward0 → MulBackward0 → … 38 more such steps … → block"
        );
    }

    #[test]
    fn the_middle_of_a_long_path_is_summed_up_by_its_classes() {
        let mut steps: Vec<PathNode> =
            (0..20).map(|at| node(Step::Attribute, &format!("a{at}"), "list")).collect();
        steps[9].class = "functools._lru_cache_wrapper".into();
        (11..13).for_each(|at| steps[at].class = "coroutine".into());
        let text = path_text(&steps.iter().collect::<Vec<_>>());
        assert!(text.contains(" → … 12 steps: coroutine ×2, _lru_cache_wrapper … → "), "{text}");
    }

    #[test]
    fn steps_that_were_left_out_are_at_least_one() {
        let mut steps: Vec<PathNode> =
            (0..20).map(|at| node(Step::Attribute, &format!("a{at}"), "")).collect();
        steps[9] = node(Step::More, "", "");
        let text = path_text(&steps.iter().collect::<Vec<_>>());
        assert!(text.contains(".a4 → … at least 11 steps … → .a17"), "{text}");
        assert_eq!(step_text(&steps[9]), "…");
    }

    #[test]
    fn blocks_without_a_name_are_a_chain() {
        let block = PathNode { size: Bytes::new(1024), ..node(Step::Pointer, "", "") };
        let mut steps = vec![block; 20];
        steps[0] = node(Step::Stack, "7", "");
        let text = |steps: &[PathNode]| path_text(&steps.iter().collect::<Vec<_>>());
        assert_eq!(text(&steps), "stack of thread 7 → … a chain of 18 blocks, 1.00 KiB each … → block");
        steps[9] = node(Step::More, "", "");
        steps[10].size = Bytes::new(8);
        assert_eq!(text(&steps), "stack of thread 7 → … a chain of at least 17 blocks … → block");
        assert_eq!(text(&steps[..4]), "stack of thread 7 → block → block → block");
    }

    #[test]
    fn classes_lose_namespaces_and_long_template_arguments() {
        assert_eq!(class("tensorflow.python.framework.ops.EagerTensor"), "EagerTensor");
        assert_eq!(class("std::vector<std::string>"), "vector<std::string>");
        assert_eq!(class(&format!("a::map<{}>", "x".repeat(60))), "map<…>");
        assert_eq!(class("list"), "list");
    }
}
