//! What sets code objects apart, kept while none of them ends (`objects::watched`).

use crate::modules::interpreter::Known;
use crate::modules::memory::word;
use crate::objects::samples::Samples;

/// log2 of the code objects that a thread keeps in mind.
const BITS: u32 = 9;

/// A code object, and what sets it apart from others that lived at the same address.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Identity {
    pub(super) code: u64,
    pub(super) identity: u64,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct CachedIdentity {
    identity: Identity,
    generation: u64,
}

/// Those that a thread met lately. Zero pages are an empty table: no generation in which ends are noticed has the number 0.
#[repr(C)]
pub(super) struct Identities([CachedIdentity; 1 << BITS]);

impl Identities {
    /// For one walk of the thread.
    #[inline(always)]
    pub(super) fn now<'a>(&'a mut self, known: &'a Known, samples: &'a Samples) -> Now<'a> {
        // Since 3.12 a code object has a number of its own, which is as quickly read as found here.
        let is_numbered = known.layout.code.version.is_some();
        let generation = if is_numbered { 0 } else { samples.watched.generation() };
        Now { kept: self, known, samples, generation }
    }
}

/// What can be believed now.
pub(super) struct Now<'a> {
    kept: &'a mut Identities,
    known: &'a Known,
    samples: &'a Samples,
    generation: u64,
}

impl Now<'_> {
    /// The code of a frame; `None` for frames that no code runs in.
    #[inline(always)]
    pub(super) fn of(&mut self, frame: u64) -> Option<Identity> {
        if self.generation == 0 {
            return self.read(frame);
        }
        let code = word(frame, self.known.layout.frame.code);
        let kept = &self.kept.0[index(code)];
        if kept.identity.code == code && kept.generation == self.generation {
            return Some(kept.identity);
        }
        self.learn(frame)
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, frame: u64) -> Option<Identity> {
        let identity = self.read(frame)?;
        self.samples.watched.watch(identity.code, &self.samples.filter);
        self.kept.0[index(identity.code)] = CachedIdentity { identity, generation: self.generation };
        Some(identity)
    }

    #[inline(always)]
    fn read(&self, frame: u64) -> Option<Identity> {
        let code = self.known.code(frame)?;
        Some(Identity { code, identity: self.known.identity(code) })
    }
}

#[inline(always)]
fn index(code: u64) -> usize {
    (code >> 4 ^ code >> 13) as usize & ((1 << BITS) - 1)
}
