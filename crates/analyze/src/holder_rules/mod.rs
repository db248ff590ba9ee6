//! What a reference path alone says about why memory is kept, and what to do about it. Rows of a table (`holders.rules`): a pattern
//! of the path's steps, words that explain the holder, a fix. It reads paths and no other evidence, and decides no verdict.
//!
//! ```text
//!   holders.rules ─▶ table ─▶ HolderRule: pattern, words, fix ─▶ the first whose pattern a path matches
//! ```

mod pattern;
mod table;
#[cfg(test)]
mod testing;

use heaplens_format::recording::{BaseClass, PathNode};

use pattern::{Pattern, TypedNode};

/// A known holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderRule {
    /// Its number in the catalogue of causes.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Why the holder keeps what it holds.
    pub words: &'static str,
    /// What to do about it.
    pub fix: &'static str,
    /// Whether it knows no more than the kind of container: a rule that explains the growth knows more.
    pub is_general: bool,
    patterns: Vec<Pattern>,
    /// Classes of containers that it is about where a path has only one container.
    sole: Vec<&'static str>,
    /// Paths that it is the first to match.
    examples: Vec<&'static str>,
}

/// All rows, in the order in which they are asked.
pub fn all() -> &'static [HolderRule] {
    table::all()
}

/// The first row that a reference path matches; the path begins at its root. A class is also what it inherits from.
pub fn find(path: &[&PathNode], bases: &[BaseClass]) -> Option<&'static HolderRule> {
    let path: Vec<TypedNode<'_>> = path.iter().map(|node| TypedNode::new(node, bases)).collect();
    let sole = pattern::sole_container(&path);
    let is_of = |rule: &&HolderRule| {
        rule.patterns.iter().any(|pattern| pattern.is_in(&path))
            || sole.is_some_and(|container| rule.sole.iter().any(|class| container.is(class)))
    };
    all().iter().find(is_of)
}
