//! Limits that a class of the program keeps beside its container: a member with a number and a name that says so. Whether the class drops elements to
//! stay within it is its own matter; a container that has more elements has no limit.

/// How full a container is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Occupancy {
    pub(crate) elements: u64,
    pub(crate) limit: u64,
}

/// Names of a limit, whatever the container is called; without underscores.
const LIMITS: [&str; 14] = [
    "limit",
    "capacity",
    "bound",
    "maxsize",
    "maxlen",
    "maxlength",
    "maxentries",
    "maxitems",
    "maxelements",
    "maxcount",
    "maximumsize",
    "sizelimit",
    "cachelimit",
    "maxcachesize",
];
/// What stands before or after the name of the container in the name of its limit.
const WORDS: [&str; 3] = ["max", "limit", "capacity"];

/// The limit of a container, from the numbers beside it: the smallest that it has not passed.
pub(crate) fn occupancy(
    container: &str,
    elements: u64,
    numbers: impl IntoIterator<Item = (String, u64)>,
) -> Option<Occupancy> {
    let limits = numbers.into_iter().filter(|(name, _)| is_limit(name, container)).map(|(_, number)| number);
    let limit = limits.filter(|&limit| limit >= elements).min()?;
    Some(Occupancy { elements, limit })
}

fn is_limit(name: &str, container: &str) -> bool {
    let (name, container) = (plain(name), plain(container));
    let is_of_it = |word: &str| {
        let rest = name.strip_prefix(word).or_else(|| name.strip_suffix(word));
        !container.is_empty() && rest == Some(container.as_str())
    };
    LIMITS.contains(&name.as_str()) || WORDS.into_iter().any(is_of_it)
}

/// `maxsize` of `_max_size`, `MAX_SIZE`, `maxSize_` and `m_maxSize`.
fn plain(name: &str) -> String {
    let name = name.strip_prefix("m_").unwrap_or(name);
    name.chars().filter(|&letter| letter != '_').flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_known_by_their_names() {
        for name in
            ["limit_", "_max_size", "maxSize", "m_capacity", "MAX_ENTRIES", "max_history", "history_limit"]
        {
            assert!(is_limit(name, "history_"), "{name}");
        }
        for name in [
            "max_retries",
            "time_limit",
            "cache_size",
            "size",
            "history",
            "max",
            "maximum_wait",
            "buffer_size",
        ] {
            assert!(!is_limit(name, "history_"), "{name}");
        }
        assert!(!is_limit("max", ""));
    }

    #[test]
    fn the_smallest_limit_counts_that_was_not_passed() {
        let numbers = || [("limit".into(), 500), ("max_entries".into(), 300), ("step".into(), 9)];
        assert_eq!(occupancy("entries", 200, numbers()), Some(Occupancy { elements: 200, limit: 300 }));
        assert_eq!(occupancy("entries", 400, numbers()), Some(Occupancy { elements: 400, limit: 500 }));
        assert_eq!(occupancy("entries", 501, numbers()), None);
    }
}
