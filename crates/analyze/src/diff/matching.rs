//! Which line of one side is which line of the other. Paths differ from checkout to checkout and line numbers from edit to
//! edit, so that ever weaker names are compared, each on what the stronger ones left:
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

use super::lines::HeldLine;
use crate::profile::StackFrame;

/// A line of either side, by its index there.
pub(super) type Pair = (Option<usize>, Option<usize>);

/// Pairs lines; each of both sides is in one pair.
pub(super) fn pairs(from: &[HeldLine], to: &[HeldLine]) -> Vec<Pair> {
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
struct MatchKey<'a> {
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

type Level = fn(&HeldLine) -> Option<MatchKey<'_>>;

const LEVELS: [Level; 4] = [
    |line| key(line, path, by_text(line)?),
    |line| key(line, name, by_text(line)?),
    |line| key(line, path, by_line(line)),
    |line| key(line, name, by_line(line)),
];

fn key<'a>(
    line: &'a HeldLine,
    file: fn(&'a StackFrame) -> Option<&'a str>,
    by: By<'a>,
) -> Option<MatchKey<'a>> {
    let frame = line.frame.as_ref();
    Some(MatchKey {
        function: frame.and_then(|frame| frame.function.as_deref()),
        file: frame.and_then(file),
        by,
    })
}

fn by_text(line: &HeldLine) -> Option<By<'_>> {
    line.text.as_deref().map(By::Text)
}

fn by_line(line: &HeldLine) -> By<'_> {
    let frame = line.frame.as_ref();
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
fn may_be_one(from: &HeldLine, to: &HeldLine) -> bool {
    from.text.is_none() || to.text.is_none() || from.text == to.text
}

/// Whether the file of one of them was changed since, so that its line numbers mean nothing any more.
fn was_changed_since(from: &HeldLine, to: &HeldLine) -> bool {
    from.text.is_some() != to.text.is_some()
}

struct Partners {
    of_from: Vec<Option<usize>>,
    of_to: Vec<Option<usize>>,
}

/// Lines of the two sides that have the same key.
type Groups<'a> = BTreeMap<MatchKey<'a>, [Vec<usize>; 2]>;

impl Partners {
    /// Pairs what has the same key, in the order of line numbers.
    fn pair(&mut self, level: Level, from: &[HeldLine], to: &[HeldLine]) {
        for [froms, tos] in self.groups(level, from, to).into_values() {
            let mut left = tos;
            for before in froms {
                if let Some(at) = left.iter().position(|&after| may_be_one(&from[before], &to[after])) {
                    self.marry(before, left.remove(at));
                }
            }
        }
    }

    fn pair_single(&mut self, from: &[HeldLine], to: &[HeldLine]) {
        let level: Level = |line| line.frame.as_ref().and(key(line, name, By::File));
        for [froms, tos] in self.groups(level, from, to).into_values() {
            if let ([before], [after]) = (froms.as_slice(), tos.as_slice())
                && was_changed_since(&from[*before], &to[*after])
            {
                self.marry(*before, *after);
            }
        }
    }

