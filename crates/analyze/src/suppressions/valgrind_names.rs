//! What Valgrind calls the frames of a stack, which is how suppressions spell them: a function by the linker's name, one that
//! was compiled into another by its plain name. The object files are read again for it; only files of suppressions ask.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::profile::StackFrame;
use crate::symbols::{LinkerSymbol, linker_symbols};

/// The linker's names of the frames of some stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(HashMap<Arc<str>, ObjectNames>);

/// An object file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ObjectNames {
    /// Its path without links.
    path: Option<String>,
    /// By return address.
    symbols: HashMap<u64, LinkerSymbol>,
}

/// A frame, and what Valgrind calls it where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called<'a> {
    /// The frame.
    pub frame: &'a StackFrame,
    /// The name.
    pub name: Option<Cow<'a, str>>,
    /// Other names of the same function.
    pub aliases: &'a [String],
    /// The object file without links, where that is another path.
    pub object: Option<&'a str>,
}

impl Names {
    /// Looks up the frames of stacks in the object files that they name.
    pub fn of<'a>(frames: impl Iterator<Item = &'a StackFrame>) -> Self {
        let mut wanted = BTreeMap::<Arc<str>, BTreeSet<u64>>::new();
        for frame in frames {
            if let Some(module) = &frame.module {
                wanted.entry(module.clone()).or_default().insert(frame.offset);
            }
        }
        let look_up = |(module, addresses): (Arc<str>, BTreeSet<u64>)| {
            let real = std::fs::canonicalize(&*module).ok();
            let path = real.map(|path| path.to_string_lossy().into_owned()).filter(|path| **path != *module);
            let symbols = linker_symbols(&module, &addresses);
            (module, ObjectNames { path, symbols })
        };
        Self(wanted.into_iter().map(look_up).collect())
    }

    /// The frames of a stack, innermost first, with their names.
    pub fn called<'a>(&'a self, stack: &[&'a StackFrame]) -> Vec<Called<'a>> {
        let mut all = Vec::with_capacity(stack.len());
        let mut rest = stack;
        while let Some(&first) = rest.first() {
            let known = first.module.as_ref().and_then(|module| self.0.get(module));
            let symbol = known.and_then(|known| known.symbols.get(&first.offset));
            let object = known.and_then(|known| known.path.as_deref());
            let (at_address, outer) = rest.split_at(symbol.map_or(1, |it| it.functions).clamp(1, rest.len()));
            let (&function, inlined) = at_address.split_last().expect("there is one at least");
            let called = |&frame: &&'a StackFrame| Called { frame, name: plain(frame), aliases: &[], object };
            all.extend(inlined.iter().map(called));
            let names = symbol.map_or(&[][..], |symbol| &symbol.names);
            let name = names.first().map(|name| Cow::Borrowed(name.as_str()));
            let aliases = names.get(1..).unwrap_or_default();
            all.push(Called { frame: function, name, aliases, object });
            rest = outer;
        }
        all
    }
}

/// The name in the source. The C library's functions have another one for its own use.
fn plain(frame: &StackFrame) -> Option<Cow<'_, str>> {
    let name = frame.function.as_deref().map(|name| name.strip_prefix("__GI_").unwrap_or(name));
    name.map(|name| Cow::Borrowed(unqualified(name)))
}

/// A name without the namespaces and classes that it is in.
fn unqualified(name: &str) -> &str {
    let (mut depth, mut start) = (0_i32, 0);
    for (at, character) in name.char_indices() {
        match character {
            _ if depth == 0 && at == start && name[at..].starts_with("operator") => return &name[at..],
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth -= 1,
            ':' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_has_no_namespace_and_no_class() {
        assert_eq!(unqualified("fill"), "fill");
        assert_eq!(unqualified("ns::Box::fill"), "fill");
        assert_eq!(unqualified("ns::Box<std::pair<a::b, c>>::fill<d::e>"), "fill<d::e>");
        assert_eq!(unqualified("(anonymous namespace)::Box::~Box"), "~Box");
        assert_eq!(unqualified("a::operator<< <x::y>"), "operator<< <x::y>");
        assert_eq!(unqualified("f(int)::{lambda(a::b)#1}::operator()"), "operator()");
    }

    #[test]
    fn frames_of_files_that_are_gone_have_no_names() {
        let frame = StackFrame {
            origin: crate::profile::Origin::Native,
            function: Some("f".into()),
            file: None,
            line: None,
            module: Some("/no/such/file".into()),
            offset: 7,
        };
        let names = Names::of(std::iter::once(&frame));
        assert_eq!(
            names.called(&[&frame, &frame]),
            vec![Called { frame: &frame, name: None, aliases: &[], object: None }; 2]
        );
    }
}
