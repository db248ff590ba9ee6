//! Tables of the top allocation sites: at exit, at the peak, and of the program's own mappings. What imports allocate has a table of
//! its own.

use std::io;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{Category, Measure, SiteProfile};

use super::imports::{self, Importers};
use super::page::Page;
use crate::catalogue::number::{count, share, size};
use crate::catalogue::process::is_running;
use crate::catalogue::ranking::{self, GroupKey, Selection, SiteGroup, line_text, lines, source};
use crate::catalogue::stack::fold::{SHOWN, SHOWN_BRIEFLY};
use crate::catalogue::stack::label::{NO_STACK, TRUNCATED};
use crate::catalogue::wording::{plural, plural_count};

/// Sites whose stacks are shown at length.
const HEAVIEST: usize = 3;
/// Mapping sites that are named.
const MAPPINGS: usize = 3;
/// Sites that are listed below findings.
const TOP_BESIDE_FINDINGS: usize = 5;
/// Imports that are named.
const IMPORTS: usize = 5;
/// Columns of the bytes of a site, without and with its margin.
const BYTES: usize = 12;
const BYTES_AND_MARGIN: usize = 20;
/// Column of the function names, without the bytes.
const INDENT: usize = 38;

/// A table: its headings, its sites, their total, and how many are shown.
struct Table {
    title: &'static str,
    verb: &'static str,
    selection: Selection,
    total: Measure,
    top: usize,
}

/// Writes all tables that are not empty.
pub(super) fn write(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    if !profile.diagnosis.findings.is_empty() {
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
        page.line("  This was also the peak (same sites as above).")
    } else if peak_is_hardly_more(profile) {
        page.line("")?;
        page.line("  The peak was within 2 % of this (same sites as above).")
    } else {
        let (peak, top) = (profile.heap().peak, page.options.top_at_peak);
        table("Live at the peak", Category::Heap, |site| site.peak, peak, top).write(page, profile)
    }
}

/// The table of what is live at last: for blocks at the end of the script, for mappings at exit.
fn of_category(profile: &Profile, category: Category, top: usize) -> Table {
    let (title, total) = (ranking::title(profile, category), profile.total(category));
    match category.row().is_mapped {
        false => table(title, category, |site| site.held, total.held, top),
        true => table(title, category, |site| site.live, total.live, top),
    }
}

fn imports_title(profile: &Profile) -> &'static str {
    match (is_running(profile), profile.knows_end_of_script) {
        (true, _) => "Live now, from imports",
        (false, true) => "Live at the end of the script, from imports",
        (false, false) => "Live at exit, from imports",
    }
}

fn table(
    title: &'static str,
    category: Category,
    moment: fn(&SiteProfile) -> Measure,
    total: Measure,
    top: usize,
) -> Table {
    Table { title, verb: category.row().verb, selection: Selection { category, moment }, total, top }
}

fn peak_is_at_exit(profile: &Profile) -> bool {
    profile.heap().held.bytes == profile.heap().peak.bytes
        && profile.heap_sites().all(|site| site.held.bytes == site.peak.bytes)
}

/// Whether the table of the peak would repeat the one above: no site differs by more than 2 % of the total.
fn peak_is_hardly_more(profile: &Profile) -> bool {
    let fiftieth = profile.heap().peak.bytes.get() / 50;
    let is_near = |held: Measure, peak: Measure| held.bytes.get().abs_diff(peak.bytes.get()) <= fiftieth;
    is_near(profile.heap().held, profile.heap().peak)
        && profile.heap_sites().all(|site| is_near(site.held, site.peak))
}

impl Table {
    fn write(&self, page: &mut Page<'_>, profile: &Profile) -> io::Result<()> {
        let groups = self.selection.group(profile, |site| match profile.import(site) {
            Some(_) => None,
            None => Some(GroupKey::of(profile, site)),
        });
        let imports = self.selection.group(profile, |site| profile.import(site).map(|_| ()));
        if groups.is_empty() && imports.is_empty() {
            return Ok(());
        }
        page.title(&format!("{:<width$}{}", self.title, self.verb, width = self.indent() - 2))?;
        for (rank, (key, group)) in (1..).zip(groups.iter().take(self.top)) {
            self.row(page, profile, rank, key, group)?;
        }
        self.rest(page, groups.get(self.top..).unwrap_or_default(), "site")?;
        match imports.first() {
            Some(((), imports)) => page.line(&format!("{}imports", self.figures("", imports.measure))),
            None => Ok(()),
        }
    }

    fn write_imports(&self, page: &mut Page<'_>, profile: &Profile) -> io::Result<()> {
        let importers = Importers::of(profile);
        let imports = self
            .selection
            .group(profile, |site| profile.import(site).map(|import| importers.imported(import)));
        if imports.is_empty() {
            return Ok(());
        }
        page.title(self.title)?;
        for (imported, group) in imports.iter().take(self.top) {
            let by = profile.import(group.heaviest).and_then(|import| import.by);
            page.line(&format!("{}{}", self.figures("", group.measure), imports::words(*imported, by)))?;
        }
        self.rest(page, imports.get(self.top..).unwrap_or_default(), "import")
    }

    fn row(
        &self,
        page: &mut Page<'_>,
        profile: &Profile,
        rank: usize,
        key: &GroupKey<'_>,
        row: &SiteGroup<'_>,
    ) -> io::Result<()> {
        let shown = if rank <= HEAVIEST { SHOWN } else { SHOWN_BRIEFLY };
        let lines = lines(profile, row.heaviest, key, shown);
        let room = page.options.width.saturating_sub(self.indent());
        let headline = lines.first().map_or_else(|| NO_STACK.to_owned(), |line| line_text(line, room));
        page.emphasised(&self.figures(&rank.to_string(), row.measure), &headline)?;
        if let Some(source) = lines.first().and_then(|line| source(line, profile)) {
            self.below(page, &format!("  {source}"))?;
        }
        for line in lines.iter().skip(1) {
            self.below(page, &line_text(line, room.saturating_sub(2)))?;
        }
        if *key == GroupKey::Interpreter {
            return Ok(());
        }
        if profile.cut(row.heaviest).is_some() {
            self.below(page, TRUNCATED)?;
        }
        if row.stacks > 1 {
            let share = size((self.selection.moment)(row.heaviest).bytes);
            self.below(page, &format!("({share} from this stack, the largest of {})", count(row.stacks)))?;
        }
        Ok(())
    }

    fn rest<K>(&self, page: &mut Page<'_>, groups: &[(K, SiteGroup<'_>)], noun: &str) -> io::Result<()> {
        if groups.is_empty() {
            return Ok(());
        }
        let sum = Measure {
            bytes: groups.iter().map(|(_, group)| group.measure.bytes).sum(),
            blocks: groups.iter().map(|(_, group)| group.measure.blocks).sum(),
            margin: None,
        };
        let number = groups.len() as u64;
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
