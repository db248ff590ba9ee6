//! The page that a user sees first: how the run ended, how much memory, which sites, what was lost, what it cost.
//! Short and ranked; the whole is in the JSON.

pub mod diagnose;
pub mod diff;
pub(crate) mod findings;
pub mod heap;
mod imports;
pub mod leaks;
pub(crate) mod ledger;
mod lost;
pub(crate) mod sites;

use std::io::{self, Write};

use heaplens_analyze::Profile;
use heaplens_analyze::diagnose::How;
use heaplens_analyze::profile::{Category, Iterations, LossLine, Measure, ProcessRow};
use heaplens_format::Bytes;
use heaplens_format::recording::{Amount, Exit, Interpreter, ProcessEnd, Reading};

pub use crate::catalogue::number::{count, size};
use crate::catalogue::number::{percent, seconds};

/// How the page looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns of the terminal; lines are cut there.
    pub width: usize,
    /// Whether to emphasise with escape sequences; never more than the words say.
    pub colour: bool,
    /// Sites at exit.
    pub top: usize,
    /// Sites at the peak.
    pub top_at_peak: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { width: 110, colour: false, top: 10, top_at_peak: 5 }
    }
}

/// Processes beside the one shown that are named.
const OTHERS: usize = 8;
/// Marks that are named at either end.
const MARKS: usize = 2;
/// Losses that are named.
const LOSSES: usize = 12;

/// Writes the page without colour, for a file or a pipe.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    write_with(profile, Options::default(), out)
}

/// Writes the page.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_with(profile: &Profile, options: Options, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { options, out };
    page.head(profile)?;
    if profile.pid.is_none() {
        page.line("")?;
        page.line("  Nothing was recorded.")?;
        return if profile.damage.is_empty() { Ok(()) } else { page.losses(profile) };
    }
    findings::write(profile, &mut page)?;
    page.figures(profile)?;
    ledger::write(profile, &mut page)?;
    lost::write(profile, &mut page)?;
    sites::write(profile, &mut page)?;
    page.others(profile)?;
    page.losses(profile)?;
    page.cost(profile)
}

/// The place that lines go to.
struct Page<'a> {
    options: Options,
    out: &'a mut dyn Write,
}

