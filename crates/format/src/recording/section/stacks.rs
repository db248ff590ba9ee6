//! ```text
//!   rows: own number − number of the caller, signed │ module × 4 + 0, then the offset
//!                                                   │ 1, then the address            (code of no module)
//!                                                   │ number of the pseudo frame × 4 + 2
//!                                                   │ Python code × 4 + 3, then the line (since format 2)
//! ```
//!
//! A caller mostly stands just before its callee, so the difference takes one byte.

use alloc::vec::Vec;

use super::{Outcome, Tally};
use crate::arena::Pseudo;
use crate::arena::frame::{FRAME_PSEUDO_MODULE, frame_word};
use crate::recording::damage::{PayloadFault, Violation};
use crate::recording::model::{Frame, Node};
use crate::recording::wire::{Reader, Writer};
use crate::units::{Addr, CodeId, ModuleId, NodeId};

pub(crate) fn write(nodes: &[Node], to: &mut Writer) {
    to.count(nodes.len());
    for (own, node) in (1i64..).zip(nodes) {
        to.signed(own - i64::from(node.parent.get()));
        write_frame(node.frame, to);
    }
}

pub(crate) fn read(nodes: &mut Vec<Node>, tally: &mut Tally, from: &mut Reader<'_>) -> Outcome {
    let mut own = 0;
    from.rows(2, nodes, |from| {
        own += 1;
        let parent = own_minus(own, from.signed()?)?;
        Ok(Node { parent, frame: read_frame(tally, from)? })
    })
}

fn own_minus(own: i64, distance: i64) -> Result<NodeId, PayloadFault> {
    let parent = own.checked_sub(distance).and_then(|parent| u32::try_from(parent).ok());
    parent.map(NodeId::new).ok_or(PayloadFault::NumberTooLarge)
}

fn write_frame(frame: Frame, to: &mut Writer) {
    match frame {
        Frame::Code { module, offset } => {
            to.number(u64::from(module.get()) << 2);
            to.number(offset);
        }
        Frame::Unknown { address } => {
            to.number(1);
            to.number(address.get());
        }
        Frame::Pseudo(pseudo) => to.number(u64::from(pseudo.number()) << 2 | 2),
        Frame::Python { code, line } => {
            to.number(u64::from(code.get()) << 2 | 3);
            to.number(line.into());
        }
    }
}

fn read_frame(tally: &mut Tally, from: &mut Reader<'_>) -> Result<Frame, PayloadFault> {
    let tag = from.number()?;
    match tag & 3 {
        0 => {
            let module = u16::try_from(tag >> 2).map_err(|_| PayloadFault::NumberTooLarge)?;
            Ok(Frame::Code { module: ModuleId::new(module), offset: from.number()? })
        }
        1 if tag == 1 => Ok(Frame::Unknown { address: Addr::new(from.number()?) }),
        2 => Ok(Frame::Pseudo(pseudo(tag >> 2).unwrap_or_else(|| {
            tally.add(Violation::UnknownPseudo);
            Pseudo::Broken
        }))),
        3 => {
            let code = u32::try_from(tag >> 2).map_err(|_| PayloadFault::NumberTooLarge)?;
            Ok(Frame::Python { code: CodeId::new(code), line: from.small()? })
        }
        _ => Err(PayloadFault::UnknownTag(tag)),
    }
}

fn pseudo(number: u64) -> Option<Pseudo> {
    let number = u8::try_from(number).ok()?;
    let found = Pseudo::from_frame(frame_word(FRAME_PSEUDO_MODULE, number.into()))?;
    // Counters have numbers of their process, which mean nothing here.
    (!matches!(found, Pseudo::Counter(_))).then_some(found)
}
