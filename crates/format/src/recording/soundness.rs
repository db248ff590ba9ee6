//! The rules of the model, upheld on what was read: whatever breaks one is changed to the nearest true statement or
//! left out, and counted. After this, ids are in range, callers come before callees, symbols are sorted.

use super::damage::Violation;
use super::heap::HeapView;
use super::leaks::LeakCheck;
use alloc::string::String;

use super::model::{Frame, MarkKind, Node, Process, Site, ThreadOf};
use super::section::Tally;
use crate::arena::Pseudo;
use crate::units::{CodeId, LoopId, ModuleId, NodeId};

/// The broken rules of a process, by section.
#[derive(Default)]
pub(super) struct Tallies {
    pub(super) stacks: Tally,
    pub(super) sites: Tally,
    pub(super) losses: Tally,
    pub(super) symbols: Tally,
    pub(super) marks: Tally,
    pub(super) ledger: Tally,
    pub(super) leaks: Tally,
    pub(super) heap: Tally,
    pub(super) counters: Tally,
    pub(super) threads: Tally,
    pub(super) errors: Tally,
    pub(super) sections: Tally,
}

/// Makes the rules hold.
pub(super) fn uphold(process: &mut Process, tallies: &mut Tallies) {
    let (modules, codes) = (process.modules.len(), process.codes.len());
    for (own, node) in (1..).zip(&mut process.nodes) {
        uphold_node(own, node, &mut tallies.stacks);
        uphold_frame(&mut node.frame, modules, codes, &mut tallies.stacks);
    }
    let nodes = process.nodes.len();
    process.sites.iter_mut().for_each(|site| uphold_site(site, nodes, &mut tallies.sites));
    uphold_symbols(process, modules, &mut tallies.symbols);
    uphold_marks(process, codes, &mut tallies.marks);
    uphold_ledgers(process, &mut tallies.ledger);
    let sites = process.sites.len();
    uphold_lost(process.leaks.as_mut(), sites, &mut tallies.leaks);
    process.heap.views.iter_mut().for_each(|view| uphold_view(view, sites, &mut tallies.heap));
    uphold_counters(process, &mut tallies.counters);
    uphold_threads(process, &mut tallies.threads);
    uphold_errors(process, &mut tallies.errors);
    uphold_sections(process, nodes, &mut tallies.sections);
}

/// An error is true whatever became of its stacks.
fn uphold_errors(process: &mut Process, tally: &mut Tally) {
    let (nodes, sites) = (process.nodes.len(), process.sites.len());
    let exists = |node: &NodeId| node.get() as usize <= nodes;
    for check in &mut process.canary_checks {
        let before = check.damaged.len();
        check.damaged.retain(|damaged| (damaged.site as usize) < sites);
        (check.damaged.len()..before).for_each(|_| tally.add(Violation::ErrorWithoutStack));
    }
    for error in &mut process.errors {
        let stacks = [Some(error.stack), error.allocated, error.freed];
        if stacks.iter().flatten().all(exists) {
            continue;
        }
        tally.add(Violation::ErrorWithoutStack);
        error.stack = Some(error.stack).filter(exists).unwrap_or_default();
        error.allocated = error.allocated.filter(exists);
        error.freed = error.freed.filter(exists);
    }
}

/// What a section left is said of sites that are there.
fn uphold_sections(process: &mut Process, nodes: usize, tally: &mut Tally) {
    let sites = process.sites.len();
    for section in &mut process.sections {
        if section.begun.get() as usize > nodes {
            tally.add(Violation::SiteWithoutStack);
            section.begun = NodeId::default();
        }
        let before = section.sites.len();
        section.sites.retain(|&site| (site as usize) < sites);
        (section.sites.len()..before).for_each(|_| tally.add(Violation::LeakWithoutSite));
        let Some(check) = &mut section.check else { continue };
        uphold_lost(check.leaks.as_mut(), sites, tally);
        check.view.iter_mut().for_each(|view| uphold_view(view, sites, tally));
    }
}

/// The bytes of a mapping are true whoever made it.
fn uphold_ledgers(process: &mut Process, tally: &mut Tally) {
    let sites = process.sites.len();
    let others = process.spaces.iter_mut().flat_map(|space| &mut space.ledgers);
    for mapping in process.ledgers.iter_mut().chain(others).flat_map(|ledger| &mut ledger.mappings) {
        if mapping.site.is_some_and(|site| site as usize >= sites) {
            tally.add(Violation::MappingWithoutSite);
            mapping.site = None;
        }
    }
}

/// Blocks of no stack say nothing that a report could use.
fn uphold_lost(leaks: Option<&mut LeakCheck>, sites: usize, tally: &mut Tally) {
    if let Some(LeakCheck::Done(lost)) = leaks {
        let before = lost.len();
        lost.retain(|lost| (lost.site as usize) < sites);
        (lost.len()..before).for_each(|_| tally.add(Violation::LeakWithoutSite));
    }
}

