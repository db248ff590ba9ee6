//! The table as rows. Its syntax is explained at its beginning.

use std::sync::LazyLock;

use super::HolderRule;
use super::pattern::Pattern;

static TEXT: &str = include_str!("holders.rules");

/// What a row ends with that knows only the kind of container.
const GENERAL: &str = "(general)";

/// All rows; the tests read the same text.
pub(super) fn all() -> &'static [HolderRule] {
    static ALL: LazyLock<Vec<HolderRule>> = LazyLock::new(|| rows(TEXT).unwrap_or_default());
    &ALL
}

/// # Errors
/// The line that cannot be read, and why.
fn rows(text: &'static str) -> Result<Vec<HolderRule>, String> {
    let mut rows: Vec<HolderRule> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').ok_or_else(|| format!("one word alone: {line}"))?;
        let rest = rest.trim();
        let row = rows.last_mut();
        match (word, row) {
            ("path", Some(row)) => {
                row.patterns.push(Pattern::parse(rest).ok_or_else(|| format!("no pattern: {rest}"))?);
            }
            ("sole", Some(row)) => row.sole.extend(rest.split('|').map(str::trim)),
            ("words", Some(row)) if row.words.is_empty() => row.words = rest,
            ("fix", Some(row)) if row.fix.is_empty() => row.fix = rest,
            ("example", Some(row)) => row.examples.push(rest),
            ("path" | "sole" | "words" | "fix" | "example", _) => {
                return Err(format!("twice, or of no row: {line}"));
            }
            (id, _) => rows.push(HolderRule {
                id,
                name: rest.trim_end_matches(GENERAL).trim(),
                is_general: rest.ends_with(GENERAL),
                words: "",
                fix: "",
                patterns: Vec::new(),
                sole: Vec::new(),
                examples: Vec::new(),
            }),
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::super::testing::path;
    use super::*;

    #[test]
    fn every_row_can_be_read_and_is_complete() {
        let rows = rows(TEXT).unwrap();
        let ids: BTreeSet<&str> = rows.iter().map(|row| row.id).collect();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name).collect();
        assert_eq!([ids.len(), names.len()], [rows.len(); 2]);
        for row in &rows {
            let has_paths = !(row.patterns.is_empty() && row.sole.is_empty());
            let is_complete = !(row.words.is_empty() || row.fix.is_empty()) && has_paths;
            assert!(is_complete && !row.examples.is_empty(), "{row:?}");
            assert!(!row.name.contains(' '), "{row:?}");
        }
    }

    #[test]
    fn every_row_is_the_first_to_match_its_examples() {
        for row in all() {
            for example in &row.examples {
                let path = path(example);
                let found = super::super::find(&path.iter().collect::<Vec<_>>(), &[]).map(|found| found.id);
                assert_eq!(found, Some(row.id), "{example}");
            }
        }
    }

    /// What a program calls its own says nothing, be it ever so similar; at most its container does.
    #[test]
    fn names_of_a_programs_own_match_nothing() {
        let own = [
            "module __main__ → Gcf (type) → .figures (dict) → [4] (__main__.Figure)",
            "module app.logging → handlers (list) → [4] (app.logging.StreamHandler)",
            "module __main__ → my_lru_cache (dict) → ['a'] (list)",
            "module __main__ → loggerDict (dict) → ['a'] (__main__.Logger)",
            "module __main__ → Future (list) → [4] (__main__.Future) → .Task (__main__.Task)",
            "module torch_dynamo → cache (dict) → [1] (__main__.AddBackward0)",
            "module __main__ → history (list) → [1] (bytes)",
        ];
        for text in own {
            let path = path(text);
            let found = super::super::find(&path.iter().collect::<Vec<_>>(), &[]);
            assert!(found.is_none_or(|row| row.is_general), "{text}");
        }
    }

    /// Which of two containers grows is not known.
    #[test]
    fn a_container_is_meant_only_where_the_path_has_no_other() {
        let found = |text: &str| {
            let path = path(text);
            super::super::find(&path.iter().collect::<Vec<_>>(), &[]).map(|row| row.name)
        };
        assert_eq!(found("module __main__ → seen (dict) → ['a'] (__main__.User)"), Some("dict-entries"));
        assert_eq!(found("module __main__ → seen (dict) → [str of 9] (list) → [4] (__main__.User)"), None);
        assert_eq!(found("module __main__ → seen (__main__.Seen) → .users (dict)"), None);
        assert_eq!(found("global market → .quotes (std::map<int, Quote>)"), Some("cpp-maps"));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in ["P1", "words of nobody", "P1 a\npath …\n", "P1 a\nfix b\nfix c\n"] {
            assert!(rows(text).is_err(), "{text}");
        }
    }

    /// The page is the table, row by row.
    #[test]
    fn the_page_of_holders_has_every_row() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules/holders.md");
        let row = |row: &HolderRule| format!("| {} | `{}` | {} | {} |", row.id, row.name, row.words, row.fix);
        let expected: Vec<String> = all().iter().map(row).collect();
        let text = std::fs::read_to_string(page).unwrap_or_default();
        let found: Vec<&str> = text.lines().filter(|line| line.contains("| `")).collect();
        assert_eq!(found, expected, "the rows should be:\n{}", expected.join("\n"));
    }
}
