//! The ranked places: at exit, at the peak, and those of the program's own mappings. A place is a function and a line;
//! the stacks that meet there are one row, shown by the heaviest of them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{Layer, Measure, SiteProfile, StackFrame};
use heaplens_format::Bytes;

use super::fold::{Folded, SHOWN, SHOWN_BRIEFLY, fold, headline};
use super::number::{count, share, size};
use super::{Page, cut, one_line, plural};
use crate::label::{CUT, NO_STACK, label};

/// Places whose stacks are shown at length.
const HEAVIEST: usize = 3;
/// Mapping sites that are named.
const MAPPINGS: usize = 3;
/// Columns of the bytes of a site, without and with its margin.
const BYTES: usize = 12;
const BYTES_AND_MARGIN: usize = 20;
/// Where the names of functions begin, without the bytes.
const INDENT: usize = 38;
/// The least room for the name of a function; a location may then be cut.
const LEAST_NAME: usize = 16;

/// A table: its heading, whose sites, when, of how much, how many, and how wide its bytes are.
struct Table {
    title: &'static str,
    verb: &'static str,
    layer: Layer,
    moment: fn(&SiteProfile) -> Measure,
    total: Measure,
    top: usize,
}

/// Writes all tables that have something to say.
pub(super) fn write(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let (top, top_at_peak) = (page.options.top, page.options.top_at_peak);
    table("Live at exit", Layer::Native, |site| site.live, profile.heap.live, top).write(page, profile)?;
    if peak_is_at_exit(profile) {
        page.line("")?;
        page.line("  The peak was at exit: the sites above are those of the peak.")?;
    } else {
        table("Live at the peak", Layer::Native, |site| site.peak, profile.heap.peak, top_at_peak)
            .write(page, profile)?;
    }
    let (anonymous, files) = (profile.anonymous.live, profile.files.live);
    table("Mapped at exit", Layer::MappedAnonymous, |site| site.live, anonymous, MAPPINGS)
        .write(page, profile)?;
    table("Files mapped at exit", Layer::MappedFiles, |site| site.live, files, MAPPINGS).write(page, profile)
}

fn table(
    title: &'static str,
    layer: Layer,
    moment: fn(&SiteProfile) -> Measure,
    total: Measure,
    top: usize,
) -> Table {
    let verb = if layer == Layer::Native { "allocated by" } else { "mapped by" };
    Table { title, verb, layer, moment, total, top }
}

fn peak_is_at_exit(profile: &Profile) -> bool {
    profile.heap.live.bytes == profile.heap.peak.bytes
        && profile.heap_sites().all(|site| site.live.bytes == site.peak.bytes)
}

/// The sites that allocate at one place.
struct Place<'a> {
    measure: Measure,
    heaviest: &'a SiteProfile,
    stacks: u64,
}

/// What tells one place from another: function, file and line, or the address where these are not known.
type Key<'a> = (Option<&'a str>, Option<&'a str>, Option<u32>, Option<&'a str>, u64);

fn key(frame: &StackFrame) -> Key<'_> {
    let offset = if frame.function.is_some() { 0 } else { frame.offset };
    (frame.function.as_deref(), frame.file.as_deref(), frame.line, frame.module.as_deref(), offset)
}

impl Table {
    fn write(&self, page: &mut Page<'_>, profile: &Profile) -> io::Result<()> {
        let places = self.places(profile);
        if places.is_empty() {
            return Ok(());
        }
        page.title(&format!("{:<width$}{}", self.title, self.verb, width = self.indent() - 2))?;
        for (rank, place) in (1..).zip(places.iter().take(self.top)) {
            self.row(page, profile, rank, place)?;
        }
        self.rest(page, places.get(self.top..).unwrap_or_default())
    }

