//! What a heap snapshot says of sites whose blocks no root leads to: garbage that waits for Python's collector, and objects that nobody
//! holds. Only a snapshot that was taken while the program ran proves what held memory while it grew: at its end functions have
//! returned and exit handlers were called, and what they held is garbage only then.

use heaplens_format::Nanos;
use heaplens_format::arena::marks::ENOUGH_ITERATIONS;
use heaplens_format::recording::{Amount, HeapMoment, HeapView, Loop, UnreachableSite};
use rustc_hash::FxHashMap;

use super::known::Known;

/// The parts of sites' blocks that no root leads to, by one snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UnreachableParts {
    /// By the index of the site in the profile; a site that is not there has no such block. `None` where no snapshot knows.
    parts: Option<FxHashMap<usize, SiteParts>>,
}

/// The parts of one site's blocks, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct SiteParts {
    garbage: f64,
    overcounted: f64,
}

impl UnreachableParts {
    /// By the last snapshot while the program ran; where it has a main loop, while that ran. On a busy machine a snapshot may be taken
    /// when the function that held everything has just returned.
    pub(crate) fn while_running(known: Known<'_>) -> Self {
        let end = end_of_loop(known);
        let is_in_loop = |view: &HeapView| match (end, view.moment) {
            (_, HeapMoment::Exit) => false,
            (Some((count, _)), HeapMoment::Running { iterations }) if iterations < count => true,
            (Some((_, until)), _) => view.at <= until,
            (None, _) => true,
        };
        Self::by_last(known, is_in_loop)
    }

    /// By the snapshot at exit, where it missed no pointers in registers. It does not prove that something was garbage before.
    pub(crate) fn at_exit(known: Known<'_>) -> Self {
        Self::by_last(known, |view| view.moment == HeapMoment::Exit && !view.others_ran)
    }

    fn by_last(known: Known<'_>, is_meant: impl Fn(&HeapView) -> bool) -> Self {
        let mut views = known.process.heap.views.iter();
        let is_meant = |view: &&HeapView| is_meant(view) && view.unreachable.is_some();
        let sites = views.rfind(is_meant).and_then(|view| view.unreachable.as_deref());
        Self { parts: sites.map(|sites| parts(known, sites)) }
    }

    /// The part of some bytes that was garbage, where they are given by site; `None` where no snapshot knows.
    pub(crate) fn garbage(&self, bytes: impl Iterator<Item = (usize, f64)>) -> Option<f64> {
        self.share(bytes, |parts| parts.garbage)
    }

    /// The part of them that nobody held, though it was no garbage.
    pub(crate) fn overcounted(&self, bytes: impl Iterator<Item = (usize, f64)>) -> Option<f64> {
        self.share(bytes, |parts| parts.overcounted)
    }

    fn share(&self, bytes: impl Iterator<Item = (usize, f64)>, part: fn(&SiteParts) -> f64) -> Option<f64> {
        let known = self.parts.as_ref()?;
        let (mut own, mut all) = (0.0, 0.0);
        for (site, bytes) in bytes {
            own += bytes * known.get(&site).map_or(0.0, part);
            all += bytes;
        }
        Some(if all > 0.0 { own / all } else { 0.0 })
    }
}

/// So long a program waits at most at the end of its loop for a snapshot, less what the recorder needs to begin one.
const WAITS_AT_END: u64 = 200_000_000;

/// How many iterations the main loop made, and until when its function surely held what it held. When a loop ended is known to an iteration. `None`:
/// growth is not judged by one, or its end is not known.
fn end_of_loop(known: Known<'_>) -> Option<(u64, Nanos)> {
    let found = known.iterations.filter(|found| found.count >= ENOUGH_ITERATIONS)?;
    let numbers = found.of_loops.iter().filter_map(|own| (own.get() as usize).checked_sub(1));
    let end = |one: &Loop| {
        let took = one.last.get().saturating_sub(one.first.get()) / one.iterations.max(1);
        one.last.get().saturating_add(took.max(WAITS_AT_END))
    };
    let loops: Vec<&Loop> = numbers.filter_map(|number| known.process.loops.get(number)).collect();
    let is_known = !loops.is_empty() && loops.iter().all(|one| one.is_exact);
    let until = loops.iter().map(|one| end(one)).max().filter(|_| is_known)?;
    Some((found.count, Nanos::new(until)))
}

