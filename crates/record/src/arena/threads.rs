//! Which threads allocate at a site: a site belongs to a thread slot, and a slot to threads, whose names the agent has read.

use std::collections::HashMap;

use heaplens_format::arena::thread::{THREAD_SIZE, name_of_all};
use heaplens_format::recording::{ThreadOf, Threads};

/// The thread slots of a process, and the threads of the sites that were added.
#[derive(Debug)]
pub(crate) struct ThreadSlots<'a> {
    records: &'a [u8],
    known: HashMap<u32, ThreadOf>,
    pub(crate) threads: Threads,
}

impl<'a> ThreadSlots<'a> {
    /// From the records of the slots.
    pub(crate) fn new(records: &'a [u8]) -> Self {
        Self { records, known: HashMap::new(), threads: Threads::default() }
    }

    /// Adds a site, with the thread slot that it belongs to, and whether other threads allocated there, too. A thread without a slot
    /// counts as another one.
    pub(crate) fn add(&mut self, slot: u32, is_shared: bool) {
        let of = match slot {
            0 => ThreadOf::Unknown,
            _ if is_shared => ThreadOf::Several,
            _ => self.of_slot(slot),
        };
        self.threads.of_sites.push(of);
    }

    fn of_slot(&mut self, slot: u32) -> ThreadOf {
        if let Some(of) = self.known.get(&slot) {
            return *of;
        }
        let start = slot as usize * THREAD_SIZE;
        let name = self.records.get(start..start + THREAD_SIZE).and_then(name_of_all);
        let of = name.map_or(ThreadOf::Unknown, |name| ThreadOf::Named(self.number(name)));
        self.known.insert(slot, of);
        of
    }

    fn number(&mut self, name: &[u8]) -> u32 {
        let (names, name) = (&mut self.threads.names, String::from_utf8_lossy(name));
        let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name.into_owned());
            names.len() - 1
        });
        at as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_of_threads_with_one_name_are_that_names() {
        let mut records = [0; 4 * THREAD_SIZE];
        for (slot, name) in [(1, b"main"), (2, b"pool"), (3, b"pool")] {
            records[slot * THREAD_SIZE..][..4].copy_from_slice(name);
        }
        let mut slots = ThreadSlots::new(&records);
        [(2, false), (1, false), (3, false), (1, true), (9, false), (0, false)]
            .into_iter()
            .for_each(|(slot, is_shared)| slots.add(slot, is_shared));
        let Threads { names, of_sites } = slots.threads;
        assert_eq!(names, ["pool", "main"]);
        use ThreadOf::{Named, Several, Unknown};
        assert_eq!(of_sites, [Named(0), Named(1), Named(0), Several, Unknown, Unknown]);
    }
}