    /// The places of this table, the heaviest first.
    fn places<'a>(&self, profile: &'a Profile) -> Vec<Place<'a>> {
        let mut places: HashMap<Option<Key<'a>>, Place<'a>> = HashMap::new();
        for site in profile.sites.iter().filter(|site| self.has(site)) {
            let measure = (self.moment)(site);
            match places.entry(headline(profile.stack(site)).map(key)) {
                Entry::Vacant(entry) => {
                    entry.insert(Place { measure, heaviest: site, stacks: 1 });
                }
                Entry::Occupied(entry) => entry.into_mut().add(site, measure, self.moment),
            }
        }
        let mut places: Vec<_> = places.into_values().collect();
        places.sort_by_key(|place| {
            (Reverse((place.measure.bytes, place.measure.blocks)), place.heaviest.stack)
        });
        places
    }

    fn has(&self, site: &SiteProfile) -> bool {
        let measure = (self.moment)(site);
        site.layer() == self.layer && (measure.bytes > Bytes::ZERO || measure.blocks > 0)
    }

    fn row(&self, page: &mut Page<'_>, profile: &Profile, rank: usize, row: &Place<'_>) -> io::Result<()> {
        let stack: Vec<&StackFrame> = profile.stack(row.heaviest).collect();
        let shown = if rank <= HEAVIEST { SHOWN } else { SHOWN_BRIEFLY };
        let Folded { frames, hidden } = fold(&stack, shown);
        let room = page.options.width.saturating_sub(self.indent());
        let headline = frames.first().map_or_else(|| NO_STACK.to_owned(), |frame| place(frame, room));
        page.emphasised(&self.figures(&rank.to_string(), row.measure), &headline)?;
        for (at, frame) in frames.iter().enumerate().skip(1) {
            if hidden > 0 && at + 1 == frames.len() {
                self.below(page, &format!("… {hidden} more {}", plural(hidden as u64, "frame")))?;
            }
            self.below(page, &place(frame, room.saturating_sub(2)))?;
        }
        if profile.cut(row.heaviest).is_some() {
            self.below(page, CUT)?;
        }
        if row.stacks > 1 {
            let share = size((self.moment)(row.heaviest).bytes);
            self.below(page, &format!("({share} by this stack, the heaviest of {})", count(row.stacks)))?;
        }
        Ok(())
    }

    fn rest(&self, page: &mut Page<'_>, places: &[Place<'_>]) -> io::Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        let sum = Measure {
            bytes: places.iter().map(|place| place.measure.bytes).sum(),
            blocks: places.iter().map(|place| place.measure.blocks).sum(),
            margin: None,
        };
        let number = places.len() as u64;
        page.line(&format!("{}{} more {}", self.figures("", sum), count(number), plural(number, "place")))
    }

    /// Rank, bytes, share and blocks.
    fn figures(&self, rank: &str, measure: Measure) -> String {
        let margin = measure.margin.map_or_else(String::new, |margin| format!(" ±{}", size(margin.bytes)));
        let bytes = size(measure.bytes) + &margin;
        let blocks = format!("{} {}", count(measure.blocks), plural(measure.blocks, "block"));
        let share = share(measure.bytes, self.total.bytes);
        format!("  {rank:>3}  {bytes:>width$} {share:>7}  {blocks:>17}    ", width = self.bytes_width())
    }

    fn below(&self, page: &mut Page<'_>, text: &str) -> io::Result<()> {
        page.line(&format!("{:indent$}  {text}", "", indent = self.indent()))
    }

    fn indent(&self) -> usize {
        INDENT + self.bytes_width()
    }

    fn bytes_width(&self) -> usize {
        if self.total.margin.is_some() { BYTES_AND_MARGIN } else { BYTES }
    }
}

impl<'a> Place<'a> {
    fn add(&mut self, site: &'a SiteProfile, measure: Measure, moment: fn(&SiteProfile) -> Measure) {
        self.measure.bytes += measure.bytes;
        self.measure.blocks += measure.blocks;
        // Independent samples: variances add, so margins add as the sides of a right triangle.
        self.measure.margin = self.measure.margin.zip(measure.margin).map(|(one, other)| one.with(other));
        self.stacks += 1;
        if measure.bytes > moment(self.heaviest).bytes {
            self.heaviest = site;
        }
    }
}

/// Function, and where: `fill  src/rows.cpp:42`. Where room is short the name is cut, not the line.
fn place(frame: &StackFrame, room: usize) -> String {
    let name = one_line(&label(frame));
    let location = match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("  {}:{line}", one_line(&short(file))),
        (Some(file), None) => format!("  {}", one_line(&short(file))),
        (None, _) => return name,
    };
    cut(&name, room.saturating_sub(location.chars().count()).max(LEAST_NAME)) + &location
}

/// A path by its last two components: `mod.rs` alone would not tell which.
fn short(path: &str) -> String {
    let mut parts: Vec<&str> = path.rsplit('/').take(2).collect();
    parts.reverse();
    parts.join("/")
}
