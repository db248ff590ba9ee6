//! The one word that a run gets.

use super::rule::{Finding, Outcome};
use crate::trend::Shape;

/// What a run comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Something grows and does not stop.
    Leak,
    /// Something grows for a reason that ends, or that is no leak.
    Growth,
    /// Memory grows, and nothing that was seen explains it.
    GrowthUnexplained,
    /// Nothing grows, but blocks are live that the program can no longer reach.
    Lost,
    /// It grew and stopped.
    Plateau,
    /// Nothing grows.
    Clean,
    /// There was not enough of it to say.
    TooShort,
}

impl Verdict {
    /// Its name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::Growth => "growth",
            Self::GrowthUnexplained => "growth-unexplained",
            Self::Lost => "lost",
            Self::Plateau => "plateau",
            Self::Clean => "clean",
            Self::TooShort => "too-short",
        }
    }
}

/// What the verdict rests on beside the findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct VerdictBasis {
    /// Something that matters grew and stopped.
    pub(super) stopped: bool,
    /// Memory rose, in fewer iterations than it takes to judge it.
    pub(super) too_short: bool,
}

pub(super) fn verdict(findings: &[Finding], basis: VerdictBasis) -> Verdict {
    let has = |is_it: fn(Outcome) -> bool| findings.iter().any(|finding| is_it(finding.rule.outcome));
    if has(|outcome| outcome == Outcome::Leak) {
        Verdict::Leak
    } else if has(|outcome| outcome == Outcome::Unexplained) {
        Verdict::GrowthUnexplained
    } else if !findings.is_empty() {
        Verdict::Growth
    } else if basis.too_short {
        Verdict::TooShort
    } else if basis.stopped {
        Verdict::Plateau
    } else {
        Verdict::Clean
    }
}

/// Whether a shape is that of something that grew and stopped.
pub(super) fn is_stopped(shape: Shape) -> bool {
    matches!(shape, Shape::Plateau | Shape::Steps)
}