    fn groups<'a>(&self, level: Level, from: &'a [HeldLine], to: &'a [HeldLine]) -> Groups<'a> {
        let mut groups = Groups::new();
        for (side, (lines, partners)) in [(from, &self.of_from), (to, &self.of_to)].into_iter().enumerate() {
            let mut left: Vec<usize> = (0..lines.len()).filter(|&at| partners[at].is_none()).collect();
            left.sort_by_key(|&at| lines[at].frame.as_ref().and_then(|frame| frame.line));
            for at in left {
                if let Some(key) = level(&lines[at]) {
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

    fn held_line(path: &str, function: &str, line: u32, text: Option<&str>) -> HeldLine {
        let frame = StackFrame {
            origin: Origin::User,
            function: Some(function.into()),
            file: Some(path.into()),
            line: Some(line),
            module: None,
            offset: 0,
        };
        HeldLine { frame: Some(frame), text: text.map(str::to_owned), ..HeldLine::default() }
    }

    fn native(module: &str, function: &str) -> HeldLine {
        let frame = StackFrame {
            origin: Origin::Native,
            function: Some(function.into()),
            file: None,
            line: None,
            module: Some(module.into()),
            offset: 77,
        };
        HeldLine { frame: Some(frame), ..HeldLine::default() }
    }

    const BOTH: &[Pair] = &[(Some(0), Some(0))];
    const APART: &[Pair] = &[(Some(0), None), (None, Some(0))];

    #[test]
    fn a_line_that_moved_is_known_by_its_text() {
        let from = [held_line("/a/x.py", "f", 3, Some("rows.append(row)"))];
        let to = [held_line("/b/x.py", "f", 9, Some("rows.append(row)"))];
        assert_eq!(pairs(&from, &to), BOTH);
    }

    #[test]
    fn a_line_whose_text_was_changed_is_another() {
        let from = [held_line("/a/x.py", "f", 3, Some("rows.append(row)"))];
        assert_eq!(pairs(&from, &[held_line("/a/x.py", "f", 3, Some("rows = [row]"))]), APART);
    }

    #[test]
    fn where_the_text_is_not_to_be_had_the_number_counts() {
        let from = [held_line("/a/x.py", "f", 3, None), held_line("/a/x.py", "f", 4, None)];
        let to = [held_line("/a/x.py", "f", 4, Some("b()")), held_line("/a/x.py", "f", 3, Some("a()"))];
        assert_eq!(pairs(&from, &to), [(Some(0), Some(1)), (Some(1), Some(0))]);
    }

    #[test]
    fn the_only_line_of_a_function_that_is_left_is_the_same() {
        let from = [held_line("/a/x.py", "f", 3, None)];
        assert_eq!(pairs(&from, &[held_line("/b/x.py", "f", 8, Some("a()"))]), BOTH);
        assert_eq!(
            pairs(&from, &[held_line("/b/x.py", "f", 8, None)]),
            APART,
            "it may be another line as well"
        );
        let two = [held_line("/b/x.py", "f", 8, Some("a()")), held_line("/b/x.py", "f", 9, Some("b()"))];
        assert_eq!(pairs(&from, &two).len(), 3, "nobody knows which of the two it is");
    }

    #[test]
    fn files_of_one_name_in_two_folders_differ_by_their_paths() {
        let in_folder =
            |folder: &str| held_line(&format!("/{folder}/__init__.py"), "<module>", 1, Some("import x"));
        let (from, to) = ([in_folder("one"), in_folder("two")], [in_folder("two"), in_folder("one")]);
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
        assert_eq!(pairs(&[HeldLine::default()], &[HeldLine::default()]), BOTH);
    }

    /// Compares each line with each, level by level.
    fn naive(from: &[HeldLine], to: &[HeldLine]) -> Vec<Pair> {
        let order = |lines: &[HeldLine]| {
            let mut order: Vec<usize> = (0..lines.len()).collect();
            order.sort_by_key(|&at| lines[at].frame.as_ref().and_then(|frame| frame.line));
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
        let function = |line: &HeldLine| {
            let frame = line.frame.clone().unwrap();
            (frame.function.clone(), name(&frame).map(str::to_owned))
        };
        let stage = married.clone();
        let left_of_from = |at: &usize| stage.iter().all(|&(one, _)| one != *at);
        let left_of_to = |at: &usize| stage.iter().all(|&(_, other)| other != *at);
        for before in (0..from.len()).filter(left_of_from) {
            let alike = |lines: &[HeldLine], at: &usize| function(&lines[*at]) == function(&from[before]);
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

    fn any_lines() -> impl Strategy<Value = Vec<HeldLine>> {
        let path = prop::sample::select(vec!["/a/x.py", "/b/x.py", "/b/y.py"]);
        let function = prop::sample::select(vec!["f", "g"]);
        let text = prop::option::of(prop::sample::select(vec!["one()", "two()"]));
        prop::collection::vec((path, function, 1u32..5, text), 0..12).prop_map(|lines| {
            let mut seen = std::collections::BTreeSet::new();
            let fresh =
                lines.into_iter().filter(|&(path, function, line, _)| seen.insert((path, function, line)));
            fresh.map(|(path, function, line, text)| held_line(path, function, line, text)).collect()
        })
    }

    proptest! {
        #[test]
        fn lines_are_paired_as_by_comparing_each_with_each(from in any_lines(), to in any_lines()) {
            prop_assert_eq!(pairs(&from, &to), naive(&from, &to));
        }

        #[test]
        fn a_side_compared_with_itself_is_paired_with_itself(lines in any_lines()) {
            let same: Vec<Pair> = (0..lines.len()).map(|at| (Some(at), Some(at))).collect();
            prop_assert_eq!(pairs(&lines, &lines), same);
        }
    }
}
