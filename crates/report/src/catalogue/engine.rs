//! What is said of another engine's results: its name, kinds of records, and why they are not all.

use heaplens_analyze::memcheck_engine::{EngineFindings, FoldedRecords, Incomplete};

use super::number::count;

/// `Valgrind 3.19.0`.
pub(crate) fn name(found: &EngineFindings) -> String {
    found.version.as_ref().map_or_else(|| "Valgrind".to_owned(), |version| format!("Valgrind {version}"))
}

/// `40 UninitCondition, 27 UninitValue`, the most frequent first.
pub(crate) fn kinds(folded: &FoldedRecords) -> String {
    let mut kinds: Vec<(&String, &u64)> = folded.kinds.iter().collect();
    kinds.sort_by_key(|&(name, number)| (std::cmp::Reverse(*number), name));
    let text = |(name, number): (&String, &u64)| format!("{} {name}", count(*number));
    kinds.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Why not all of it was read; `None` where it was.
pub(crate) fn unread(found: &EngineFindings) -> Option<String> {
    let name = name(found);
    Some(match found.incomplete.as_ref()? {
        Incomplete::Empty => {
            format!("{name} reported nothing, so that nothing is known of uninitialized values.")
        }
        Incomplete::CutOff => format!(
            "The output of {name} ends before the program did: the program executed another one, or was killed. \
             Errors after that are not known."
        ),
        Incomplete::Malformed { at, why } => format!(
            "The output of {name} cannot be read after byte {}: {why}. Errors after that are not known.",
            count(*at)
        ),
    })
}
