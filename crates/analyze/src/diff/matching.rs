//! Which line of one side is which line of the other. Paths differ from checkout to checkout and line numbers from edit to
//! edit, so that ever weaker names are tried, each on what the stronger ones left:
//!
//! ```text
//!   1  function, path,      text          the same file, wherever in it
//!   2  function, file name, text          another checkout
//!   3  function, path,      line number   where the text of one side is not to be had: the file was changed since
//!   4  function, file name, line number
//!   5  function, file name                where either side has one left, and the text of one of them is known
//! ```
//!
//! For native code without lines the object file stands for the source file. Two lines whose texts are known and differ are
//! never one.

use std::collections::BTreeMap;

use super::lines::Place;
use crate::profile::StackFrame;

/// A line of either side, by its index there.
pub(super) type Pair = (Option<usize>, Option<usize>);

/// Pairs lines; each of both sides is in one pair.
pub(super) fn pairs(from: &[Place], to: &[Place]) -> Vec<Pair> {
    let mut partners = Partners { of_from: vec![None; from.len()], of_to: vec![None; to.len()] };
    for level in LEVELS {
        partners.pair(level, from, to);
    }
    partners.pair_single(from, to);
    let matched = partners.of_from.iter().enumerate().map(|(at, &partner)| (Some(at), partner));
    let new = (0..to.len()).filter(|&at| partners.of_to[at].is_none()).map(|at| (None, Some(at)));
    matched.chain(new).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    function: Option<&'a str>,
    file: Option<&'a str>,
    by: By<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By<'a> {
    Text(&'a str),
    /// And the address of code without a name.
    Line(Option<u32>, u64),
    File,
}

type Level = fn(&Place) -> Option<Key<'_>>;

const LEVELS: [Level; 4] = [
    |place| key(place, path, by_text(place)?),
    |place| key(place, name, by_text(place)?),
    |place| key(place, path, by_line(place)),
    |place| key(place, name, by_line(place)),
];

fn key<'a>(place: &'a Place, file: fn(&'a StackFrame) -> Option<&'a str>, by: By<'a>) -> Option<Key<'a>> {
    let frame = place.frame.as_ref();
    Some(Key { function: frame.and_then(|frame| frame.function.as_deref()), file: frame.and_then(file), by })
}

fn by_text(place: &Place) -> Option<By<'_>> {
    place.text.as_deref().map(By::Text)
}

fn by_line(place: &Place) -> By<'_> {
    let frame = place.frame.as_ref();
    let nameless = frame.filter(|frame| frame.function.is_none() && frame.file.is_none());
    By::Line(frame.and_then(|frame| frame.line), nameless.map_or(0, |frame| frame.offset))
}

fn path(frame: &StackFrame) -> Option<&str> {
    frame.file.as_deref().or(frame.module.as_deref())
}

fn name(frame: &StackFrame) -> Option<&str> {
    path(frame).and_then(|path| path.rsplit('/').next())
}

/// Two known texts that differ are two lines.
fn may_be_one(from: &Place, to: &Place) -> bool {
    from.text.is_none() || to.text.is_none() || from.text == to.text
}

/// Whether the file of one of them was changed since, so that its line numbers mean nothing any more.
fn was_changed_since(from: &Place, to: &Place) -> bool {
    from.text.is_some() != to.text.is_some()
}

struct Partners {
    of_from: Vec<Option<usize>>,
    of_to: Vec<Option<usize>>,
}

/// Lines of the two sides that have the same key.
type Groups<'a> = BTreeMap<Key<'a>, [Vec<usize>; 2]>;

impl Partners {
    /// Pairs what has the same key, in the order of line numbers.
    fn pair(&mut self, level: Level, from: &[Place], to: &[Place]) {
        for [froms, tos] in self.groups(level, from, to).into_values() {
            let mut left = tos;
            for before in froms {
                if let Some(at) = left.iter().position(|&after| may_be_one(&from[before], &to[after])) {
                    self.marry(before, left.remove(at));
                }
            }
        }
    }

