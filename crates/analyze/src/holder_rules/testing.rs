//! Reference paths from texts, for tests.

use heaplens_format::Bytes;
use heaplens_format::recording::{Amount, PathNode, Step};

/// A path as the examples of the table have it.
pub(crate) fn path(text: &str) -> Vec<PathNode> {
    text.split(" → ").map(node).collect()
}

fn node(text: &str) -> PathNode {
    // The class of a function may have parentheses of its own.
    let (name, class) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((name, class)) => (name.trim(), class),
        None => (text.trim(), ""),
    };
    let (step, name) = match name {
        "" => (Step::Pointer, ""),
        "key" | "element" => (Step::Part, name),
        _ if name.starts_with("interpreter ") => (Step::Interpreter, &name["interpreter ".len()..]),
        _ if name.starts_with("global ") => (Step::Global, &name["global ".len()..]),
        _ => match (name.strip_prefix("module "), name.strip_prefix('.'), name.strip_prefix('[')) {
            (Some(module), ..) => (Step::Module, module),
            (_, Some(attribute), _) => (Step::Attribute, attribute),
            (.., Some(key)) => (Step::Item, key.trim_end_matches(']')),
            _ if name.starts_with("default of ") => (Step::Part, name),
            _ => (Step::Variable, name),
        },
    };
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
