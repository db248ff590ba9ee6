//! What makes a comparison less than it could be. The words are the report's.

use heaplens_format::Bytes;

use super::moment::Side;
use crate::Profile;
use crate::profile::LedgerProfile;

/// Why something is not compared, or with care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The recordings are of two programs.
    OtherPrograms {
        /// The one.
        from: String,
        /// The other.
        to: String,
    },
    /// The heap was sampled on one side, or otherwise than on the other: its numbers are estimates there.
    OtherSampling {
        /// Mean distance of samples; `None`: exact.
        from: Option<Bytes>,
        /// The same for the other.
        to: Option<Bytes>,
    },
    /// Small Python objects were recorded on one side only, and are left out.
    ObjectsOnOneSide {
        /// Whether that is the first.
        is_first: bool,
    },
    /// There is no ledger on this side or that, and none is compared.
    NoLedger {
        /// Whether the first has one.
        from: bool,
        /// Whether the second has one.
        to: bool,
    },
    /// The same ledger is the nearest to both moments.
    NoLedgerBetween,
    /// One program waited at its end for its ledger to be read, the other did not: what it freed at its end is in the
    /// difference.
    OtherEnds,
    /// One script is known to have come to its end, of the other only the end of the process is known: what Python frees in
    /// between is in the difference.
    OneEndOfScript {
        /// Whether it is the first's that is known.
        is_first: bool,
    },
    /// What was held at an iteration is not kept, and the nearest that is stands for it.
    NearestIteration {
        /// The iteration that was asked for.
        asked: u64,
    },
    /// A recording is damaged, and what is lost seems to have shrunk.
    Damaged {
        /// The first is.
        from: bool,
        /// The second is.
        to: bool,
    },
}

/// All that is to be said.
pub(super) fn notes(from: &Side, to: &Side, is_one_run: bool) -> Vec<Note> {
    let sampling = Some(Note::OtherSampling { from: from.profile.sampled, to: to.profile.sampled })
        .filter(|_| from.profile.sampled != to.profile.sampled);
    let objects = has_objects_on_one_side(from, to)
        .then_some(Note::ObjectsOnOneSide { is_first: from.profile.object_interval.is_some() });
    let of_two = [other_programs(from, to), sampling, objects, one_end_of_script(from, to)];
    let of_two = of_two.into_iter().flatten().filter(|_| !is_one_run);
    let missed = [from, to].into_iter().filter_map(|side| side.missed);
    let nearest = missed.map(|asked| Note::NearestIteration { asked });
    of_two.chain(nearest).chain(ledger(from, to, is_one_run)).chain(damaged(from, to)).collect()
}

/// Whether small Python objects can be compared.
pub(super) fn has_objects_on_one_side(from: &Side, to: &Side) -> bool {
    from.profile.object_interval.is_some() != to.profile.object_interval.is_some()
        && (from.profile.python.is_some() && to.profile.python.is_some())
}

fn other_programs(from: &Side, to: &Side) -> Option<Note> {
    let (from, to) = (program(&from.profile), program(&to.profile));
    (from != to).then_some(Note::OtherPrograms { from, to })
}

fn one_end_of_script(from: &Side, to: &Side) -> Option<Note> {
    let known = [from, to].map(|side| side.profile.knows_end_of_script);
    let are_python = from.profile.python.is_some() && to.profile.python.is_some();
    (are_python && known[0] != known[1]).then_some(Note::OneEndOfScript { is_first: known[0] })
}

fn ledger(from: &Side, to: &Side, is_one_run: bool) -> Option<Note> {
    match (from.ledger(), to.ledger()) {
        (None, _) | (_, None) => {
            Some(Note::NoLedger { from: from.ledger().is_some(), to: to.ledger().is_some() })
        }
        (Some(one), Some(other)) if is_one_run => (one.at == other.at).then_some(Note::NoLedgerBetween),
        _ => {
            let waited = |side: &Side| side.profile.ledger.as_ref().is_some_and(LedgerProfile::has_end);
            (waited(from) != waited(to)).then_some(Note::OtherEnds)
        }
    }
}

fn damaged(from: &Side, to: &Side) -> Option<Note> {
    let [from, to] = [from, to].map(|side| !side.profile.damage.is_empty());
    (from || to).then_some(Note::Damaged { from, to })
}

/// What was run: the file name of the program, or what an interpreter was given.
fn program(profile: &Profile) -> String {
    let command = profile.shown().map_or(&profile.run.command, |row| &row.command);
    let mut words = command.iter().map(String::as_str);
    let first = words.next().unwrap_or_default();
    let given = profile.python.and_then(|_| script(words));
    let name = given.unwrap_or(first);
    name.rsplit('/').next().unwrap_or(name).to_owned()
}

/// The script, module or text among the words of an interpreter.
fn script<'a>(words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        match word {
            "-m" => return words.next(),
            "-c" => return Some("-c"),
            "-X" | "-W" => drop(words.next()),
            word if word.starts_with('-') && word.len() > 1 => {}
            script => return Some(script),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script_of(line: &str) -> Option<&str> {
        script(line.split(' ').skip(1))
    }

    #[test]
    fn what_an_interpreter_was_given_is_the_program() {
        assert_eq!(script_of("python -u -X dev train.py 5"), Some("train.py"));
        assert_eq!(script_of("python -m shop.train --fast"), Some("shop.train"));
        assert_eq!(script_of("python -c pass"), Some("-c"));
        assert_eq!(script_of("python -I"), None);
    }
}