impl Page<'_> {
    /// One line, cut to the width, without blanks at its end.
    fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", cut(text.trim_end(), self.options.width))
    }

    /// A line whose first `plain` characters are plain and whose rest is emphasised.
    fn emphasised(&mut self, plain: &str, rest: &str) -> io::Result<()> {
        if !self.options.colour {
            return self.line(&format!("{plain}{rest}"));
        }
        let room = self.options.width.saturating_sub(plain.chars().count());
        writeln!(self.out, "{plain}\x1b[1m{}\x1b[0m", cut(rest.trim_end(), room))
    }

    /// A text behind a word in front of its first line, broken between words.
    fn wrapped(&mut self, front: &str, text: &str) -> io::Result<()> {
        let indent = front.chars().count();
        let lines = wrapped(text, self.options.width.saturating_sub(indent));
        let fronts = std::iter::once(front).chain(std::iter::repeat(""));
        lines.iter().zip(fronts).try_for_each(|(line, front)| self.line(&format!("{front:indent$}{line}")))
    }

    fn title(&mut self, text: &str) -> io::Result<()> {
        self.line("")?;
        self.emphasised("  ", text)
    }

    fn head(&mut self, profile: &Profile) -> io::Result<()> {
        let end = if is_running(profile) { "still running".to_owned() } else { ending(profile.exit) };
        let mut parts = vec![profile.run.command.join(" "), end];
        if profile.run.wall.get() > 0 {
            parts.push(seconds(profile.run.wall));
        }
        if let Some(share) = profile.cost.share() {
            parts.push(format!("Heaplens took {} of the CPU time", percent(share)));
        }
        // The command may be long; what follows it must not be lost.
        let rest = parts[1..].join(" · ");
        let room = self.options.width.saturating_sub(rest.chars().count() + "heaplens   · ".len()).max(20);
        let command = cut(&one_line(&parts[0]), room);
        self.line(&format!("heaplens  {command} · {rest}"))
    }

    fn figures(&mut self, profile: &Profile) -> io::Result<()> {
        self.line("")?;
        if let Some(row) = profile.shown().filter(|row| row.command != profile.run.command) {
            self.line(&format!("  process         {} ({})", row.pid, one_line(&row.command.join(" "))))?;
        }
        if let Some(rss) = profile.rss {
            let [start, peak, end] = [rss.start, rss.peak, rss.end].map(size);
            let last = if is_running(profile) { "now" } else { "end" };
            self.line(&format!("  RSS             start {start} · peak {peak} · {last} {end}"))?;
        }
        ledger::write_tree(profile, self)?;
        if profile.growth.how == How::Marks {
            let of = profile.growth.runs.unwrap_or("the program's own marks");
            self.line(&format!("  iterations      {}, by {of}", count(profile.growth.count)))?;
        } else if let Some(found) = &profile.iterations {
            self.line(&format!("  iterations      {}", iterations(found)))?;
        }
        if profile.knows_end_of_script {
            self.measure("live at the end", profile.heap().held)?;
            self.line(&format!("{:18}of the script, before Python's own clean-up", ""))?;
        }
        self.marks(profile)?;
        let live = if is_running(profile) { "live now" } else { "live at exit" };
        self.measure(live, profile.heap().live)?;
        self.measure("live at peak", profile.heap().peak)?;
        self.measure("allocated", profile.heap().allocated)?;
        self.objects(profile)?;
        self.mapped(profile)?;
        self.returns(profile)?;
        if let Some(python) = profile.python.filter(|python| python.reading != Reading::Frames) {
            self.line(&format!("  {:<15} {}", python_name(python), why_unread(python.reading)))?;
        }
        if let Some(interval) = profile.sampled {
            let text = "  sampled         one point every {} on average: all numbers are estimates, ± holds 95 % of runs";
            self.line(&text.replace("{}", &size(interval)))?;
        }
        Ok(())
    }

    /// The user's own marks with what was live then: the first and the last of them.
    fn marks(&mut self, profile: &Profile) -> io::Result<()> {
        let named = profile.marks.iter().filter_map(|mark| mark.label.as_deref().zip(Some(mark.live)));
        let mut words: Vec<String> =
            named.map(|(label, live)| format!("{} {}", one_line(label), size(live))).collect();
        if words.is_empty() {
            return Ok(());
        }
        if let Some(hidden) = words.len().checked_sub(2 * MARKS).filter(|&hidden| hidden > 0) {
            words.splice(MARKS..MARKS + hidden, [format!("… {} more …", count(hidden as u64))]);
        }
        self.line(&format!("  live at marks   {}", words.join(" · ")))
    }

    fn measure(&mut self, what: &str, measure: Measure) -> io::Result<()> {
        let margin = measure.margin.map_or_else(String::new, |margin| format!(" ± {}", size(margin.bytes)));
        let blocks = measure.margin.map_or_else(String::new, |margin| format!(" ± {}", count(margin.blocks)));
        let (bytes, number) = (size(measure.bytes), count(measure.blocks));
        self.line(&format!(
            "  {what:<15} {bytes}{margin} in {number}{blocks} {}",
            plural(measure.blocks, "block")
        ))
    }

    /// Small Python objects: they lie in mapped memory, so they are no part of the heap's figures.
    fn objects(&mut self, profile: &Profile) -> io::Result<()> {
        let Some(interval) = profile.object_interval else { return Ok(()) };
        let (objects, when) = match profile.knows_end_of_script {
            true => (profile.total(Category::Objects).held, "the end"),
            false if is_running(profile) => (profile.total(Category::Objects).live, "this moment"),
            false => (profile.total(Category::Objects).live, "exit"),
        };
        self.measure("Python objects", objects)?;
        if interval > Bytes::new(1) {
            let every = size(interval);
            self.line(&format!(
                "{:18}small ones at {when}, sampled every {every} on average; ± holds 95 % of runs",
                ""
            ))?;
        }
        self.line(&format!("{:18}one that Python takes from a free list counts where it was first made", ""))
    }

    fn mapped(&mut self, profile: &Profile) -> io::Result<()> {
        let [anonymous, files] =
            [Category::Anonymous, Category::Files].map(|one| profile.total(one).live.bytes);
        if anonymous == Bytes::ZERO && files == Bytes::ZERO {
            return Ok(());
        }
        let when = if is_running(profile) { "mapped now" } else { "mapped at exit" };
        self.line(&format!("  {when:<15} {} anonymous · {} of files", size(anonymous), size(files)))
    }

    /// What came back when it was asked for.
    fn returns(&mut self, profile: &Profile) -> io::Result<()> {
        let Some(returns) = profile.reclaim_test else { return Ok(()) };
        let collected =
            returns.collected.map(|found| format!("gc.collect() freed {}", size(found.heap + found.objects)));
        let trimmed =
            returns.trimmed.map(|found| format!("malloc_trim(0) returned {} of RSS", size(found.returned())));
        let words: Vec<String> = collected.into_iter().chain(trimmed).collect();
        if words.is_empty() {
            return Ok(());
        }
        self.line(&format!("  tried           {}", words.join(" · ")))
    }

    fn others(&mut self, profile: &Profile) -> io::Result<()> {
        let mut others: Vec<&ProcessRow> = profile.processes.iter().filter(|row| !row.shown).collect();
        if others.is_empty() {
            return Ok(());
        }
        others.sort_by_key(|row| std::cmp::Reverse(row.peak));
        self.title(&format!("{:<23}{:>11}{:>14}   {}", "Other processes", "at exit", "at peak", "command"))?;
        for row in others.iter().take(OTHERS) {
            let (live, peak) = (size(row.live), size(row.peak));
            let command = one_line(&row.command.join(" "));
            let end = process_end(row.end);
            self.line(&format!("  {:>8}  {end:<12} {live:>11}{peak:>14}   {command}", row.pid.get()))?;
        }
        match others.len().saturating_sub(OTHERS) {
            0 => Ok(()),
            more => self.line(&format!("            and {} more", count(more as u64))),
        }
    }

    fn losses(&mut self, profile: &Profile) -> io::Result<()> {
        let damage = profile.damage.iter().map(|damage| format!("the recording is damaged {damage}"));
        let losses: Vec<String> = profile.losses.iter().map(loss_words).chain(damage).collect();
        if losses.is_empty() {
            self.line("")?;
            return self.line("  No event was missed, no stack was cut.");
        }
        self.title("Missed or cut")?;
        for loss in losses.iter().take(LOSSES) {
            self.line(&format!("    {loss}"))?;
        }
        match losses.len().saturating_sub(LOSSES) {
            0 => Ok(()),
            more => self.line(&format!("    and {} more", count(more as u64))),
        }
    }

    fn cost(&mut self, profile: &Profile) -> io::Result<()> {
        let cost = &profile.cost;
        let cpu = match cost.share() {
            Some(share) => {
                let (own, all) = (seconds(cost.agent_cpu), seconds(cost.total_cpu));
                format!("{} of the CPU time ({own} of {all})", percent(share))
            }
            None => format!("{} of CPU time", seconds(cost.agent_cpu)),
        };
        self.line("")?;
        let (arena, private) = (size(cost.arena), size(cost.private));
        self.line(&format!("  Heaplens: {cpu} · arena {arena} · private {private}"))
    }
}