/// A node that cannot be trusted begins a path: better a cut path than a wrong one. What ends at no node leads nowhere.
fn uphold_view(view: &mut HeapView, sites: usize, tally: &mut Tally) {
    for (own, node) in (0..).zip(&mut view.nodes) {
        if node.parent.is_some_and(|parent| parent >= own) {
            tally.add(Violation::PathOrder);
            node.parent = None;
        }
    }
    let nodes = view.nodes.len();
    let exists = |node: u32| (node as usize) < nodes;
    let ends =
        |view: &HeapView| view.holders.len() + view.retainers.len() + view.growing.len() + view.limited.len();
    let before = ends(view);
    view.holders.retain(|holder| exists(holder.node) && (holder.site as usize) < sites);
    view.retainers.retain(|&node| exists(node));
    view.growing.retain(|growing| exists(growing.node));
    view.limited.retain(|limited| exists(limited.node));
    (ends(view)..before).for_each(|_| tally.add(Violation::PathWithoutEnd));
    let before = view.reused.len();
    view.reused.retain(|of| (of.site as usize) < sites && (of.container as usize) < sites);
    (view.reused.len()..before).for_each(|_| tally.add(Violation::PathWithoutEnd));
    if let Some(unreachable) = &mut view.unreachable {
        let before = unreachable.len();
        unreachable.retain(|of| (of.site as usize) < sites);
        (unreachable.len()..before).for_each(|_| tally.add(Violation::LeakWithoutSite));
    }
}

/// A count is true whatever became of its stack; values at marks that make no sense are not.
fn uphold_counters(process: &mut Process, tally: &mut Tally) {
    let (nodes, marks) = (process.nodes.len(), process.marks.len());
    for row in &mut process.counters.rows {
        if row.node.get() as usize > nodes {
            tally.add(Violation::CounterWithoutStack);
            row.node = NodeId::default();
        }
        let in_order = row.changes.windows(2).all(|pair| pair[0].until < pair[1].until);
        if !in_order || row.changes.last().is_some_and(|last| last.until as usize > marks) {
            tally.add(Violation::HistoryOrder);
            row.changes.clear();
        }
    }
}

/// A site of a thread without a name keeps its counters.
fn uphold_threads(process: &mut Process, tally: &mut Tally) {
    let (names, sites) = (process.threads.names.len(), process.sites.len());
    for of in &mut process.threads.of_sites {
        if matches!(of, ThreadOf::Named(index) if *index as usize >= names) {
            tally.add(Violation::ThreadWithoutName);
            *of = ThreadOf::Unknown;
        }
    }
    let more = process.threads.of_sites.len().saturating_sub(sites);
    (0..more).for_each(|_| tally.add(Violation::ThreadWithoutName));
    process.threads.of_sites.truncate(sites);
}

/// A loop of no code keeps its iterations. An iteration of no loop is still a moment, and a history that makes no sense is none.
fn uphold_marks(process: &mut Process, codes: usize, tally: &mut Tally) {
    let loops = process.loops.len();
    let loop_exists = |one: LoopId| (1..=loops).contains(&(one.get() as usize));
    for one in &mut process.loops {
        // The recorder itself writes one without code where the arena had lost it.
        let has_location = one.code == CodeId::default() || code_exists(one.code, codes);
        if !has_location || one.around.is_some_and(|around| !loop_exists(around)) {
            tally.add(Violation::LoopWithoutLocation);
            (one.code, one.line, one.around) = (CodeId::default(), 0, None);
        }
    }
    for mark in &mut process.marks {
        if let MarkKind::Iteration { of_loop, .. } = mark.kind
            && !loop_exists(of_loop)
        {
            tally.add(Violation::IterationWithoutLoop);
            mark.kind = MarkKind::User { number: 0, label: String::new() };
        }
    }
    let (sites, marks) = (process.sites.len(), process.marks.len());
    let mut before = None;
    process.histories.retain(|history| {
        let in_order = history.changes.windows(2).all(|pair| pair[0].until < pair[1].until);
        let in_range = history.changes.last().is_none_or(|last| last.until as usize <= marks);
        let is_sound = in_order && in_range && (history.site as usize) < sites && Some(history.site) > before;
        if is_sound {
            before = Some(history.site)
        } else {
            tally.add(Violation::HistoryOrder)
        }
        is_sound
    });
}

/// A frame that cannot be trusted ends the stack: better a cut stack than a wrong one.
fn uphold_node(own: u32, node: &mut Node, tally: &mut Tally) {
    if node.parent.get() >= own {
        tally.add(Violation::ParentNotBefore);
        *node = Node { parent: NodeId::default(), frame: Frame::Pseudo(Pseudo::Broken) };
    }
}

fn uphold_frame(frame: &mut Frame, modules: usize, codes: usize, tally: &mut Tally) {
    let violation = match *frame {
        Frame::Code { module, .. } if !exists(module, modules) => Violation::FrameWithoutModule,
        Frame::Python { code, .. } if !code_exists(code, codes) => Violation::FrameWithoutCode,
        _ => return,
    };
    tally.add(violation);
    *frame = Frame::Pseudo(Pseudo::NoModule);
}

/// The sizes of a site are true whatever became of its stack.
fn uphold_site(site: &mut Site, nodes: usize, tally: &mut Tally) {
    if site.node.get() as usize > nodes {
        tally.add(Violation::SiteWithoutStack);
        site.node = NodeId::default();
    }
}

fn uphold_symbols(process: &mut Process, modules: usize, tally: &mut Tally) {
    let mut before = None;
    process.symbols.retain(|symbol| {
        let key = Some((symbol.module, symbol.offset));
        let violation = if symbol.functions.is_empty() || !exists(symbol.module, modules) {
            Some(Violation::EmptySymbol)
        } else if key <= before {
            Some(Violation::SymbolOrder)
        } else {
            None
        };
        match violation {
            Some(violation) => tally.add(violation),
            None => before = key,
        }
        violation.is_none()
    });
}

fn exists(module: ModuleId, modules: usize) -> bool {
    (1..=modules).contains(&usize::from(module.get()))
}

fn code_exists(code: CodeId, codes: usize) -> bool {
    (1..=codes).contains(&(code.get() as usize))
}
