//! The report as JSON, schema `heaplens-report/1`. Fields are never renamed nor given another meaning within a
//! version; what has no data is `null`, never missing. Written as it is read from the profile: a large one needs no
//! second copy in memory.

pub mod baseline;
pub mod diff;
mod engine;
mod errors;
mod findings;
mod imports;
mod iterations;
mod ledger;
mod lost;
mod processes;
mod returns;
mod sections;

use std::io::{self, Write};

use heaplens_analyze::diagnose::Verdict;
use heaplens_analyze::profile::{
    Category, Cost, LossLine, Margin, Measure, SiteProfile, StackFrame, StackId, Totals,
};
use heaplens_analyze::{Profile, remarks};
use heaplens_format::Bytes;
use heaplens_format::memory::SpaceKind;
use heaplens_format::recording::{Exit, Interpreter, Reading};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::catalogue::process::version;

const SCHEMA: &str = "heaplens-report/1";

/// Writes the report as one line of JSON.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    write_report(&Report(profile, None), out)
}

/// The same with the leak checks of other processes.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_with_others(profile: &Profile, others: &[Profile], out: &mut dyn Write) -> io::Result<()> {
    write_report(&Report(profile, Some(others)), out)
}

fn write_report(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut buffered = io::BufWriter::new(out);
    serde_json::to_writer(&mut buffered, report)?;
    writeln!(buffered)?;
    buffered.flush()
}

/// A profile, and those of the other processes where their leaks are wanted.
struct Report<'a>(&'a Profile, Option<&'a [Profile]>);

impl Serialize for Report<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let profile = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", SCHEMA)?;
        map.serialize_entry("heaplens", version(profile))?;
        map.serialize_entry("command", &profile.run.command)?;
        map.serialize_entry("exit", &exit(profile.exit))?;
        map.serialize_entry("pid", &profile.pid.map(|pid| pid.get()))?;
        map.serialize_entry("processes", &processes::processes(profile))?;
        map.serialize_entry("tree", &processes::tree(profile))?;
        map.serialize_entry("cost", &cost(&profile.cost))?;
        map.serialize_entry("sampled", &sampled(profile))?;
        map.serialize_entry("python", &profile.python.map(|found| python(found, profile.object_interval)))?;
        map.serialize_entry("verdict", &profile.verdict().map(Verdict::name))?;
        map.serialize_entry("plateau", &findings::plateau(profile))?;
        map.serialize_entry("iterations", &iterations::iterations(profile))?;
        map.serialize_entry("marks", &profile.marks.iter().map(iterations::mark).collect::<Vec<_>>())?;
        map.serialize_entry("rss", &findings::rss(profile))?;
        map.serialize_entry("errors", &errors::errors(profile))?;
        if profile.errors.guarded_blocks > 0 {
            map.serialize_entry("guarded_blocks", &profile.errors.guarded_blocks)?;
        }
        if let Some(found) = &profile.engine {
            map.serialize_entry("engine", &engine::engine(found))?;
        }
        map.serialize_entry("findings", &findings::findings(profile))?;
        map.serialize_entry("below_floor", &findings::below_floor(profile))?;
        for (key, remark) in remarks(profile) {
            map.serialize_entry(key, &remark.map(|remark| findings::remark(profile, remark)))?;
        }
        map.serialize_entry("ledger", &profile.ledger.as_ref().map(|found| ledger::rows(profile, found)))?;
        map.serialize_entry(
            "ledger_details",
            &profile.ledger.as_ref().map(|found| ledger::details(profile, found)),
        )?;
        if !profile.spaces.is_empty() {
            let spaces: Vec<_> = profile.spaces.iter().map(|one| ledger::space(profile, one)).collect();
            map.serialize_entry("spaces", &spaces)?;
        }
        map.serialize_entry("lost", &lost::lost(profile))?;
        map.serialize_entry("sections", &sections::sections(profile))?;
        map.serialize_entry("lost_in_other_processes", &self.1.map(lost::in_others))?;
        map.serialize_entry("returns", &profile.reclaim_test.map(returns::returns))?;
        map.serialize_entry("totals", &totals(&profile.heap()))?;
        map.serialize_entry(
            "python_objects",
            &profile.object_interval.map(|_| totals(&profile.total(Category::Objects))),
        )?;
        map.serialize_entry("mapped", &Mapped::of(profile))?;
        map.serialize_entry("imports", &imports::all(profile))?;
        let (sites, omitted) = choose_sites(profile);
        map.serialize_entry("sites", &Sites(profile, sites))?;
        map.serialize_entry("sites_omitted", &omitted)?;
        map.serialize_entry("losses", &losses(profile))?;
        map.end()
    }
}

#[derive(serde::Serialize)]
struct ExitFields {
    code: Option<i32>,
    signal: Option<i32>,
}

