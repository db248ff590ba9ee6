//! The ranked places: at exit, at the peak, and those of the program's own mappings. A place is a function and a line;
//! the stacks that meet there are one row, shown by the heaviest of them. Where Python runs it is the user's line; what
//! imports hold stands apart.

mod ranked;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::io;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{Category, Measure, SiteProfile, StackFrame, headline};
use heaplens_format::Bytes;
use heaplens_format::recording::Reading;

use super::imports::{self, Importers};
use super::{Page, is_running, one_line, plural, plural_count};
use crate::catalogue::number::{count, share, size};
use crate::catalogue::source::source_line;
use crate::catalogue::stack::fold::{self, Folded, SHOWN, SHOWN_BRIEFLY};
use crate::catalogue::stack::label::{CUT, NO_STACK};
use crate::catalogue::stack::location::place;
use crate::catalogue::stack::mixed::{self, Line, is_machinery};

pub(crate) use ranked::{Ranked, Ranking, ranked};

/// Places whose stacks are shown at length.
const HEAVIEST: usize = 3;
/// Mapping sites that are named.
const MAPPINGS: usize = 3;
/// Places that are named where findings have told what grows.
const TOP_BESIDE_FINDINGS: usize = 5;
/// Imports that are named.
const IMPORTS: usize = 5;
/// Columns of the bytes of a site, without and with its margin.
const BYTES: usize = 12;
const BYTES_AND_MARGIN: usize = 20;
/// What the interpreter's own memory is called.
const INTERPRETER: &str = "the Python interpreter itself";
/// Where the names of functions begin, without the bytes.
const INDENT: usize = 38;

/// A table: its heading, whose sites, when, of how much, how many, and how wide its bytes are.
struct Table {
    title: &'static str,
    verb: &'static str,
    category: Category,
    moment: fn(&SiteProfile) -> Measure,
    total: Measure,
    top: usize,
}

/// Writes all tables that have something to say.
pub(super) fn write(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    if !profile.growth.findings.is_empty() {
        let of_blocks = Category::ALL.iter().filter(|category| !category.row().is_mapped);
        return of_blocks.copied().try_for_each(|category| {
            of_category(profile, category, TOP_BESIDE_FINDINGS).write(page, profile)
        });
    }
    of_category(profile, Category::Heap, page.options.top).write(page, profile)?;
    write_peak(profile, page)?;
    for &category in Category::ALL.iter().filter(|&&category| category != Category::Heap) {
        let top = if category.row().is_mapped { MAPPINGS } else { page.options.top };
        of_category(profile, category, top).write(page, profile)?;
    }
    table(imports_title(profile), Category::Heap, |site| site.held, profile.heap().held, IMPORTS)
        .write_imports(page, profile)
}

fn write_peak(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    if peak_is_at_exit(profile) {
        page.line("")?;
        page.line("  The peak was then, too: the sites above are those of the peak.")
    } else if peak_is_hardly_more(profile) {
        page.line("")?;
        page.line("  The peak was hardly more, and its sites are those above.")
    } else {
        let (peak, top) = (profile.heap().peak, page.options.top_at_peak);
        table("Live at the peak", Category::Heap, |site| site.peak, peak, top).write(page, profile)
    }
}

/// The table of what is live at last: of blocks when the script was through, of mappings at the exit.
fn of_category(profile: &Profile, category: Category, top: usize) -> Table {
    let (title, total) = (title_of(profile, category), profile.total(category));
    match category.row().is_mapped {
        false => table(title, category, |site| site.held, total.held, top),
        true => table(title, category, |site| site.live, total.live, top),
    }
}

/// What a table of what is live at last is called. Of a script it is told before Python's own clean-up: what is left
/// behind that is hardly ever what the user asks for.
fn title_of(profile: &Profile, category: Category) -> &'static str {
    let titles = &category.row().titles;
    match (is_running(profile), profile.knows_end_of_script) {
        (true, _) => titles.now,
        (false, true) => titles.at_end_of_script,
        (false, false) => titles.at_exit,
    }
}