    fn pair_single(&mut self, from: &[Place], to: &[Place]) {
        let level: Level = |place| place.frame.as_ref().and(key(place, name, By::File));
        for [froms, tos] in self.groups(level, from, to).into_values() {
            if let ([before], [after]) = (froms.as_slice(), tos.as_slice())
                && was_changed_since(&from[*before], &to[*after])
            {
                self.marry(*before, *after);
            }
        }
    }

    fn groups<'a>(&self, level: Level, from: &'a [Place], to: &'a [Place]) -> Groups<'a> {
        let mut groups = Groups::new();
        for (side, (places, partners)) in [(from, &self.of_from), (to, &self.of_to)].into_iter().enumerate() {
            let mut left: Vec<usize> = (0..places.len()).filter(|&at| partners[at].is_none()).collect();
            left.sort_by_key(|&at| places[at].frame.as_ref().and_then(|frame| frame.line));
            for at in left {
                if let Some(key) = level(&places[at]) {
                    groups.entry(key).or_default()[side].push(at);
                }
            }
        }
        groups
    }

    fn marry(&mut self, before: usize, after: usize) {
        self.of_from[before] = Some(after);
        self.of_to[after] = Some(before);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::profile::Origin;

    fn place(path: &str, function: &str, line: u32, text: Option<&str>) -> Place {
        let frame = StackFrame {
            origin: Origin::User,
            function: Some(function.into()),
            file: Some(path.into()),
            line: Some(line),
            module: None,
            offset: 0,
        };
        Place { frame: Some(frame), text: text.map(str::to_owned), ..Place::default() }
    }

    fn native(module: &str, function: &str) -> Place {
        let frame = StackFrame {
            origin: Origin::Native,
            function: Some(function.into()),
            file: None,
            line: None,
            module: Some(module.into()),
            offset: 77,
        };
        Place { frame: Some(frame), ..Place::default() }
    }

    const BOTH: &[Pair] = &[(Some(0), Some(0))];
    const APART: &[Pair] = &[(Some(0), None), (None, Some(0))];

    #[test]
    fn a_line_that_moved_is_known_by_its_text() {
        let from = [place("/a/x.py", "f", 3, Some("rows.append(row)"))];
        let to = [place("/b/x.py", "f", 9, Some("rows.append(row)"))];
        assert_eq!(pairs(&from, &to), BOTH);
    }

    #[test]
    fn a_line_whose_text_was_changed_is_another() {
        let from = [place("/a/x.py", "f", 3, Some("rows.append(row)"))];
        assert_eq!(pairs(&from, &[place("/a/x.py", "f", 3, Some("rows = [row]"))]), APART);
    }

    #[test]
    fn where_the_text_is_not_to_be_had_the_number_counts() {
        let from = [place("/a/x.py", "f", 3, None), place("/a/x.py", "f", 4, None)];
        let to = [place("/a/x.py", "f", 4, Some("b()")), place("/a/x.py", "f", 3, Some("a()"))];
        assert_eq!(pairs(&from, &to), [(Some(0), Some(1)), (Some(1), Some(0))]);
    }

    #[test]
    fn the_only_line_of_a_function_that_is_left_is_the_same() {
        let from = [place("/a/x.py", "f", 3, None)];
        assert_eq!(pairs(&from, &[place("/b/x.py", "f", 8, Some("a()"))]), BOTH);
        assert_eq!(pairs(&from, &[place("/b/x.py", "f", 8, None)]), APART, "it may be another line as well");
        let two = [place("/b/x.py", "f", 8, Some("a()")), place("/b/x.py", "f", 9, Some("b()"))];
        assert_eq!(pairs(&from, &two).len(), 3, "nobody knows which of the two it is");
    }

    #[test]
    fn files_of_one_name_in_two_folders_are_told_apart_by_their_paths() {
        let line = |folder: &str| place(&format!("/{folder}/__init__.py"), "<module>", 1, Some("import x"));
        let (from, to) = ([line("one"), line("two")], [line("two"), line("one")]);
        assert_eq!(pairs(&from, &to), [(Some(0), Some(1)), (Some(1), Some(0))]);
    }

    #[test]
    fn native_code_is_known_by_the_name_of_its_object_file_and_its_function() {
        assert_eq!(pairs(&[native("/usr/lib/liba.so", "grow")], &[native("/opt/liba.so", "grow")]), BOTH);
        assert_eq!(
            pairs(&[native("/usr/lib/liba.so", "grow")], &[native("/usr/lib/libb.so", "grow")]),
            APART
        );
    }

    #[test]
    fn what_has_no_stack_is_one_on_either_side() {
        assert_eq!(pairs(&[Place::default()], &[Place::default()]), BOTH);
    }

    /// Compares each line with each, level by level.
    fn naive(from: &[Place], to: &[Place]) -> Vec<Pair> {
        let order = |places: &[Place]| {
            let mut order: Vec<usize> = (0..places.len()).collect();
            order.sort_by_key(|&at| places[at].frame.as_ref().and_then(|frame| frame.line));
            order
        };
        let mut married: Vec<(usize, usize)> = Vec::new();
        for level in LEVELS {
            for before in order(from) {
                for after in order(to) {
                    let is_free = married.iter().all(|&(one, other)| one != before && other != after);
                    let is_same = level(&from[before]).is_some() && level(&from[before]) == level(&to[after]);
                    if is_free && is_same && may_be_one(&from[before], &to[after]) {
                        married.push((before, after));
                    }
                }
            }
        }
        let function = |place: &Place| {
            let frame = place.frame.clone().unwrap();
            (frame.function.clone(), name(&frame).map(str::to_owned))
        };
        let stage = married.clone();
        let left_of_from = |at: &usize| stage.iter().all(|&(one, _)| one != *at);
        let left_of_to = |at: &usize| stage.iter().all(|&(_, other)| other != *at);
        for before in (0..from.len()).filter(left_of_from) {
            let alike = |places: &[Place], at: &usize| function(&places[*at]) == function(&from[before]);
            let rivals = (0..from.len()).filter(left_of_from).filter(|at| alike(from, at)).count();
            let found: Vec<usize> = (0..to.len()).filter(left_of_to).filter(|at| alike(to, at)).collect();
            if rivals == 1 && found.len() == 1 && was_changed_since(&from[before], &to[found[0]]) {
                married.push((before, found[0]));
            }
        }
        let partner = |at| married.iter().find(|&&(one, _)| one == at).map(|&(_, other)| other);
        let new = (0..to.len()).filter(|at| married.iter().all(|(_, other)| other != at));
        (0..from.len()).map(|at| (Some(at), partner(at))).chain(new.map(|at| (None, Some(at)))).collect()
    }

    fn any_places() -> impl Strategy<Value = Vec<Place>> {
        let path = prop::sample::select(vec!["/a/x.py", "/b/x.py", "/b/y.py"]);
        let function = prop::sample::select(vec!["f", "g"]);
        let text = prop::option::of(prop::sample::select(vec!["one()", "two()"]));
        prop::collection::vec((path, function, 1u32..5, text), 0..12).prop_map(|lines| {
            let mut seen = std::collections::BTreeSet::new();
            let fresh =
                lines.into_iter().filter(|&(path, function, line, _)| seen.insert((path, function, line)));
            fresh.map(|(path, function, line, text)| place(path, function, line, text)).collect()
        })
    }

    proptest! {
        #[test]
        fn lines_are_paired_as_by_comparing_each_with_each(from in any_places(), to in any_places()) {
            prop_assert_eq!(pairs(&from, &to), naive(&from, &to));
        }

        #[test]
        fn a_side_compared_with_itself_is_paired_with_itself(places in any_places()) {
            let same: Vec<Pair> = (0..places.len()).map(|at| (Some(at), Some(at))).collect();
            prop_assert_eq!(pairs(&places, &places), same);
        }
    }
}