/// Several sites of a recording may be one of the profile.
fn parts(known: Known<'_>, sites: &[UnreachableSite]) -> FxHashMap<usize, SiteParts> {
    let mut sums: FxHashMap<usize, [Amount; 3]> = FxHashMap::default();
    for of in sites {
        let Some(at) = known.site_number(of.site) else { continue };
        let sum = sums.entry(at).or_default();
        sum.iter_mut().zip([of.live, of.garbage, of.overcounted]).for_each(|(sum, amount)| *sum += amount);
    }
    let part = |amount: Amount, live: Amount| amount.bytes.get() as f64 / live.bytes.get().max(1) as f64;
    let parts = |[live, garbage, overcounted]: [Amount; 3]| SiteParts {
        garbage: part(garbage, live),
        overcounted: part(overcounted, live),
    };
    sums.into_iter().map(|(site, sum)| (site, parts(sum))).collect()
}

#[cfg(test)]
impl UnreachableParts {
    /// A snapshot that saw this part of the blocks of each site as garbage.
    pub(crate) fn of_garbage(parts: &[(usize, f64)]) -> Self {
        let of = |&(site, garbage): &(usize, f64)| (site, SiteParts { garbage, overcounted: 0.0 });
        Self { parts: Some(parts.iter().map(of).collect()) }
    }
}

#[cfg(test)]
mod tests {
    use heaplens_format::recording::Process;
    use heaplens_format::{Bytes, LoopId};

    use super::*;
    use crate::diagnose::testing::known_of;
    use crate::profile::{Iterations, Stacks};

    #[test]
    fn a_snapshot_after_the_main_loop_says_nothing_of_what_was_held_while_it_ran() {
        let at_iteration = |at: u64, iterations: u64, garbage: u64| HeapView {
            at: Nanos::new(1_000_000 * at),
            moment: HeapMoment::Running { iterations },
            unreachable: Some(vec![UnreachableSite {
                site: 0,
                live: Amount { bytes: Bytes::new(100), blocks: 1 },
                garbage: Amount { bytes: Bytes::new(garbage), blocks: 1 },
                overcounted: Amount::default(),
            }]),
            ..HeapView::default()
        };
        let at = |at: u64, garbage: u64| at_iteration(at, 100, garbage);
        let [first, last] = [0, 2_000_000_000].map(Nanos::new);
        let main_loop = Loop { iterations: 100, is_exact: true, first, last, ..Loop::default() };
        let seen = |views: Vec<HeapView>, count: u64| {
            let mut process = Process { loops: vec![main_loop], ..Process::default() };
            process.heap.views = views;
            let found = Iterations {
                of_loops: vec![LoopId::new(1)],
                count,
                of_loop: count,
                is_exact: true,
                file: "a".into(),
                line: 1,
                function: "f".into(),
                steps: None,
            };
            let stacks = Stacks::default();
            let known = Known { iterations: Some(&found), site_numbers: &[0], ..known_of(&process, &stacks) };
            UnreachableParts::while_running(known).garbage([(0, 1.0)].into_iter())
        };
        assert_eq!(seen(vec![at(1500, 10), at(2190, 20)], 100), Some(0.2), "the program waited for it");
        assert_eq!(seen(vec![at(1500, 10), at(2210, 90)], 100), Some(0.1), "functions may have returned");
        assert_eq!(seen(vec![at(2210, 90)], 100), None);
        assert_eq!(seen(vec![at_iteration(2210, 99, 90)], 100), Some(0.9), "its last mark may be long ago");
        assert_eq!(seen(vec![at(1500, 10), at(2210, 90)], 3), Some(0.9), "growth is judged by seconds");
    }

    #[test]
    fn what_nobody_holds_is_no_garbage() {
        let parts = SiteParts { garbage: 0.25, overcounted: 0.5 };
        let seen = UnreachableParts { parts: Some(FxHashMap::from_iter([(1, parts)])) };
        let bytes = || [(1, 10.0), (2, 10.0)].into_iter();
        assert_eq!((seen.overcounted(bytes()), seen.garbage(bytes())), (Some(0.25), Some(0.125)));
        assert_eq!(UnreachableParts::default().overcounted(bytes()), None, "no snapshot was taken");
    }

    #[test]
    fn bytes_count_as_garbage_as_far_as_the_blocks_of_their_site_were() {
        let seen = UnreachableParts::of_garbage(&[(1, 1.0), (2, 0.5)]);
        let share = |bytes: &[(usize, f64)]| seen.garbage(bytes.iter().copied());
        assert_eq!(share(&[(1, 10.0)]), Some(1.0));
        assert_eq!(share(&[(1, 10.0), (2, 10.0), (3, 20.0)]), Some(0.375));
        assert_eq!(share(&[]), Some(0.0));
        assert_eq!(
            UnreachableParts::default().garbage([(1, 10.0)].into_iter()),
            None,
            "no snapshot was taken"
        );
    }
}