fn imports_title(profile: &Profile) -> &'static str {
    match (is_running(profile), profile.knows_end_of_script) {
        (true, _) => "Live now, from imports",
        (false, true) => "Live at the end of the script, from imports",
        (false, false) => "Live at exit from imports",
    }
}

fn table(
    title: &'static str,
    category: Category,
    moment: fn(&SiteProfile) -> Measure,
    total: Measure,
    top: usize,
) -> Table {
    Table { title, verb: category.row().verb, category, moment, total, top }
}

fn peak_is_at_exit(profile: &Profile) -> bool {
    profile.heap().held.bytes == profile.heap().peak.bytes
        && profile.heap_sites().all(|site| site.held.bytes == site.peak.bytes)
}

/// Whether the table of the peak would be the one above once more: no site differs by more than a fiftieth of the whole.
fn peak_is_hardly_more(profile: &Profile) -> bool {
    let fiftieth = profile.heap().peak.bytes.get() / 50;
    let is_near = |held: Measure, peak: Measure| held.bytes.get().abs_diff(peak.bytes.get()) <= fiftieth;
    is_near(profile.heap().held, profile.heap().peak)
        && profile.heap_sites().all(|site| is_near(site.held, site.peak))
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

/// What a row of the table stands for.
#[derive(PartialEq, Eq, Hash)]
enum Name<'a> {
    /// A function and a line.
    Frame(Key<'a>),
    /// What the Python interpreter takes for itself, outside any Python frame.
    Interpreter,
    /// A stack without frames.
    Nothing,
}

impl<'a> Name<'a> {
    fn of(profile: &'a Profile, site: &SiteProfile) -> Self {
        let mut stack = profile.stack(site);
        let line = profile.python_line(site);
        let reads_python = profile.python.is_some_and(|python| python.reading == Reading::Frames);
        match line.or_else(|| headline(stack.clone())) {
            Some(_) if reads_python && line.is_none() && stack.all(is_machinery) => Self::Interpreter,
            Some(frame) => Self::Frame(key(frame)),
            None => Self::Nothing,
        }
    }
}

impl Table {
    fn write(&self, page: &mut Page<'_>, profile: &Profile) -> io::Result<()> {
        let places = self.group(profile, |site| match profile.import(site) {
            Some(_) => None,
            None => Some(Name::of(profile, site)),
        });
        let imports = self.group(profile, |site| profile.import(site).map(|_| ()));
        if places.is_empty() && imports.is_empty() {
            return Ok(());
        }
        page.title(&format!("{:<width$}{}", self.title, self.verb, width = self.indent() - 2))?;
        for (rank, (name, place)) in (1..).zip(places.iter().take(self.top)) {
            self.row(page, profile, rank, name, place)?;
        }
        self.rest(page, places.get(self.top..).unwrap_or_default(), "place")?;
        match imports.first() {
            Some(((), imports)) => page.line(&format!("{}imports", self.figures("", imports.measure))),
            None => Ok(()),
        }
    }

    fn write_imports(&self, page: &mut Page<'_>, profile: &Profile) -> io::Result<()> {
        let importers = Importers::of(profile);
        let imports =
            self.group(profile, |site| profile.import(site).map(|import| importers.imported(import)));
        if imports.is_empty() {
            return Ok(());
        }
        page.title(self.title)?;
        for (imported, place) in imports.iter().take(self.top) {
            let by = profile.import(place.heaviest).and_then(|import| import.by);
            page.line(&format!("{}{}", self.figures("", place.measure), imports::words(*imported, by)))?;
        }
        self.rest(page, imports.get(self.top..).unwrap_or_default(), "import")
    }

    /// The sites of this table that have a key, one place for each, the heaviest first.
    fn group<'a, K: Eq + Hash>(
        &self,
        profile: &'a Profile,
        key: impl Fn(&'a SiteProfile) -> Option<K>,
    ) -> Vec<(K, Place<'a>)> {
        let mut places: HashMap<K, Place<'a>> = HashMap::new();
        for site in profile.sites.iter().filter(|site| self.has(site)) {
            let Some(key) = key(site) else { continue };
            let measure = (self.moment)(site);
            match places.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(Place { measure, heaviest: site, stacks: 1 });
                }
                Entry::Occupied(entry) => entry.into_mut().add(site, measure, self.moment),
            }
        }
        let mut places: Vec<_> = places.into_iter().collect();
        places.sort_by_key(|(_, place)| {
            (Reverse((place.measure.bytes, place.measure.blocks)), place.heaviest.stack)
        });
        places
    }

    fn has(&self, site: &SiteProfile) -> bool {
        let measure = (self.moment)(site);
        site.category() == self.category && (measure.bytes > Bytes::ZERO || measure.blocks > 0)
    }

    fn row(
        &self,
        page: &mut Page<'_>,
        profile: &Profile,
        rank: usize,
        name: &Name<'_>,
        row: &Place<'_>,
    ) -> io::Result<()> {
        let shown = if rank <= HEAVIEST { SHOWN } else { SHOWN_BRIEFLY };
        let lines = lines(profile, row.heaviest, name, shown);
        let room = page.options.width.saturating_sub(self.indent());
        let headline = lines.first().map_or_else(|| NO_STACK.to_owned(), |line| words(line, room));
        page.emphasised(&self.figures(&rank.to_string(), row.measure), &headline)?;
        if let Some(source) = lines.first().and_then(|line| source(line, profile)) {
            self.below(page, &format!("  {source}"))?;
        }
        for line in lines.iter().skip(1) {
            self.below(page, &words(line, room.saturating_sub(2)))?;
        }
        if *name == Name::Interpreter {
            return Ok(());
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

    fn rest<K>(&self, page: &mut Page<'_>, places: &[(K, Place<'_>)], noun: &str) -> io::Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        let sum = Measure {
            bytes: places.iter().map(|(_, place)| place.measure.bytes).sum(),
            blocks: places.iter().map(|(_, place)| place.measure.blocks).sum(),
            margin: None,
        };
        let number = places.len() as u64;
        page.line(&format!("{}{} more {}", self.figures("", sum), count(number), plural(number, noun)))
    }

    /// Rank, bytes, share and blocks.
    fn figures(&self, rank: &str, measure: Measure) -> String {
        let margin = measure.margin.map_or_else(String::new, |margin| format!(" ±{}", size(margin.bytes)));
        let bytes = size(measure.bytes) + &margin;
        let blocks = plural_count(measure.blocks, "block");
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

/// The lines of a row, shown by its heaviest stack.
fn lines<'a>(profile: &'a Profile, heaviest: &SiteProfile, name: &Name<'_>, shown: usize) -> Vec<Line<'a>> {
    let stack: Vec<&StackFrame> = profile.stack(heaviest).collect();
    match profile.python_line(heaviest) {
        _ if *name == Name::Interpreter => vec![Line::Words(INTERPRETER.to_owned())],
        Some(line) => mixed::fold(&stack, line, shown),
        None => native_lines(&stack, shown),
    }
}

fn native_lines<'a>(stack: &[&'a StackFrame], shown: usize) -> Vec<Line<'a>> {
    let Folded { frames, hidden } = fold::fold(stack, shown);
    let mut lines: Vec<_> = frames.into_iter().map(Line::Frame).collect();
    if hidden > 0 {
        let more = Line::Words(format!("… {hidden} more {}", plural(hidden as u64, "frame")));
        lines.insert(lines.len() - 1, more);
    }
    lines
}

fn words(line: &Line<'_>, room: usize) -> String {
    match line {
        Line::Frame(frame) => place(frame, room),
        Line::Words(words) => one_line(words),
    }
}

/// The text of a Python line, where its file still says it.
fn source(line: &Line<'_>, profile: &Profile) -> Option<String> {
    let Line::Frame(frame) = line else { return None };
    let file = frame.file.as_deref().filter(|_| frame.is_python())?;
    source_line(file, frame.line?, profile.run.started_unix).map(|text| one_line(&text))
}
