//! The one word that a run gets.

use super::findings::{Finding, Rule};
use super::shape::Shape;

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
pub(super) struct Grounds {
    /// Something that matters grew and stopped.
    pub(super) stopped: bool,
    /// Memory rose, in fewer iterations than it takes to judge it.
    pub(super) too_short: bool,
}

/// Rules on growth that ends, or that is no leak.
const ENDING: [Rule; 4] = [Rule::CacheFilling, Rule::Fragmentation, Rule::Cycles, Rule::FitPerCall];

pub(super) fn verdict(findings: &[Finding], grounds: Grounds) -> Verdict {
    let has = |rule: Rule| findings.iter().any(|finding| finding.rule == rule);
    if findings.iter().any(|finding| finding.rule.is_leak()) {
        Verdict::Leak
    } else if has(Rule::Unexplained) || has(Rule::MappingGrowth) {
        Verdict::GrowthUnexplained
    } else if ENDING.into_iter().any(has) {
        Verdict::Growth
    } else if grounds.too_short {
        Verdict::TooShort
    } else if grounds.stopped {
        Verdict::Plateau
    } else {
        Verdict::Clean
    }
}

/// Whether a shape is that of something that grew and stopped.
pub(super) fn is_stopped(shape: Shape) -> bool {
    matches!(shape, Shape::Plateau | Shape::Steps)
}
