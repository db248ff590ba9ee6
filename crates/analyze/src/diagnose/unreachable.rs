//! What a heap snapshot says of sites whose blocks no root leads to: garbage that waits for Python's collector, and objects that nobody
//! holds. Only a snapshot that was taken while the program ran proves what held memory while it grew: at its end functions have
//! returned and exit handlers were called, and what they held is garbage only then.

use heaplens_format::recording::{Amount, HeapMoment, HeapView, UnreachableSite};
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
    /// By the last snapshot while the program ran.
    pub(crate) fn while_running(known: Known<'_>) -> Self {
        Self::by_last(known, |view| view.moment != HeapMoment::Exit)
    }

    /// By the snapshot at exit, where it missed no pointers in registers. It does not prove that something was garbage before.
    pub(crate) fn at_exit(known: Known<'_>) -> Self {
        Self::by_last(known, |view| view.moment == HeapMoment::Exit && !view.others_ran)
    }

    fn by_last(known: Known<'_>, is_meant: fn(&HeapView) -> bool) -> Self {
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
    use super::*;

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
