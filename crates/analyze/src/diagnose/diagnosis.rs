//! What is said of one process: what grows and how fast, as a whole, by layer, by ledger line and by finding, and the verdict.

use heaplens_format::memory::{Line, SiteKind, Space};
use rustc_hash::FxHashMap;

use super::plateau::Plateau;
use super::rule::Finding;
use super::verdict::{Verdict, VerdictBasis};
use crate::profile::{Layer, SiteProfile, StackId};
use crate::trend::{How, Shape, Slowing, Trend};

/// What is said of one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnosis {
    /// What growth is counted by.
    pub how: How,
    /// Iterations that it was judged by; 0 for seconds.
    pub count: u64,
    /// What iterations are called where they are runs that a framework marked.
    pub runs: Option<&'static str>,
    /// How long an iteration took on average; `None` where growth is counted per second.
    pub seconds_per_iteration: Option<f64>,
    /// Iterations that would be enough, where these were too few.
    pub enough: Option<u64>,
    /// Resident memory; `None` where there are no readings.
    pub rss: Option<Trend>,
    /// Live bytes of the heap.
    pub live: Option<Trend>,
    /// Layers, by the sum of their sites.
    pub layers: Vec<(Layer, Trend)>,
    /// Lines of the ledgers, by their spaces.
    pub ledger: Vec<(Space, Line, Trend)>,
    /// Iterations that become slower.
    pub slowing: Option<Slowing>,
    /// Lines whose bytes changed enough to be judged.
    pub lines: usize,
    /// What grows.
    pub findings: Vec<Finding>,
    /// What grows too little to matter, where a floor was applied.
    pub below_floor: Vec<Finding>,
    /// The word; `None` where nothing was recorded.
    pub verdict: Option<Verdict>,
    /// The line that keeps most of what rose and stands; `None` where no such line is known.
    pub plateau: Option<Plateau>,
    pub(super) basis: VerdictBasis,
    pub(super) slopes: FxHashMap<(StackId, SiteKind), f64>,
}

impl Diagnosis {
    /// Without what refers to sites. There must be no finding.
    pub(crate) fn without_sites(self) -> Self {
        Self { plateau: None, slopes: FxHashMap::default(), ..self }
    }

    /// Bytes per iteration, or per second, that the process grows by: of resident memory where it grows steadily, else of what
    /// the findings say together, those below the floor included. Whichever is more: memory that is not touched yet is kept all
    /// the same.
    pub fn pace(&self) -> f64 {
        let resident =
            self.rss.filter(|trend| trend.shape == Shape::Linear).map_or(0.0, |trend| trend.slope.value);
        let found = self.findings.iter().chain(&self.below_floor);
        let found = found.filter(|finding| finding.representative.is_some());
        resident.max(found.map(|finding| finding.trend.slope.value).sum())
    }

    /// Bytes per iteration of lines of a space's ledger together; `None` where there were too few ledgers to tell.
    pub fn of_ledger(&self, space: Space, lines: &[Line]) -> Option<f64> {
        let own = self.ledger.iter().filter(|(of, line, _)| *of == space && lines.contains(line));
        let paces: Vec<Option<f64>> = own.map(|(.., trend)| trend.pace()).collect();
        if paces.is_empty() { None } else { paces.into_iter().sum() }
    }

    /// Bytes per iteration of a site; `None` where that is not known.
    pub fn of_site(&self, site: &SiteProfile) -> Option<f64> {
        (self.how != How::Time).then(|| self.slopes.get(&(site.stack, site.kind)).copied().unwrap_or(0.0))
    }
}