fn exit(exit: Option<Exit>) -> ExitFields {
    match exit {
        Some(Exit::Code(code)) => ExitFields { code: Some(code), signal: None },
        Some(Exit::Signal(signal)) => ExitFields { code: None, signal: Some(signal) },
        None => ExitFields { code: None, signal: None },
    }
}

#[derive(serde::Serialize)]
struct CostFields {
    agent_cpu_seconds: f64,
    cpu_seconds: Option<f64>,
    arena_bytes: u64,
    private_bytes: u64,
}

fn cost(cost: &Cost) -> CostFields {
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let cpu = cost.total_cpu.get();
    CostFields {
        agent_cpu_seconds: seconds(cost.agent_cpu.get()),
        cpu_seconds: (cpu > 0).then(|| seconds(cpu)),
        arena_bytes: cost.arena.get(),
        private_bytes: cost.private.get(),
    }
}

/// The margins of a sampled run: half-widths of the 95 % confidence intervals.
#[derive(serde::Serialize)]
struct SampledFields {
    interval_bytes: u64,
    confidence: f64,
    live_bytes_margin: u64,
    live_blocks_margin: u64,
    peak_bytes_margin: u64,
    peak_blocks_margin: u64,
    allocated_bytes_margin: u64,
    allocated_blocks_margin: u64,
}

fn sampled(profile: &Profile) -> Option<SampledFields> {
    let Totals { live, peak, allocated, .. } = profile.heap();
    let margin = |measure: Measure| measure.margin.unwrap_or_default();
    profile.sampled.map(|interval| SampledFields {
        interval_bytes: interval.get(),
        confidence: 0.95,
        live_bytes_margin: margin(live).bytes.get(),
        live_blocks_margin: margin(live).blocks,
        peak_bytes_margin: margin(peak).bytes.get(),
        peak_blocks_margin: margin(peak).blocks,
        allocated_bytes_margin: margin(allocated).bytes.get(),
        allocated_blocks_margin: margin(allocated).blocks,
    })
}

/// The interpreter in the process, and whether its frames were read.
#[derive(serde::Serialize)]
struct PythonFields {
    version: String,
    frames: bool,
    reason: Option<&'static str>,
    /// Mean distance of samples of small objects: 1 when each was recorded, `null` when none was.
    object_interval_bytes: Option<u64>,
}

fn python(python: Interpreter, object_interval: Option<Bytes>) -> PythonFields {
    PythonFields {
        version: format!("{}.{}", python.major, python.minor),
        frames: python.reading == Reading::Frames,
        reason: match python.reading {
            Reading::Frames => None,
            Reading::UnknownVersion => Some("unknown-version"),
            Reading::FreeThreaded => Some("free-threaded"),
            Reading::DebugBuild => Some("debug-build"),
        },
        object_interval_bytes: object_interval.map(Bytes::get),
    }
}

#[derive(serde::Serialize)]
struct Amounts {
    live_bytes: u64,
    live_blocks: u64,
    peak_bytes: u64,
    peak_blocks: u64,
    allocated_bytes: u64,
    allocated_blocks: u64,
}

fn amounts(live: Measure, peak: Measure, allocated: Measure) -> Amounts {
    Amounts {
        live_bytes: live.bytes.get(),
        live_blocks: live.blocks,
        peak_bytes: peak.bytes.get(),
        peak_blocks: peak.blocks,
        allocated_bytes: allocated.bytes.get(),
        allocated_blocks: allocated.blocks,
    }
}

fn totals(totals: &Totals) -> Amounts {
    amounts(totals.live, totals.peak, totals.allocated)
}

#[derive(serde::Serialize)]
struct Mapped {
    anonymous: Amounts,
    files: Amounts,
}

impl Mapped {
    fn of(profile: &Profile) -> Self {
        let of = |category| totals(&profile.total(category));
        Self { anonymous: of(Category::Anonymous), files: of(Category::Files) }
    }
}

/// How many frames are written, over the stacks of all sites. A TensorFlow program has half a million sites with stacks
/// hundreds deep, which would be gigabytes; those that lead by live bytes, by bytes at the peak or by allocated bytes are
/// written, some 20 MB of them.
const MOST_FRAMES: usize = 100_000;

/// The sum of the sites that are not written.
#[derive(serde::Serialize)]
struct Omitted {
    count: usize,
    #[serde(flatten)]
    amounts: Amounts,
}

