//! massif's output file, of the heap alone: snapshots out of the timeline, the tree of stacks at the peak and at the end. A
//! tree begins where memory is allocated; what is below a hundredth of the total is one line, as massif has it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{SiteProfile, StackFrame};
use heaplens_format::recording::Sample;
use heaplens_format::{Bytes, Nanos};

use crate::catalogue::stack::label::{CUT, NO_STACK, file_name};
use crate::catalogue::wording::one_line;

/// As many as massif keeps.
const SNAPSHOTS: usize = 100;
/// The least share of a line of the tree: one in so many of the total.
const LEAST_SHARE: u64 = 100;
/// Frames of a stack, as massif's default.
const DEPTH: usize = 30;

/// Writes the file.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "desc: heaplens {}", profile.run.heaplens)?;
    writeln!(out, "cmd: {}", one_line(&profile.run.command.join(" ")))?;
    writeln!(out, "time_unit: ms")?;
    for (number, snapshot) in snapshots(profile).iter().enumerate() {
        writeln!(out, "#-----------\nsnapshot={number}\n#-----------")?;
        writeln!(out, "time={}", snapshot.at.get() / 1_000_000)?;
        writeln!(out, "mem_heap_B={}\nmem_heap_extra_B=0\nmem_stacks_B=0", snapshot.live.get())?;
        match snapshot.tree {
            None => writeln!(out, "heap_tree=empty")?,
            Some(TreeKind::Peak) => write_tree(profile, "peak", |site| site.peak.bytes, out)?,
            Some(TreeKind::End) => write_tree(profile, "detailed", |site| site.live.bytes, out)?,
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Snapshot {
    at: Nanos,
    live: Bytes,
    tree: Option<TreeKind>,
}

#[derive(Clone, Copy, PartialEq)]
enum TreeKind {
    Peak,
    End,
}

/// Readings, thinned out, with the peak where the highest of them is, and the end.
fn snapshots(profile: &Profile) -> Vec<Snapshot> {
    let readings = &profile.timeline;
    let step = readings.len().div_ceil(SNAPSHOTS - 2).max(1);
    let plain = |sample: &Sample| Snapshot { at: sample.at, live: sample.live, tree: None };
    let mut snapshots: Vec<Snapshot> = readings.iter().step_by(step).map(plain).collect();
    let highest = readings.iter().max_by_key(|sample| (sample.live, std::cmp::Reverse(sample.at)));
    let at = highest.map_or(profile.run.wall, |sample| sample.at);
    let index = snapshots.partition_point(|snapshot| snapshot.at <= at);
    snapshots.insert(index, Snapshot { at, live: profile.heap().peak.bytes, tree: Some(TreeKind::Peak) });
    let last = snapshots.last().map_or(at, |snapshot| snapshot.at).max(profile.run.wall);
    snapshots.push(Snapshot { at: last, live: profile.heap().live.bytes, tree: Some(TreeKind::End) });
    snapshots
}

/// A stack, innermost line first, and its bytes.
type StackLines = (Vec<String>, u64);

fn write_tree(
    profile: &Profile,
    kind: &str,
    bytes: impl Fn(&SiteProfile) -> Bytes,
    out: &mut dyn Write,
) -> io::Result<()> {
    let stack_lines = |site: &SiteProfile| -> Option<StackLines> {
        let bytes = bytes(site).get();
        (bytes > 0).then(|| (lines(profile, site), bytes))
    };
    let stacks: Vec<StackLines> = profile.heap_sites().filter_map(stack_lines).collect();
    let total: u64 = stacks.iter().map(|(_, bytes)| bytes).sum();
    if total == 0 {
        return writeln!(out, "heap_tree=empty");
    }
    writeln!(out, "heap_tree={kind}")?;
    let all: Vec<&StackLines> = stacks.iter().collect();
    let root = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.";
    Branches { least: total.div_ceil(LEAST_SHARE), out }.write(root, &all, 0)
}

struct Branches<'a> {
    /// Bytes that a line must have.
    least: u64,
    out: &'a mut dyn Write,
}

impl Branches<'_> {
    /// One line and what is below it: stacks that are the same up to `depth`.
    fn write(&mut self, line: &str, stacks: &[&StackLines], depth: usize) -> io::Result<()> {
        let mut callers = BTreeMap::<&str, Vec<&StackLines>>::new();
        for stack in stacks {
            if let Some(caller) = stack.0.get(depth).filter(|_| depth < DEPTH) {
                callers.entry(caller).or_default().push(stack);
            }
        }
        let mut rows: Vec<(&str, Vec<&StackLines>)> = callers.into_iter().collect();
        rows.sort_by_key(|(_, stacks)| std::cmp::Reverse(sum(stacks)));
        let small = rows.split_off(rows.partition_point(|(_, stacks)| sum(stacks) >= self.least));
        let children = rows.len() + usize::from(!small.is_empty());
        writeln!(self.out, "{:depth$}n{children}: {} {line}", "", sum(stacks))?;
        for (caller, stacks) in rows {
            self.write(caller, &stacks, depth + 1)?;
        }
        self.write_small(&small, depth + 1)
    }

    fn write_small(&mut self, small: &[(&str, Vec<&StackLines>)], depth: usize) -> io::Result<()> {
        if small.is_empty() {
            return Ok(());
        }
        let bytes: u64 = small.iter().map(|(_, stacks)| sum(stacks)).sum();
        let places = if small.len() == 1 { "place" } else { "places, all" };
        let count = small.len();
        writeln!(self.out, "{:depth$}n0: {bytes} in {count} {places} below massif's threshold (1.00%)", "")
    }
}

fn sum(stacks: &[&StackLines]) -> u64 {
    stacks.iter().map(|(_, bytes)| bytes).sum()
}

fn lines(profile: &Profile, site: &SiteProfile) -> Vec<String> {
    let mut lines: Vec<String> = profile.stack(site).map(line).collect();
    lines.extend(profile.cut(site).map(|_| format!("0x0: {CUT}")));
    if lines.is_empty() {
        lines.push(format!("0x0: {NO_STACK}"));
    }
    lines
}

/// `0x1091C4: shop::load (rows.cpp:88)`, or the object file where the source is not known.
fn line(frame: &StackFrame) -> String {
    let name = frame.function.as_deref().unwrap_or("???");
    let place = match (&frame.file, frame.line, &frame.module) {
        (Some(file), Some(line), _) => format!(" ({}:{line})", file_name(file)),
        (Some(file), None, _) => format!(" ({})", file_name(file)),
        (None, _, Some(module)) => format!(" (in {module})"),
        (None, _, None) => String::new(),
    };
    one_line(&format!("0x{:X}: {name}{place}", frame.offset))
}
