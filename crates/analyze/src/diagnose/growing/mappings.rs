//! Mappings that grow by the ledgers: memory that no hook saw being mapped (raw system calls, drivers), memory that processes
//! share; and, where sites are not known over time, what the program was seen to map.

use std::collections::BTreeMap;

use heaplens_format::Bytes;
use heaplens_format::memory::{Judged, Line};
use heaplens_format::recording::{Ledger, LedgerMapping, Process};

use crate::diagnose::known::Known;
use crate::trend::{Axis, Shape, Thresholds, Trend, trend};

/// Of what resident memory grew by, a mapping must have so much to be named for it where there are few ledgers.
const MOST: f64 = 0.5;

/// Mappings of one name, or of one maker, that grow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GrowingMapping {
    /// What the kernel calls it; empty where it has no name.
    pub(crate) name: String,
    /// Who mapped it, by the index of the site in the profile.
    pub(crate) maker: Option<usize>,
    pub(crate) trend: Trend,
}

/// What distinguishes mappings: the name, and the site by its number in the recording.
type MappingKey<'a> = (&'a str, Option<u32>);

fn key(mapping: &LedgerMapping) -> MappingKey<'_> {
    (&mapping.name, mapping.site)
}

/// Those that grow, the fastest first. `whole` is what resident memory does: it judges where ledgers are too few.
pub(crate) fn growing(
    known: Known<'_>,
    axis: &Axis,
    thresholds: Thresholds,
    whole: Option<&Trend>,
) -> Vec<GrowingMapping> {
    let is_judged = |judged: Judged| match judged {
        Judged::Always => true,
        Judged::WithoutSites => axis.moments.is_empty(),
        Judged::Never => false,
    };
    let rows = known.tables.lines.iter();
    let of_lines = rows.filter(|row| row.mappings.is_some_and(|mappings| is_judged(mappings.judged)));
    let lines: &[Line] = &of_lines.map(|row| row.line).collect::<Vec<_>>();
    let ledgers = &known.process.ledgers;
    let mut growing: Vec<GrowingMapping> = most_of_each(ledgers, lines)
        .into_iter()
        .filter(|(_, most)| most.get() as f64 >= thresholds.least_rise)
        .filter_map(|(key, _)| Some((key, judged(known, axis, thresholds, whole, key, lines)?)))
        .map(|((name, site), trend)| GrowingMapping {
            name: name.to_owned(),
            maker: site.and_then(|site| known.site_number(site)),
            trend,
        })
        .collect();
    growing.sort_by(|one, other| other.trend.slope.value.total_cmp(&one.trend.slope.value));
    growing
}

/// The most that each of them ever had.
fn most_of_each<'a>(ledgers: &'a [Ledger], lines: &[Line]) -> BTreeMap<MappingKey<'a>, Bytes> {
    let mut most = BTreeMap::new();
    for ledger in ledgers {
        for mapping in ledger.mappings.iter().filter(|mapping| lines.contains(&mapping.line)) {
            let bytes: &mut Bytes = most.entry(key(mapping)).or_default();
            *bytes = (*bytes).max(mapping.bytes);
        }
    }
    most
}

fn judged(
    known: Known<'_>,
    axis: &Axis,
    thresholds: Thresholds,
    whole: Option<&Trend>,
    wanted: MappingKey<'_>,
    lines: &[Line],
) -> Option<Trend> {
    let bytes = |ledger: &Ledger| {
        let own = ledger.mappings.iter().filter(|one| lines.contains(&one.line) && key(one) == wanted);
        own.map(|mapping| mapping.bytes).sum::<Bytes>()
    };
    let found = trend(&axis.ledgers(known.process, bytes), thresholds.of_ledgers());
    match found.shape {
        Shape::Linear => Some(found),
        Shape::Flat | Shape::Plateau => None,
        Shape::Filling { .. } | Shape::Slowing | Shape::Steps | Shape::TooShort => {
            by_share(known.process, axis, bytes, thresholds, whole?)
        }
    }
}

/// Resident memory grows, and between two ledgers most of that was this mapping.
fn by_share(
    process: &Process,
    axis: &Axis,
    bytes: impl Fn(&Ledger) -> Bytes,
    thresholds: Thresholds,
    whole: &Trend,
) -> Option<Trend> {
    let first = process.ledgers.iter().find(|ledger| axis.x_at(ledger.at, process.start).is_some())?;
    let last = process.ledgers.iter().max_by_key(|ledger| bytes(ledger))?;
    let rise = |value: &dyn Fn(&Ledger) -> Bytes| value(last).saturating_sub(value(first)).get() as f64;
    let (own, all) = (rise(&bytes), rise(&Ledger::program));
    let is_most = own >= thresholds.least_rise && own >= MOST * all && all > 0.0;
    (is_most && whole.shape == Shape::Linear)
        .then(|| Trend { level: bytes(last).get() as f64, ..whole.times((own / all).min(1.0)) })
}
