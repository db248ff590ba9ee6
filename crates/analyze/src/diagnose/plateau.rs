//! Memory that rose and stands: the line that keeps most of it.

use heaplens_format::Bytes;

use super::growing::GrowingLine;
use super::rule::Rule;
use super::rules::warm_up::RULE;
use crate::trend::Shape;

/// The line that rose most and stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plateau {
    /// The rule that says so.
    pub rule: &'static Rule,
    /// Its site that rose most, by its index in the profile.
    pub representative: usize,
    /// What it kept more at the end than at the beginning.
    pub rise: Bytes,
    /// What it kept at the end.
    pub level: Bytes,
}

/// `least`: a smaller rise is not worth a word. A line that rose in steps, or at the beginning, stands as well.
pub(super) fn plateau(lines: &[GrowingLine<'_>], least: f64) -> Option<Plateau> {
    let stands = |line: &&GrowingLine<'_>| {
        matches!(line.trend().shape, Shape::Plateau | Shape::Steps | Shape::Flat)
            && line.trend().rise >= least
    };
    let most = lines.iter().filter(stands).max_by(|one, other| {
        one.trend()
            .rise
            .total_cmp(&other.trend().rise)
            .then(other.representative().cmp(&one.representative()))
    })?;
    let bytes = |value: f64| Bytes::new(value.max(0.0) as u64);
    Some(Plateau {
        rule: &RULE,
        representative: most.representative()?,
        rise: bytes(most.trend().rise),
        level: bytes(most.trend().level),
    })
}
