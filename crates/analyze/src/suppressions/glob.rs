//! Patterns for names: `*` is anything, `?` one character.

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob(String);

impl Glob {
    /// The whole name must match.
    pub(super) fn whole(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }

    /// A part of the name must match; `^` and `$` stand for its ends, as the sanitizer has them.
    pub(super) fn part(pattern: &str) -> Self {
        let inner = pattern.strip_prefix('^');
        let front = if inner.is_some() { "" } else { "*" };
        let inner = inner.unwrap_or(pattern);
        let ended = inner.strip_suffix('$');
        let back = if ended.is_some() { "" } else { "*" };
        Self(format!("{front}{}{back}", ended.unwrap_or(inner)))
    }

    /// Whether a name matches.
    pub(super) fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut at, mut of) = (0, 0);
        // Where to go on when what follows the last star does not match: one character farther.
        let mut again: Option<(usize, usize)> = None;
        while of < name.len() {
            match pattern.get(at) {
                Some(b'*') => {
                    again = Some((at + 1, of));
                    at += 1;
                }
                Some(&wanted) if wanted == b'?' || wanted == name[of] => {
                    at += 1;
                    of += 1;
                }
                _ => match again {
                    Some((after, from)) => {
                        again = Some((after, from + 1));
                        (at, of) = (after, from + 1);
                    }
                    None => return false,
                },
            }
        }
        pattern[at..].iter().all(|&left| left == b'*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_and_question_marks_stand_for_what_they_should() {
        let whole = |pattern: &str, name: &str| Glob::whole(pattern).matches(name);
        assert!(whole("*alloc", "malloc") && whole("?alloc", "calloc") && whole("a*b*c", "axxbxbyc"));
        assert!(whole("", "") && whole("*", "") && whole("**", "x"));
        assert!(!whole("alloc", "malloc") && !whole("?alloc", "realloc") && !whole("a*b", "axbx"));
    }

    /// The naive twin tries every length of every star.
    fn naive(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|skipped| naive(rest, &name[skipped..])),
            Some((wanted, rest)) => name
                .split_first()
                .is_some_and(|(first, after)| (*wanted == b'?' || wanted == first) && naive(rest, after)),
        }
    }

    proptest! {
        #[test]
        fn a_name_matches_when_some_way_of_reading_the_stars_does(pattern in "[ab*?]{0,8}", name in "[ab]{0,10}") {
            prop_assert_eq!(Glob::whole(&pattern).matches(&name), naive(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
