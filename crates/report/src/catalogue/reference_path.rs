//! Reference paths in words: what holds an object, step by step from a root.

use std::borrow::Cow;
use std::ops::Range;

use heaplens_format::recording::{PathNode, Step};

/// Steps that are shown at the beginning and at the end of a long path.
const FIRST: usize = 5;
const LAST: usize = 3;
/// Where the name of a class ends, at most.
const LONGEST_CLASS: usize = 48;

/// `module __main__ → results (list) → [812] EagerTensor`.
pub(crate) fn path_text(steps: &[&PathNode]) -> String {
    let mut words: Vec<String> = steps.iter().map(|step| step_text(step)).collect();
    let hidden = hidden(words.len());
    if !hidden.is_empty() {
        words.splice(hidden.clone(), [format!("… {} …", step_count(&steps[hidden]))]);
    }
    words.join(" → ")
}

/// `12 steps`; of a path that was too long to be kept, `at least`.
pub(crate) fn step_count(steps: &[&PathNode]) -> String {
    let least = if steps.iter().any(|step| step.step == Step::More) { "at least " } else { "" };
    format!("{least}{} steps", steps.len())
}

/// Which steps of a path of this length are only counted.
pub(crate) fn hidden(steps: usize) -> Range<usize> {
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
        Step::Interpreter => "the interpreter".to_owned(),
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
    use heaplens_format::Bytes;
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
    fn steps_that_were_left_out_are_at_least_one() {
        let mut steps = vec![node(Step::Pointer, "", ""); 20];
        steps[9] = node(Step::More, "", "");
        let text = path_text(&steps.iter().collect::<Vec<_>>());
        assert!(text.contains("block → … at least 12 steps … → block"), "{text}");
        assert_eq!(step_text(&steps[9]), "…");
    }

    #[test]
    fn classes_lose_namespaces_and_long_template_arguments() {
        assert_eq!(class("tensorflow.python.framework.ops.EagerTensor"), "EagerTensor");
        assert_eq!(class("std::vector<std::string>"), "vector<std::string>");
        assert_eq!(class(&format!("a::map<{}>", "x".repeat(60))), "map<…>");
        assert_eq!(class("list"), "list");
    }
}
