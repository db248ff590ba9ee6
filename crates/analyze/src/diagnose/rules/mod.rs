//! Known causes of growth. Each file here is one rule: a static [`Rule`] called `RULE`, with the functions and the
//! constants that only it needs. Nothing lists them: the build script collects the files of this folder and of the frameworks'.
//! A rule reads what was recorded; it never reads a running process, and writes nothing.

use std::sync::LazyLock;

use crate::diagnose::rule::Rule;
use crate::frameworks;

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// All rules, in the order in which they are tried.
pub fn all() -> &'static [&'static Rule] {
    static ALL: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
        let of_frameworks = frameworks::ALL.iter().flat_map(|framework| framework.rules);
        let mut all: Vec<_> = RULES.iter().chain(of_frameworks).copied().collect();
        all.sort_by_key(|rule| rule.order);
        all
    });
    &ALL
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn no_two_rules_have_an_identifier_a_name_or_a_turn_in_common() {
        let ids: BTreeSet<&str> = all().iter().map(|rule| rule.id).collect();
        let names: BTreeSet<&str> = all().iter().map(|rule| rule.name).collect();
        let orders: BTreeSet<u16> = all().iter().map(|rule| rule.order).collect();
        assert_eq!([ids.len(), names.len(), orders.len()], [all().len(); 3]);
    }

    #[test]
    fn every_rule_has_a_page_that_is_listed() {
        let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules");
        let listed = std::fs::read_to_string(pages.join("README.md")).unwrap();
        for rule in all().iter().filter(|rule| rule.id.starts_with('C')) {
            let page = std::fs::read_to_string(pages.join(format!("{}.md", rule.id))).unwrap_or_default();
            assert!(page.starts_with(&format!("# {} `{}`: ", rule.id, rule.name)), "{rule:?}");
            assert!(listed.contains(&format!("[{0}]({0}.md) | `{1}` |", rule.id, rule.name)), "{rule:?}");
        }
    }
}
