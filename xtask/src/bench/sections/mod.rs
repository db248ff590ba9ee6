//! What is measured apart from the rows, because it is no comparison of tools: each section has a table of its own between
//! marks of its own in `docs/benchmarks.md`, and can be written alone.

mod errors;
mod fragmentation;
mod frameworks;
mod leaks;
mod readings;
mod said;
mod snapshots;

use anyhow::{Result, ensure};

use super::options::{BenchOptions, Keep};

/// Its name on the command line, and what makes its text.
pub struct Section {
    /// The word after `--only`.
    pub name: &'static str,
    /// Measures, and gives the table.
    pub measure: fn(&BenchOptions) -> Result<String>,
}

/// All of them.
pub const SECTIONS: &[Section] = &[
    Section { name: "readings", measure: readings::measure },
    Section { name: "fragmentation", measure: fragmentation::measure },
    Section { name: "snapshots", measure: snapshots::measure },
    Section { name: "leaks", measure: leaks::measure },
    Section { name: "errors", measure: errors::measure },
    Section { name: "frameworks", measure: frameworks::measure },
];

/// Whether a word after `--only` names a section.
pub fn is_section(word: &str) -> bool {
    SECTIONS.iter().any(|section| section.name == word)
}

/// Those that were asked for; all where nothing was named.
pub fn chosen(only: &[String]) -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().filter(move |section| only.is_empty() || only.iter().any(|word| word == section.name))
}

/// Refuses to write a part of a table.
pub fn check(options: &BenchOptions) -> Result<()> {
    let partial = options.only.iter().any(|word| !is_section(word));
    ensure!(
        options.keep == Keep::Print || !partial,
        "--write keeps whole tables: leave out --only, or name sections alone"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_part_of_the_table_is_not_written() {
        let check = |words: &[&str]| check(&BenchOptions::parse(words).unwrap());
        assert!(check(&["--only", "pairs", "--write"]).is_err());
        assert!(check(&["--only", "readings", "--write"]).is_ok());
    }
}
