//! Native programs: variables, members and classes that debug information names.

use super::{holder_of, none_wrong};
use crate::harness::program;

#[test]
fn variables_of_cpp_are_named() {
    let (program, mut wrong) = (program("holders.cpp"), Vec::new());
    let source =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/holders.cpp"))
            .expect("the source is there");
    let cases: [(&str, &[&str]); 10] = [
        ("map", &["global cache", "map<int, char*>"]),
        ("vector", &["global everything", "vector<std::string>"]),
        ("member", &["global Registry::rows", "vector<char*>"]),
        ("local", &["main (holders.cpp:*)", "own", "vector<char*>"]),
        ("nested", &["global shop", ".books.orders (map<int, Order>)", ".text (string)"]),
        ("pointers", &["global shop", ".recent (vector<std::shared_ptr<Order>>)", "Order"]),
        ("chain", &["global chain", "Chain", ".head (Link)"]),
        ("virtual", &["global store", "Shelf", ".rows (unordered_map<int, Order>)", ".text (string)"]),
        ("static", &["global remember()::seen", "vector<std::string>"]),
        ("thread", &["global scratch (thread-local)", "vector<std::string>"]),
    ];
    for (what, expected) in cases {
        let mark = format!("// {what}");
        let line = 1 + source.lines().position(|line| line.ends_with(&mark)).expect("a line") as u64;
        let found = holder_of(&program, &[what], "holders.cpp", line);
        let is_right = |path: &Vec<String>| {
            path.iter().filter(|step| *step != "block").take(expected.len()).eq(expected)
        };
        if !found.as_ref().is_ok_and(is_right) {
            wrong.push(format!("{what}: {found:?}"));
        }
    }
    none_wrong(&wrong, cases.len());
}
