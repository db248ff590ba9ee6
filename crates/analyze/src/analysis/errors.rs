//! Memory errors of a run: which of them are reported, and which are known.

use std::collections::BTreeMap;

use heaplens_format::recording::ErrorKind;

use super::profile::Profile;
use crate::profile::{AnalysedError, StackFrame};
use crate::suppressions::{Names, Suppression};

impl Profile {
    /// Also reports mismatched frees that no code of the user's own made, as Memcheck does.
    pub fn report_library_errors(&mut self) {
        self.others.iter_mut().for_each(Self::report_library_errors);
        self.errors.reported.append(&mut self.errors.of_libraries);
    }

    /// Leaves out mismatched frees.
    pub fn drop_mismatched_frees(&mut self) {
        self.others.iter_mut().for_each(Self::drop_mismatched_frees);
        self.errors.reported.retain(|error| error.kind != Some(ErrorKind::MismatchedFree));
        self.errors.of_libraries.clear();
    }

    /// Leaves out the errors that are known.
    pub(super) fn suppress_errors(&mut self, known: &[Suppression], names: &Names) {
        let mut sums = BTreeMap::<&str, u64>::new();
        self.errors.reported.retain(|error| match suppression_of(error, known, names) {
            Some(by) => {
                *sums.entry(&by.name).or_default() += error.count;
                false
            }
            None => true,
        });
        self.errors.suppressed.extend(sums.into_iter().map(|(name, count)| (name.to_owned(), count)));
    }
}

fn suppression_of<'a>(
    error: &AnalysedError,
    known: &'a [Suppression],
    names: &Names,
) -> Option<&'a Suppression> {
    let kind = error.suppression_kind();
    let mut of_kind = known.iter().filter(|one| one.is_for_error(&kind)).peekable();
    of_kind.peek()?;
    let stack: Vec<&StackFrame> = error.stack.iter().collect();
    let called = names.called(&stack);
    of_kind.find(|one| one.matches_error(&called, error.is_of_call()))
}