/// The sites to write, in the profile's order, and the sum of the others; `None` when all are written.
fn choose_sites(profile: &Profile) -> (Vec<&SiteProfile>, Option<Omitted>) {
    let sites = &profile.sites;
    let chosen = leading(profile);
    if chosen.iter().all(|&chosen| chosen) {
        return (sites.iter().collect(), None);
    }
    let (written, left): (Vec<_>, Vec<_>) = sites.iter().zip(chosen).partition(|&(_, chosen)| chosen);
    let sum = |moment: fn(&SiteProfile) -> Measure| Measure {
        bytes: left.iter().map(|(site, _)| moment(site).bytes).sum(),
        blocks: left.iter().map(|(site, _)| moment(site).blocks).sum(),
        margin: None,
    };
    let amounts = amounts(sum(|site| site.live), sum(|site| site.peak), sum(|site| site.allocated));
    let omitted = Omitted { count: left.len(), amounts };
    (written.into_iter().map(|(site, _)| site).collect(), Some(omitted))
}

/// Marks the leading sites by each moment in turn, until the frames are used up.
fn leading(profile: &Profile) -> Vec<bool> {
    let sites = &profile.sites;
    let moments: [fn(&SiteProfile) -> Measure; 4] =
        [|site| site.held, |site| site.live, |site| site.peak, |site| site.allocated];
    let orders = moments.map(|moment| {
        let mut order: Vec<usize> = (0..sites.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(moment(&sites[at]).bytes));
        order
    });
    let mut chosen = vec![false; sites.len()];
    let mut frames = 0;
    for rank in 0..sites.len() {
        for order in &orders {
            let at = order[rank];
            if !std::mem::replace(&mut chosen[at], true) {
                frames += profile.stack(&sites[at]).count();
            }
        }
        if frames >= MOST_FRAMES {
            break;
        }
    }
    chosen
}

struct Sites<'a>(&'a Profile, Vec<&'a SiteProfile>);

impl Serialize for Sites<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.1.iter().map(|site| SiteFields::of(self.0, site)))
    }
}

#[derive(serde::Serialize)]
struct SiteFields<'a> {
    #[serde(flatten)]
    amounts: Amounts,
    live_bytes_margin: Option<u64>,
    peak_bytes_margin: Option<u64>,
    /// Live at the end of the script, before interpreter shutdown.
    held_bytes: Option<u64>,
    held_blocks: Option<u64>,
    bytes_per_iteration: Option<f64>,
    layer: &'static str,
    kind: &'static str,
    /// The space of its blocks, unless that is the host's memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    space: Option<&'static str>,
    stack_cut: bool,
    stack: Stack<'a>,
}

impl<'a> SiteFields<'a> {
    fn of(profile: &'a Profile, site: &'a SiteProfile) -> Self {
        let bytes = |margin: Option<Margin>| margin.map(|margin| margin.bytes.get());
        let held = profile.knows_end_of_script.then_some(site.held);
        Self {
            amounts: amounts(site.live, site.peak, site.allocated),
            live_bytes_margin: bytes(site.live.margin),
            peak_bytes_margin: bytes(site.peak.margin),
            held_bytes: held.map(|held| held.bytes.get()),
            held_blocks: held.map(|held| held.blocks),
            bytes_per_iteration: profile.diagnosis.of_site(site),
            layer: site.layer.name(),
            kind: site.kind.row().name,
            space: space_of(profile, site),
            stack_cut: profile.cut(site).is_some(),
            stack: Stack(profile, site.stack),
        }
    }
}

fn space_of(profile: &Profile, site: &SiteProfile) -> Option<&'static str> {
    let kind = Some(site.kind.row().space).filter(|&kind| kind != SpaceKind::HOST)?;
    profile.tables.spaces.iter().find(|row| row.kind == kind).map(|row| row.name)
}

struct Stack<'a>(&'a Profile, StackId);

impl Serialize for Stack<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.frames(self.1).map(frame))
    }
}

#[derive(serde::Serialize)]
struct FrameFields<'a> {
    function: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    module: Option<&'a str>,
    offset: u64,
    language: &'static str,
}

fn frame(frame: &StackFrame) -> FrameFields<'_> {
    FrameFields {
        function: frame.function.as_deref(),
        file: frame.file.as_deref(),
        line: frame.line,
        module: frame.module.as_deref(),
        offset: frame.offset,
        language: frame.language(),
    }
}

#[derive(serde::Serialize)]
struct LossFields {
    what: String,
    count: u64,
    of: Option<u64>,
}

/// What the process lost, then what the recording lost.
fn losses(profile: &Profile) -> Vec<LossFields> {
    profile.losses.iter().map(loss).chain(damage(profile)).collect()
}

fn loss(line: &LossLine) -> LossFields {
    LossFields { what: line.what.clone(), count: line.count, of: line.of }
}

fn damage(profile: &Profile) -> impl Iterator<Item = LossFields> {
    profile.damage.iter().map(|damage| LossFields {
        what: format!("damaged parts of the recording, {damage}"),
        count: 1,
        of: None,
    })
}
