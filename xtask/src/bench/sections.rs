//! What is measured apart from the rows, because it is no comparison of tools: each section has a table of its own between
//! marks of its own in `docs/benchmarks.md`, and can be written alone.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::options::Options;
use super::{fragmentation, frameworks, leaks, readings, snapshots};

/// Its name on the command line, and what makes its text.
pub struct Section {
    /// The word behind `--only`.
    pub name: &'static str,
    /// Measures, and gives the table.
    pub measure: fn(&Options) -> Result<String>,
}

/// All of them.
pub const SECTIONS: &[Section] = &[
    Section { name: "readings", measure: readings::measure },
    Section { name: "fragmentation", measure: fragmentation::measure },
    Section { name: "snapshots", measure: snapshots::measure },
    Section { name: "leaks", measure: leaks::measure },
    Section { name: "frameworks", measure: frameworks::measure },
];

/// Whether a word behind `--only` names a section.
pub fn is_section(word: &str) -> bool {
    SECTIONS.iter().any(|section| section.name == word)
}

/// Those that were asked for; all where nothing was named.
pub fn chosen(only: &[String]) -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().filter(move |section| only.is_empty() || only.iter().any(|word| word == section.name))
}

/// What a program said about itself: `WORD name=number name=number …`.
pub fn said(output: &str, word: &str) -> Result<BTreeMap<String, f64>> {
    let line = output.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    let line = line.with_context(|| format!("the program said nothing about its {word}:\n{output}"))?;
    let pair = |word: &str| {
        let (name, number) = word.split_once('=')?;
        Some((name.to_owned(), number.parse().ok()?))
    };
    line.split_whitespace()
        .map(|word| pair(word).with_context(|| format!("`{word}` is no name=number")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_numbers_by_name() {
        let found = said("noise\nreadings marks=10 wall_ns=2.5\n", "readings").unwrap();
        assert_eq!(found, BTreeMap::from([("marks".to_owned(), 10.0), ("wall_ns".to_owned(), 2.5)]));
        assert!(said("readings marks\n", "readings").is_err());
        assert!(said("nothing\n", "readings").is_err());
    }

    #[test]
    fn sections_are_chosen_by_name_and_all_without_one() {
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|word| (*word).to_owned()).collect();
            chosen(&only).map(|section| section.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]).len(), SECTIONS.len());
        assert_eq!(names(&["readings"]), ["readings"]);
        assert_eq!(names(&["pairs"]), [""; 0]);
    }
}
