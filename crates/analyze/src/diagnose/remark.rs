//! What frameworks have to say of a run besides what grows, each by its own rule.

use crate::profile::{Counts, StackId, Stacks};

/// Something that a framework may have to say of a run.
pub(crate) struct RemarkKind {
    /// What it is called in the JSON report.
    pub(crate) key: &'static str,
    /// `None` where there is nothing to say.
    pub(crate) of: fn(&Counts, &Stacks) -> Option<Remark>,
}

/// What there is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// When it was.
    pub when: String,
    /// The stack that it is about, where there is one.
    pub stack: Option<StackId>,
    /// All of it in a sentence.
    pub text: String,
}