/// Whether the process shown goes on.
pub(crate) fn is_running(profile: &Profile) -> bool {
    profile.shown().is_some_and(|row| row.end == ProcessEnd::Running)
}

/// `1,000 of the loop at train.py:41 in main`; a count that may lack some is told as such.
pub(crate) fn iterations(found: &Iterations) -> String {
    let about = if found.is_exact { "" } else { "≈ " };
    let file = one_line(found.file.rsplit('/').next().unwrap_or_default());
    let function = one_line(&found.function);
    format!("{about}{} of the loop at {file}:{} in {function}", count(found.count), found.line)
}

pub(crate) fn python_name(python: Interpreter) -> String {
    match (python.major, python.minor) {
        (0, _) => "Python".to_owned(),
        (major, 0) => format!("Python {major}"),
        (major, minor) => format!("Python {major}.{minor}"),
    }
}

/// Why a Python program has native stacks only.
pub(crate) fn why_unread(reading: Reading) -> &'static str {
    match reading {
        Reading::Frames => "its lines are known",
        Reading::UnknownVersion => "its lines are not known to this version, so stacks are native only",
        Reading::FreeThreaded => "a free-threaded build, whose lines cannot be read: stacks are native only",
        Reading::DebugBuild => "a debug build, whose lines cannot be read: stacks are native only",
    }
}

pub(crate) fn ending(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("exit {code}"),
        Some(Exit::Signal(signal)) => format!("killed by {}", signal_name(signal)),
        None => "end not seen".to_owned(),
    }
}

pub(crate) fn process_end(end: ProcessEnd) -> String {
    match end {
        ProcessEnd::Unknown => "end not seen".to_owned(),
        ProcessEnd::Ended(Exit::Signal(signal)) => signal_name(signal),
        ProcessEnd::Ended(exit) => ending(Some(exit)),
        ProcessEnd::Replaced => "replaced".to_owned(),
        ProcessEnd::Running => "running".to_owned(),
    }
}

/// Linux x86-64 numbers of the signals that end programs.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

pub(crate) fn loss_words(loss: &LossLine) -> String {
    match loss.of {
        Some(of) => format!("{} of {} {}", count(loss.count), count(of), loss.what),
        None => format!("{} {}", count(loss.count), loss.what),
    }
}

/// Lines of at most so many characters, broken between words; a longer word stays whole.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

pub(crate) fn plural(number: u64, noun: &str) -> String {
    if number == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// `3 blocks`.
pub(crate) fn plural_count(number: u64, noun: &str) -> String {
    format!("{} {}", count(number), plural(number, noun))
}

/// `4 KiB in 3 blocks`.
pub(crate) fn amount_words(amount: Amount) -> String {
    format!("{} in {}", size(amount.bytes), plural_count(amount.blocks, "block"))
}

/// A text from the program, made harmless: a newline or an escape sequence in a name must not change the page.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
