//! Mappings that the program makes, and what an allocator maps for itself inside a hook.

use heaplens_format::arena::Pseudo;
use heaplens_format::{Addr, Bytes, Loss};

use crate::lifecycle::is_recording;
use crate::process::{Life, life};
use crate::tables::mappings;
use crate::tables::slot_id::SlotId;
use crate::thread::guard::Guard;
use crate::tracker::Tracker;
use crate::unwind::{Caller, stacks};

/// What a mapping is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingKind {
    /// Memory.
    Anonymous,
    /// A file.
    File,
    /// The program break.
    Break,
}

impl MappingKind {
    const fn pseudo(self) -> Pseudo {
        match self {
            Self::Anonymous => Pseudo::AnonymousMapping,
            Self::File => Pseudo::FileMapping,
            Self::Break => Pseudo::Break,
        }
    }
}

impl Tracker {
    /// The program mapped memory.
    pub fn on_map(&self, guard: &Guard, start: Addr, length: Bytes, kind: MappingKind, caller: Caller) {
        if is_recording(guard) {
            self.map_exactly(guard, start, page_round(length), kind, caller);
        }
    }

    /// The program raised its break: bytes, not pages.
    pub fn on_break(&self, guard: &Guard, start: Addr, length: Bytes, caller: Caller) {
        if is_recording(guard) {
            self.map_exactly(guard, start, length, MappingKind::Break, caller);
        }
    }

    /// The program lowered its break.
    pub fn on_break_back(&self, guard: &Guard, start: Addr, length: Bytes) {
        if is_recording(guard) {
            mappings::on_unmap(&self.arena, guard.slot_id(), start, length);
        }
    }

    fn map_exactly(&self, guard: &Guard, start: Addr, length: Bytes, kind: MappingKind, caller: Caller) {
        match self.site_on(guard, caller, kind.pseudo()) {
            Some(site) => mappings::on_map(&self.arena, guard.slot_id(), start, length, site),
            None => self.arena.lose(Loss::ArenaFull),
        }
    }

    /// The program is about to unmap memory.
    pub fn on_unmap(&self, guard: &Guard, start: Addr, length: Bytes) {
        stacks::forget();
        if is_recording(guard) {
            mappings::on_unmap(&self.arena, guard.slot_id(), start, page_round(length));
        }
    }

    /// The program resized or moved a mapping: it stays its maker's.
    pub fn on_remap(&self, guard: &Guard, old: (Addr, Bytes), new: (Addr, Bytes), caller: Caller) {
        if !is_recording(guard) {
            return;
        }
        let Some(site) = mappings::site_of(&self.arena, old.0) else {
            return self.on_map(guard, new.0, new.1, MappingKind::Anonymous, caller);
        };
        self.on_unmap(guard, old.0, old.1);
        mappings::on_map(&self.arena, guard.slot_id(), new.0, page_round(new.1), site);
    }

    /// Somebody mapped memory inside a hook: the allocator, for itself. glibc's own does so unseen.
    #[cold]
    pub fn on_nested_map(&self, start: Addr, length: Bytes) {
        if life() == Life::Recording {
            mappings::on_map_by_allocator(&self.arena, start, page_round(length));
        }
    }

    /// Somebody is about to unmap memory inside a hook.
    #[cold]
    pub fn on_nested_unmap(&self, start: Addr, length: Bytes) {
        if life() == Life::Recording {
            mappings::on_unmap(&self.arena, SlotId::NONE, start, page_round(length));
        }
    }
}

const fn page_round(length: Bytes) -> Bytes {
    Bytes::new(length.get().saturating_add(4095) & !4095)
}
