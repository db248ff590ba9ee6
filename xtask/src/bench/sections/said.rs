//! What a program of a section says about itself.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

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
}
