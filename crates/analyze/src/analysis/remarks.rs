//! What frameworks have to say of a run besides what grows, each by its own rule.

use crate::Profile;
use crate::frameworks;
use crate::profile::StackId;

/// Something that a framework may have to say of a run.
pub struct RemarkKind {
    /// What it is called in the JSON report.
    pub(crate) key: &'static str,
    /// `None` where there is nothing to say.
    pub(crate) of: fn(&Profile) -> Option<Remark>,
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

/// All that there may be to say, by what it is called in the JSON report.
pub fn remarks(profile: &Profile) -> impl Iterator<Item = (&'static str, Option<Remark>)> {
    let kinds = frameworks::ALL.iter().flat_map(|framework| framework.remarks);
    kinds.map(move |kind| (kind.key, (kind.of)(profile)))
}
