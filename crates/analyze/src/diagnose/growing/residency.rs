//! How much of the anonymous memory that a program maps is resident. A mapping counts with its whole length when it is made, and may never be
//! touched: what it adds to resident memory is known from the ledgers.

/// Bytes of anonymous mappings at one moment: mapped by the program, and resident.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MappedBytes {
    pub(super) mapped: f64,
    pub(super) resident: f64,
}

/// The part of their rise that mappings must have had when a ledger was taken.
const LEAST_SEEN: f64 = 0.5;

/// The part of what mappings rose by that became resident, 0 to 1; 1 where no ledger tells. `most` is the most that was mapped while the program
/// was judged, `ledgers` come in the order of time.
pub(super) fn resident_part(ledgers: &[MappedBytes], most: f64) -> f64 {
    let Some(first) = ledgers.first() else { return 1.0 };
    let rises = ledgers.iter().map(|at| (at.mapped - first.mapped, at.resident - first.resident));
    match rises.max_by(|one, other| one.0.total_cmp(&other.0)) {
        Some((mapped, resident)) if mapped > 0.0 && mapped >= LEAST_SEEN * (most - first.mapped) => {
            (resident / mapped).clamp(0.0, 1.0)
        }
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(ledgers: &[(f64, f64)], most: f64) -> f64 {
        let at = |&(mapped, resident)| MappedBytes { mapped, resident };
        resident_part(&ledgers.iter().map(at).collect::<Vec<_>>(), most)
    }

    #[test]
    fn what_is_mapped_and_never_touched_is_not_resident() {
        assert_eq!(part(&[(0.0, 500.0), (5e4, 900.0), (1e5, 2500.0)], 1e5), 0.02);
        assert_eq!(part(&[(0.0, 500.0), (1e5, 100_500.0)], 1e5), 1.0);
        assert_eq!(part(&[(0.0, 500.0), (1e5, 200_500.0)], 1e5), 1.0, "others map, too");
    }

    #[test]
    fn ledgers_of_another_time_say_nothing() {
        assert_eq!(part(&[], 9000.0), 1.0);
        assert_eq!(part(&[(0.0, 0.0), (0.0, 0.0)], 9000.0), 1.0, "it was given back by then");
        assert_eq!(part(&[(0.0, 0.0), (2000.0, 0.0)], 9000.0), 1.0, "hardly anything was mapped then");
        assert_eq!(part(&[(0.0, 0.0), (6000.0, 600.0), (0.0, 0.0)], 9000.0), 0.1);
    }
}
