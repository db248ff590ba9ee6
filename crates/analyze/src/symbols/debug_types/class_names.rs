//! Names of classes as people write them: without what a template has by default, and without namespaces that only versions of a
//! library have.

/// Arguments that a template has by default: allocators, comparisons, hashes.
const DEFAULTS: [&str; 8] = [
    "std::allocator<",
    "std::less<",
    "std::hash<",
    "std::equal_to<",
    "std::char_traits<",
    "std::default_delete<",
    "alloc::alloc::Global",
    "std::hash::random::RandomState",
];

/// Namespaces of libraries, whose own members say nothing to users.
const LIBRARIES: [&str; 8] =
    ["std::", "__gnu_cxx::", "alloc::", "core::", "hashbrown::", "boost::", "absl::", "folly::"];

/// Whether a class is one of a library.
pub(super) fn is_of_library(class: &str) -> bool {
    LIBRARIES.iter().any(|library| class.starts_with(library))
}

/// The name of a template without its arguments and namespaces: `map` of `std::map<int, Quote>`.
pub(super) fn template(class: &str) -> &str {
    let head = class.split('<').next().unwrap_or_default();
    head.rsplit("::").next().unwrap_or_default()
}

/// A name without what nobody writes.
pub(super) fn readable(name: &str) -> String {
    let name = name.replace("__cxx11::", "");
    let name = simplified(&name).unwrap_or(name);
    name.replace("basic_string<char>", "string")
}

/// `None` where it has no arguments, or brackets that do not match.
fn simplified(name: &str) -> Option<String> {
    let open = name.find('<')?;
    let close = open + closing(&name[open..])?;
    let arguments = split(&name[open + 1..close]);
    let kept: Vec<String> = arguments
        .into_iter()
        .filter(|argument| !DEFAULTS.iter().any(|default| argument.starts_with(default)))
        .map(|argument| simplified(argument).unwrap_or_else(|| argument.to_owned()))
        .collect();
    let rest = &name[close + 1..];
    let rest = simplified(rest).unwrap_or_else(|| rest.to_owned());
    Some(format!("{}<{}>{rest}", &name[..open], kept.join(", ")))
}

/// Where the bracket closes that a text begins with. An arrow is no bracket.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut before) = (0_usize, ' ');
    for (at, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
        before = character;
    }
    None
}

/// Arguments, separated by commas that are in no brackets.
fn split(arguments: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (at, character) in arguments.char_indices() {
        match character {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(arguments[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(arguments[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_by_default_are_left_out() {
        let map = "std::map<long unsigned int, Quote, std::less<long unsigned int>, \
                   std::allocator<std::pair<long unsigned int const, Quote> > >";
        assert_eq!(readable(map), "std::map<long unsigned int, Quote>");
        let text = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
        assert_eq!(readable(text), "std::string");
        let vector = format!("std::vector<{text}, std::allocator<{text} > >");
        assert_eq!(readable(&vector), "std::vector<std::string>");
        assert_eq!(readable("alloc::vec::Vec<u8, alloc::alloc::Global>"), "alloc::vec::Vec<u8>");
    }

    #[test]
    fn other_names_stay_as_they_are() {
        for name in ["session", "std::function<void(int, double)>", "Box<4>", "operator<", "a<b->c>"] {
            assert_eq!(readable(name), name);
        }
    }

    #[test]
    fn libraries_are_known_by_their_namespace() {
        assert!(is_of_library("std::map<int, int>") && is_of_library("hashbrown::map::HashMap<u8, u8>"));
        assert!(!is_of_library("stdlike::Map") && !is_of_library("session"));
        assert_eq!(template("std::map<a::b, int>"), "map");
        assert_eq!(template("session"), "session");
    }
}
