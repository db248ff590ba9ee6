//! Patterns of reference paths, written like the paths themselves: `module logging → root → .handlers`. Names are compared whole.

use heaplens_format::recording::{BaseClass, PathNode, Step};

/// A step of a path, with all that what it leads to is.
#[derive(Clone, Debug)]
pub(super) struct TypedNode<'a> {
    node: &'a PathNode,
    /// Its class, and those that this inherits from.
    classes: Vec<&'a str>,
}

impl<'a> TypedNode<'a> {
    pub(super) fn new(node: &'a PathNode, bases: &'a [BaseClass]) -> Self {
        let inherited = bases.iter().filter(|of| of.class == node.class).map(|of| &*of.base);
        Self { node, classes: [&*node.class].into_iter().chain(inherited).collect() }
    }

    /// Whether a class is meant that it is.
    pub(super) fn is(&self, class: &str) -> bool {
        self.classes.iter().any(|own| is_class(class, own))
    }
}

/// Steps that follow each other somewhere in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Element>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Element {
    /// Any number of steps, also none.
    Gap,
    Step {
        name: StepName,
        /// Its class is one of these; any where there are none.
        classes: Vec<&'static str>,
    },
}

/// How a step is led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepName {
    Any,
    /// What the interpreter keeps.
    Interpreter(&'static str),
    /// A module; with `.*` all below it, too.
    Module(&'static str),
    Variable(&'static str),
    Attribute(&'static str),
    /// An element of a container, or a key of it.
    Element,
    /// A part of a given name, such as a key.
    Part(&'static str),
    /// The default of a parameter.
    Default,
}

impl Pattern {
    /// From its text; `None` where that is none.
    pub(super) fn parse(text: &'static str) -> Option<Self> {
        let elements: Option<Vec<Element>> = text.split(" → ").map(Element::parse).collect();
        elements.filter(|elements| elements.iter().any(Element::says_something)).map(Self)
    }

    /// Whether a path has these steps.
    pub(super) fn is_in(&self, path: &[TypedNode<'_>]) -> bool {
        (0..path.len()).any(|start| begins(&self.0, &path[start..]))
    }
}

/// Whether a path begins with these steps.
fn begins(elements: &[Element], path: &[TypedNode<'_>]) -> bool {
    match elements {
        [] => true,
        [Element::Gap, rest @ ..] => (0..=path.len()).any(|skipped| begins(rest, &path[skipped..])),
        [step @ Element::Step { .. }, rest @ ..] => {
            path.split_first().is_some_and(|(first, path)| step.matches(first) && begins(rest, path))
        }
    }
}

/// The one container of a path: one of Python's whose elements the path goes through. Of several it is the only one whose key is
/// not written in the program's source: a dict with such keys is a record, and has as many as the source has.
pub(super) fn sole_container<'p, 'a>(path: &'p [TypedNode<'a>]) -> Option<&'p TypedNode<'a>> {
    let leads_on = |pair: &&[TypedNode<'_>]| StepName::Element.matches(pair[1].node);
    let containers: Vec<&[TypedNode<'_>]> = path.windows(2).filter(leads_on).collect();
    let growing: Vec<&&[TypedNode<'_>]> = match containers.len() {
        1 => containers.iter().collect(),
        _ => containers.iter().filter(|pair| !is_literal(pair[1].node)).collect(),
    };
    let [one] = growing[..] else { return None };
    one.first()
}

/// Whether a step goes by a key that a recording may show: a text of the source. Others are shown by their type and length.
fn is_literal(node: &PathNode) -> bool {
    matches!(node.step, Step::Item | Step::Key) && node.name.starts_with('\'')
}

impl Element {
    fn parse(text: &'static str) -> Option<Self> {
        let text = text.trim();
        if text == "…" {
            return Some(Self::Gap);
        }
        let (name, classes) = match text.split_once('(') {
            Some((name, rest)) => (name.trim(), rest.strip_suffix(')')?.split('|').map(str::trim).collect()),
            None => (text, Vec::new()),
        };
        let are_classes = classes.iter().all(|class: &&str| !class.is_empty());
        are_classes.then_some(Self::Step { name: StepName::parse(name)?, classes })
    }

    /// Whether it is more than a place in the path.
    fn says_something(&self) -> bool {
        matches!(self, Self::Step { name, classes } if *name != StepName::Any && *name != StepName::Element || !classes.is_empty())
    }

    fn matches(&self, step: &TypedNode<'_>) -> bool {
        match self {
            Self::Gap => true,
            Self::Step { name, classes } => {
                name.matches(step.node) && (classes.is_empty() || classes.iter().any(|class| step.is(class)))
            }
        }
    }
}

impl StepName {
    fn parse(text: &'static str) -> Option<Self> {
        Some(match text {
            "" | "*" => Self::Any,
            "[*]" => Self::Element,
            "default of *" => Self::Default,
            "key" | "element" => Self::Part(text),
            _ => match (
                text.strip_prefix("module "),
                text.strip_prefix('.'),
                text.strip_prefix("interpreter "),
            ) {
                (Some(module), ..) => Self::Module(module),
                (_, Some(attribute), _) => Self::Attribute(attribute),
                (.., Some(what)) => Self::Interpreter(what),
                _ if text.contains(' ') => return None,
                _ => Self::Variable(text),
            },
        })
    }

    fn matches(self, node: &PathNode) -> bool {
        let (step, name) = (node.step, &*node.name);
        match self {
            Self::Any => true,
            Self::Interpreter(what) => step == Step::Interpreter && name == what,
            Self::Module(module) => step == Step::Module && is_module(module, name),
            Self::Variable(variable) => matches!(step, Step::Variable | Step::Cell) && name == variable,
            Self::Attribute(attribute) => step == Step::Attribute && name == attribute,
            Self::Element => match step {
                Step::Item | Step::Key => true,
                Step::Part => matches!(name, "key" | "element"),
                _ => false,
            },
            Self::Part(part) => step == Step::Part && name == part,
            Self::Default => step == Step::Part && name.starts_with("default of "),
        }
    }
}

fn is_module(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix(".*") {
        Some(top) => name.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
        None => name == pattern,
    }
}

/// Whether a class is meant. A star stands for characters that are neither a dot nor a colon, `…` for any arguments of a template.
fn is_class(pattern: &str, name: &str) -> bool {
    let between = |before: &str, after: &str| name.strip_prefix(before)?.strip_suffix(after);
    match (pattern.split_once('*'), pattern.split_once('…')) {
        (None, None) => pattern == name,
        (None, Some((before, after))) => between(before, after).is_some(),
        (Some((before, after)), _) => {
            between(before, after).is_some_and(|between| !between.contains(['.', ':']))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::path;
    use super::*;

    fn is_in(pattern: &'static str, text: &str) -> bool {
        let path = path(text);
        Pattern::parse(pattern).expect(pattern).is_in(&typed(&path, &[]))
    }

    fn typed<'a>(path: &'a [PathNode], bases: &'a [BaseClass]) -> Vec<TypedNode<'a>> {
        path.iter().map(|node| TypedNode::new(node, bases)).collect()
    }

    #[test]
    fn steps_follow_each_other_unless_there_is_a_gap() {
        let text = "module a → b (A) → .c (B) → [4] (C)";
        assert!(
            is_in("module a → b → .c", text) && is_in("(B) → [*]", text) && is_in("module a → … → (C)", text)
        );
        assert!(is_in("b → … → .c", text) && is_in("* (B)", text));
        assert!(!is_in("module a → .c", text) && !is_in("(A) → (C)", text) && !is_in("(C) → … → b", text));
    }

    #[test]
    fn names_are_compared_whole_and_by_what_they_are_of() {
        let text = "module logging_tools → handlers (list) → [1] (__main__.ArrayImpl)";
        for pattern in ["module logging", ".handlers", "handler", "(ArrayImpl)", "(*ArrayImpl)", "key"] {
            assert!(!is_in(pattern, text), "{pattern}");
        }
        assert!(
            is_in("module logging_tools", text) && is_in("handlers", text) && is_in("(__main__.*)", text)
        );
        assert!(is_in("module torch._dynamo.* → *", "module torch._dynamo.guards → cache (dict)"));
        assert!(!is_in("module torch._dynamo.* → *", "module torch._dynamos → cache (dict)"));
    }

    #[test]
    fn templates_are_meant_whatever_their_arguments() {
        let text = "global market → .quotes (std::map<std::string, Quote>)";
        assert!(is_in("(std::map<…>)", text) && !is_in("(std::multimap<…>)", text));
        assert!(!is_in("(std::map<…>)", "global market → .quotes (std::map)"));
        let text = "global slots → (std::vector<std::function<void(double)>>)";
        assert!(is_in("(std::vector<std::function<…>>)", text) && is_in("(std::vector<…>)", text));
    }

    #[test]
    fn a_record_in_a_container_is_not_what_grows() {
        let sole = |text: &str| {
            let path = path(text);
            sole_container(&typed(&path, &[])).map(|container| container.node.class.to_string())
        };
        let sessions = "module shop → Shop (type) → .sessions (dict) → [str of 32] (dict) → ['seen'] (str)";
        assert_eq!(sole(sessions).as_deref(), Some("dict"));
        assert_eq!(sole("module a → rows (list) → [4] (dict) → ['name'] (str)").as_deref(), Some("list"));
        assert_eq!(sole("module a → config (dict) → ['rows'] (list) → [4] (str)").as_deref(), Some("list"));
        assert_eq!(sole("module a → config (dict) → ['rows'] (bytes)").as_deref(), Some("dict"));
        assert_eq!(sole("module a → rows (list) → [4] (dict) → [str of 5] (str)"), None);
        assert_eq!(sole("module a → all (dict) → ['a'] (dict) → ['b'] (str)"), None);
    }

    #[test]
    fn a_class_is_what_it_inherits_from() {
        let path = path("module shop → .threads (list) → [4] (shop.Download) → .body (bytes)");
        let bases = [("shop.Download", "threading.Thread"), ("bytes", "shop.Download")]
            .map(|(class, base)| BaseClass { class: class.into(), base: base.into() });
        let thread = Pattern::parse("[*] (threading.Thread)").unwrap();
        assert!(thread.is_in(&typed(&path, &bases)));
        assert!(!thread.is_in(&typed(&path, &bases[1..])), "another class that inherits");
    }

    #[test]
    fn what_says_nothing_is_no_pattern() {
        for text in ["…", "* → …", "[*]", "", "(A", "(A | )", "two words"] {
            assert_eq!(Pattern::parse(text), None, "{text}");
        }
    }
}
