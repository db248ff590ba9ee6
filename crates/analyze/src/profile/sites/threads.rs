//! Which threads allocated at a stack, by their names. Most stacks are of threads with one name; for the others it is kept what
//! each had.

use heaplens_format::recording::{Amount, SiteKind, ThreadOf};
use rustc_hash::FxHashMap;

use super::site::SiteProfile;
use crate::profile::stacks::StackId;

/// What more than one thread allocated, where what each had is not known.
const SEVERAL: &str = "several";

/// The threads of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SiteThreads {
    pub(crate) names: Vec<String>,
    /// Of stacks that are not all of one name.
    pub(crate) shares: FxHashMap<(StackId, SiteKind), Vec<Share>>,
}

/// What threads of one name had at a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    of: ThreadOf,
    held: Amount,
    allocated: Amount,
}

/// The part of a site that threads of one name allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPart<'a> {
    /// The name, as the kernel has it, `main` for the first thread; `several` where it is not known what each of them had, `None`
    /// where nothing is known.
    pub thread: Option<&'a str>,
    /// What it held: see [`SiteProfile::held`].
    pub held: Amount,
    /// Allocated in the whole run.
    pub allocated: Amount,
}

impl SiteThreads {
    /// A site by its threads.
    pub(crate) fn parts(&self, site: &SiteProfile) -> Vec<ThreadPart<'_>> {
        let part = |share: &Share| ThreadPart {
            thread: self.name(share.of),
            held: share.held,
            allocated: share.allocated,
        };
        match self.shares.get(&(site.stack, site.kind)) {
            Some(shares) => shares.iter().map(part).collect(),
            None => {
                let (held, allocated) = (site.held.amount(), site.allocated.amount());
                vec![part(&Share { of: site.thread, held, allocated })]
            }
        }
    }

    fn name(&self, of: ThreadOf) -> Option<&str> {
        match of {
            ThreadOf::Unknown => None,
            ThreadOf::Several => Some(SEVERAL),
            ThreadOf::Named(index) => self.names.get(index as usize).map(String::as_str),
        }
    }
}

/// What is added up for one stack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares {
    first: Option<ThreadOf>,
    /// None while all are of the first.
    all: Vec<Share>,
}

impl Shares {
    /// One site more; `before` is what those before it held and allocated.
    pub(crate) fn add(&mut self, of: ThreadOf, [held, allocated]: [Amount; 2], before: [Amount; 2]) {
        let first = *self.first.get_or_insert(of);
        if self.all.is_empty() && of == first {
            return;
        }
        if self.all.is_empty() {
            self.all.push(Share { of: first, held: before[0], allocated: before[1] });
        }
        match self.all.iter_mut().find(|share| share.of == of) {
            Some(share) => {
                share.held += held;
                share.allocated += allocated;
            }
            None => self.all.push(Share { of, held, allocated }),
        }
    }

    /// The thread that all are of, or what each has.
    pub(crate) fn finish(self) -> Result<ThreadOf, Vec<Share>> {
        if self.all.is_empty() { Ok(self.first.unwrap_or_default()) } else { Err(self.all) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::Bytes;

    fn amount(blocks: u64) -> Amount {
        Amount { bytes: Bytes::new(10 * blocks), blocks }
    }

    fn added(rows: &[(ThreadOf, u64)]) -> Result<ThreadOf, Vec<Share>> {
        let (mut shares, mut before) = (Shares::default(), 0);
        for &(of, blocks) in rows {
            shares.add(of, [amount(blocks), amount(2 * blocks)], [amount(before), amount(2 * before)]);
            before += blocks;
        }
        shares.finish()
    }

    #[test]
    fn a_stack_of_one_name_needs_no_shares_and_others_add_up() {
        let [main, pool] = [0, 1].map(ThreadOf::Named);
        let share = |of, blocks| Share { of, held: amount(blocks), allocated: amount(2 * blocks) };
        assert_eq!(added(&[]), Ok(ThreadOf::Unknown));
        assert_eq!(added(&[(pool, 1), (pool, 2)]), Ok(pool));
        let rows = [(pool, 1), (pool, 2), (main, 4), (pool, 8), (ThreadOf::Several, 16)];
        assert_eq!(added(&rows), Err(vec![share(pool, 11), share(main, 4), share(ThreadOf::Several, 16)]));
    }
}
