//! The rules of the model, upheld on what was read: whatever breaks one is changed to the nearest true statement or
//! left out, and counted. After this, ids are in range, callers come before callees, symbols are sorted.

use super::damage::Violation;
use super::model::{Frame, Node, Process, Site};
use super::section::Tally;
use crate::arena::Pseudo;
use crate::units::{CodeId, ModuleId, NodeId};

/// The broken rules of a process, by section.
#[derive(Default)]
pub(super) struct Tallies {
    pub(super) stacks: Tally,
    pub(super) sites: Tally,
    pub(super) losses: Tally,
    pub(super) symbols: Tally,
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
