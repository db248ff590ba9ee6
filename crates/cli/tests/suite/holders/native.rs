//! Native programs: variables outside of functions, maps, stacks.

use super::{holder_of, none_wrong};
use crate::harness::program;

#[test]
fn variables_of_cpp_are_named() {
    let (program, mut wrong) = (program("holders.cpp"), Vec::new());
    let source =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/holders.cpp"))
            .expect("the source is there");
    let cases = [
        ("map", "global cache"),
        ("vector", "global everything"),
        ("member", "global Registry::rows"),
        ("local", "stack of thread"),
    ];
    for (what, expected) in cases {
        let mark = format!("// {what}");
        let line = 1 + source.lines().position(|line| line.ends_with(&mark)).expect("a line") as u64;
        let found = holder_of(&program, &[what], "holders.cpp", line);
        if !found.as_ref().is_ok_and(|path| path.first().is_some_and(|first| first.starts_with(expected))) {
            wrong.push(format!("{what}: {found:?}"));
        }
    }
    none_wrong(&wrong, cases.len());
}
