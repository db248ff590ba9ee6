//! Heap snapshots: blocks by type, the largest retained sizes, containers that grew, and the reference path to an address.

use std::io::{self, Write};

use heaplens_analyze::Profile;
use heaplens_analyze::profile::path;
use heaplens_format::recording::{Amount, HeapMoment, HeapView, PathNode};

use super::header;
use super::page::{Options, Page};
use crate::catalogue::number::{count, seconds, size};
use crate::catalogue::reference_path;
use crate::catalogue::wording::{amount_words, one_line, plural, plural_count};

/// How much of a snapshot is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapOptions {
    /// Rows of each table.
    pub top: usize,
    /// Only the reference path to this address.
    pub address: Option<u64>,
}

/// Writes the page of one snapshot.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(
    profile: &Profile,
    view: &HeapView,
    options: Options,
    heap: HeapOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page { options, out };
    header::write_command(profile, &mut page)?;
    page.line("")?;
    page.wrapped("  ", &headline(view))?;
    if view.others_ran {
        page.wrapped(
            "  ",
            "registers of other threads were not captured, so this snapshot cannot tell which blocks are lost",
        )?;
    }
    match heap.address {
        Some(address) => write_address(view, address, &mut page),
        None => {
            write_classes(view, heap.top, &mut page)?;
            write_retainers(view, heap.top, &mut page)?;
            write_growing(view, heap.top, &mut page)
        }
    }
}

/// `Heap snapshot after 800 iterations (2.1 s): 1.20 GiB in 1,019,554 blocks · took 0.5 s, program paused for 12 ms`.
fn headline(view: &HeapView) -> String {
    let when = match view.moment {
        HeapMoment::Exit => "at exit".to_owned(),
        HeapMoment::Asked => "on request".to_owned(),
        HeapMoment::Running { iterations: 0 } => "while running".to_owned(),
        HeapMoment::Running { iterations } => format!("after {}", plural_count(iterations, "iteration")),
    };
    let paused = match view.moment {
        HeapMoment::Exit => String::new(),
        _ if view.others_ran => format!(", one thread paused for {}", seconds(view.pause)),
        _ => format!(", program paused for {}", seconds(view.pause)),
    };
    let took = seconds(view.took);
    format!("Heap snapshot {when} ({}): {} · took {took}{paused}", seconds(view.at), amount_words(view.live))
}

fn write_classes(view: &HeapView, top: usize, page: &mut Page<'_>) -> io::Result<()> {
    page.title("Blocks by type")?;
    for row in view.classes.iter().take(top) {
        page.line(&format!("  {}  {}", columns(row.live), one_line(&row.class)))?;
    }
    more(view.classes.len(), top, page)
}

fn write_retainers(view: &HeapView, top: usize, page: &mut Page<'_>) -> io::Result<()> {
    if view.retainers.is_empty() {
        return Ok(());
    }
    page.title("Largest retained sizes (what would be freed along with the object)")?;
    for &node in view.retainers.iter().take(top) {
        let retained = view.nodes[node as usize].retained;
        page.wrapped(&format!("  {}  ", columns(retained)), &path_text(view, node))?;
    }
    more(view.retainers.len(), top, page)
}

fn write_growing(view: &HeapView, top: usize, page: &mut Page<'_>) -> io::Result<()> {
    if view.growing.is_empty() {
        return Ok(());
    }
    page.title("Growth since the previous snapshot")?;
    for growing in view.growing.iter().take(top) {
        let now = view.nodes[growing.node as usize].retained;
        let more = Amount {
            bytes: now.bytes.saturating_sub(growing.before.bytes),
            blocks: now.blocks.saturating_sub(growing.before.blocks),
        };
        let elements = match growing.elements {
            [0, 0] => String::new(),
            [before, now] => format!(" · {} → {} elements", count(before), count(now)),
        };
        page.wrapped(
            &format!("  {}  ", columns(more)),
            &format!("{}{elements}", path_text(view, growing.node)),
        )?;
    }
    more(view.growing.len(), top, page)
}

/// The reference path to the block that contains an address, one step on each line.
fn write_address(view: &HeapView, address: u64, page: &mut Page<'_>) -> io::Result<()> {
    page.line("")?;
    let contains = |node: &PathNode| address.wrapping_sub(node.address) < node.size.get().max(1);
    let Some(found) = view.nodes.iter().position(|node| node.address != 0 && contains(node)) else {
        let kept = count(view.nodes.iter().filter(|node| node.address != 0).count() as u64);
        return page.wrapped(
            &format!("  0x{address:x}  "),
            &format!("is in none of the {kept} blocks whose reference path was kept: those with a large retained size, and those on the path to growing memory"),
        );
    };
    for (depth, node) in path(view, found as u32).into_iter().enumerate() {
        let indent = 2 * depth;
        let location = match node.address {
            0 => String::new(),
            start => format!("   0x{start:x}, {}", size(node.size)),
        };
        page.line(&format!("  {:indent$}{}{location}", "", one_line(&reference_path::step_text(node))))?;
    }
    Ok(())
}

fn path_text(view: &HeapView, node: u32) -> String {
    one_line(&reference_path::path_text(&path(view, node)))
}

fn more(all: usize, top: usize, page: &mut Page<'_>) -> io::Result<()> {
    match all.saturating_sub(top) {
        0 => Ok(()),
        hidden => page.line(&format!("  {:>10}  {} more (--top)", "", count(hidden as u64))),
    }
}

fn columns(amount: Amount) -> String {
    format!("{:>10} {:>12} {:<6}", size(amount.bytes), count(amount.blocks), plural(amount.blocks, "block"))
}
