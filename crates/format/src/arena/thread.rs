//! Threads by the thread slots that they hold, one after the other: a site belongs to a slot, so this is whose it is.

use core::mem::offset_of;

use crate::atomic::{AtomicU32, AtomicU64};

/// The threads of one thread slot. The record of a slot is the one with its number.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Thread {
    /// The name of the first one, as the kernel has it, zero-terminated.
    pub name: [AtomicU64; 2],
    /// The number of the one that holds it now; 0 for none, and when its name is settled.
    pub holder: AtomicU32,
    /// [`ThreadNames`] as a number.
    pub names: AtomicU32,
    unused: [AtomicU32; 2],
}

/// The size of a [`Thread`].
pub const THREAD_SIZE: usize = 32;
const _: () = assert!(size_of::<Thread>() == THREAD_SIZE);

/// What is known of the names of those that have left a slot. A thread may change its name, so the last one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ThreadNames {
    /// None has left; the name is the one that the first had when it came.
    Open = 0,
    /// All had this one.
    One = 1,
    /// They had different ones.
    Several = 2,
}

/// The name of all threads of a slot, from the bytes of its record; `None` where that is not known, or where there are several.
pub fn name_of_all(record: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(u32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let (holder, names) = (number(offset_of!(Thread, holder))?, number(offset_of!(Thread, names))?);
    let is_known = names == ThreadNames::Open as u32 || names == ThreadNames::One as u32 && holder == 0;
    let name = record[..16].split(|&byte| byte == 0).next().filter(|name| !name.is_empty())?;
    is_known.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &[u8], holder: u32, names: ThreadNames) -> [u8; THREAD_SIZE] {
        let mut record = [0; THREAD_SIZE];
        record[..name.len()].copy_from_slice(name);
        record[offset_of!(Thread, holder)..][..4].copy_from_slice(&holder.to_le_bytes());
        record[offset_of!(Thread, names)..][..4].copy_from_slice(&(names as u32).to_le_bytes());
        record
    }

    #[test]
    fn a_name_is_known_where_all_threads_of_a_slot_have_it() {
        assert_eq!(name_of_all(&record(b"worker", 7, ThreadNames::Open)), Some(&b"worker"[..]));
        assert_eq!(name_of_all(&record(b"worker", 0, ThreadNames::One)), Some(&b"worker"[..]));
        assert_eq!(
            name_of_all(&record(b"0123456789abcdef", 0, ThreadNames::One)),
            Some(&b"0123456789abcdef"[..])
        );
        // Another one holds it now, whose name is not settled.
        assert_eq!(name_of_all(&record(b"worker", 8, ThreadNames::One)), None);
        assert_eq!(name_of_all(&record(b"worker", 0, ThreadNames::Several)), None);
        assert_eq!(name_of_all(&record(b"", 7, ThreadNames::Open)), None);
        assert_eq!(name_of_all(&[]), None);
    }
}
