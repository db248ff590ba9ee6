//! C34: memory rose and then levelled off, as after a warm-up or with a bounded cache. It is neither a leak nor a finding; the line
//! that retains most of it is reported all the same.

use heaplens_format::Bytes;

use crate::diagnose::{GrowthLine, Rule, Shape};

pub(crate) static RULE: Rule = Rule::new("C34", "warm-up", 900);

/// The line that rose most and stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plateau {
    /// The rule that reports it.
    pub rule: &'static Rule,
    /// Its site that rose most, by its index in the profile.
    pub leader: usize,
    /// How much more it retained at the end than at the beginning.
    pub rise: Bytes,
    /// What it retained at the end.
    pub level: Bytes,
}

/// `least`: a smaller rise is not reported.
pub(crate) fn plateau(lines: &[GrowthLine<'_>], least: f64) -> Option<Plateau> {
    let stands = |line: &&GrowthLine<'_>| line.trend().shape == Shape::Plateau && line.trend().rise >= least;
    let most = lines.iter().filter(stands).max_by(|one, other| {
        one.trend().rise.total_cmp(&other.trend().rise).then(other.leader().cmp(&one.leader()))
    })?;
    let bytes = |value: f64| Bytes::new(value.max(0.0) as u64);
    Some(Plateau {
        rule: &RULE,
        leader: most.leader()?,
        rise: bytes(most.trend().rise),
        level: bytes(most.trend().level),
    })
}
