//! C34: memory that rose and stands, as a warm-up or a cache with a bound leaves it. It is no leak and no finding; the line that
//! keeps most of it is told all the same.

use heaplens_format::Bytes;

use super::findings::Line;
use super::shape::Shape;

/// The line that rose most and stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plateau {
    /// Its site that rose most, by its index in the profile.
    pub leader: usize,
    /// What it kept more at the end than at the beginning.
    pub rise: Bytes,
    /// What it kept at the end.
    pub level: Bytes,
}

/// `least`: a smaller rise is not worth a word.
pub(super) fn plateau(lines: &[Line<'_>], least: f64) -> Option<Plateau> {
    let stands = |line: &&Line<'_>| line.trend().shape == Shape::Plateau && line.trend().rise >= least;
    let most = lines.iter().filter(stands).max_by(|one, other| {
        one.trend().rise.total_cmp(&other.trend().rise).then(other.leader().cmp(&one.leader()))
    })?;
    let bytes = |value: f64| Bytes::new(value.max(0.0) as u64);
    Some(Plateau { leader: most.leader()?, rise: bytes(most.trend().rise), level: bytes(most.trend().level) })
}
