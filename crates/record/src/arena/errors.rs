//! The memory errors of an arena. No number is trusted: a record that is not whole or of no known kind is left out, and a node that is
//! not in the trie is no stack.

use std::mem::offset_of;

use heaplens_format::arena::error::{ERROR_SIZE, ErrorRecord, ErrorWhat, MOST_ERRORS};
use heaplens_format::recording::errors::{ErrorBlock, MemoryError};
use heaplens_format::{Addr, Bytes, Nanos, NodeId};

use super::records::word;
use super::stacks::{Order, Trie};

/// The errors in the order in which they were first seen. Their nodes are those of the arena.
pub(crate) fn read(records: &[u8], since_start: impl Fn(u64) -> Nanos) -> Vec<MemoryError> {
    records
        .chunks_exact(ERROR_SIZE)
        .take(MOST_ERRORS)
        .filter_map(|record| one(record, &since_start))
        .collect()
}

/// Marks their stacks.
pub(crate) fn enter(errors: &mut [MemoryError], trie: &mut Trie<'_>) {
    for error in errors {
        let mut known = |node: NodeId| trie.enter(node.get()).map(|path| path.node);
        error.stack = known(error.stack).unwrap_or_default();
        error.allocated = error.allocated.and_then(&mut known);
        error.freed = error.freed.and_then(&mut known);
    }
}

/// Numbers their stacks as the recording does.
pub(crate) fn number(errors: &mut [MemoryError], order: &Order) {
    for error in errors {
        error.stack = order.new_number(error.stack);
        error.allocated = error.allocated.map(|node| order.new_number(node));
        error.freed = error.freed.map(|node| order.new_number(node));
    }
}

fn one(record: &[u8], since_start: &impl Fn(u64) -> Nanos) -> Option<MemoryError> {
    let count = word(record, offset_of!(ErrorRecord, count));
    let what = ErrorWhat::from_word(word(record, offset_of!(ErrorRecord, what)))?;
    let node = |at: usize| NodeId::new(word(record, at) as u32);
    let known = |at: usize| Some(node(at)).filter(|&node| node != NodeId::default());
    let start = word(record, offset_of!(ErrorRecord, start));
    let block = (start != 0).then(|| ErrorBlock {
        start: Addr::new(start),
        size: Bytes::new(word(record, offset_of!(ErrorRecord, size))),
        family: what.family,
    });
    (count != 0).then(|| MemoryError {
        kind: what.kind,
        function: what.function,
        stack: node(offset_of!(ErrorRecord, stack)),
        allocated: known(offset_of!(ErrorRecord, allocated)),
        freed: known(offset_of!(ErrorRecord, freed)),
        address: Addr::new(word(record, offset_of!(ErrorRecord, address))),
        access: Bytes::new(word(record, offset_of!(ErrorRecord, access))),
        block,
        count,
        extra: word(record, offset_of!(ErrorRecord, extra)),
        at: since_start(word(record, offset_of!(ErrorRecord, at_ns))),
    })
}

#[cfg(test)]
mod tests {
    use heaplens_format::arena::error::{CalledFunction, ErrorKind};
    use heaplens_format::memory::Family;

    use super::*;

    fn record(count: u64, what: u64, nodes: [u32; 4], start: u64) -> Vec<u8> {
        let mut bytes: Vec<u8> = [count, what].iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(nodes.iter().flat_map(|node| node.to_le_bytes()));
        bytes.extend([0x5000, 0, start, 40, 9, 1].iter().flat_map(|word: &u64| word.to_le_bytes()));
        bytes
    }

    #[test]
    fn records_that_are_torn_or_of_no_known_kind_are_left_out() {
        let double =
            ErrorWhat { kind: ErrorKind::DoubleFree, family: Family::New, function: CalledFunction::DELETE };
        let mut records = record(0, double.word(), [1, 2, 3, 4], 0x5000);
        records.extend(record(1, 0xfe, [1, 2, 3, 4], 0x5000));
        records.extend(record(3, double.word(), [1, 2, 0, 4], 0x5000));
        records.extend([7; ERROR_SIZE - 1]);
        let block = ErrorBlock { start: Addr::new(0x5000), size: Bytes::new(40), family: Family::New };
        let expected = MemoryError {
            kind: ErrorKind::DoubleFree,
            function: CalledFunction::DELETE,
            stack: NodeId::new(1),
            allocated: Some(NodeId::new(2)),
            freed: None,
            address: Addr::new(0x5000),
            access: Bytes::ZERO,
            block: Some(block),
            count: 3,
            extra: 9,
            at: Nanos::new(1),
        };
        assert_eq!(read(&records, Nanos::new), [expected]);
    }

    #[test]
    fn stacks_that_are_not_in_the_trie_are_none() {
        let what = ErrorWhat {
            kind: ErrorKind::FreeOfStack,
            family: Family::Malloc,
            function: CalledFunction::FREE,
        };
        let mut errors = read(&record(1, what.word(), [77, 78, 79, 0], 0), Nanos::new);
        let mut trie = Trie::new(&[], &[]);
        enter(&mut errors, &mut trie);
        assert_eq!((errors[0].stack, errors[0].allocated, errors[0].freed), (NodeId::default(), None, None));
        assert_eq!(errors[0].block, None);
    }
}
