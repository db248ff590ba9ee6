//! From the registers at a hook to the site of the whole stack: the thread's memo, its Python frames, the trie.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::Pseudo;
use heaplens_format::arena::frame::sections_frame;
use heaplens_format::environment::Imports;
use heaplens_format::{Addr, NodeId, SiteId};

use crate::modules::interpreter::Thread;
use crate::process::settings;
use crate::python::{Event, Hashed, Import, NativeStack, PythonCaller, Tables};
use crate::tables::sites;
use crate::tables::trie::{ROOT_HASH, extend_hash};
use crate::thread::guard::Guard;
use crate::thread::spare_stack;
use crate::thread::thread_slot::ThreadSlot;
use crate::tracker::Tracker;
use crate::unwind::memo::TooDeep;
use crate::unwind::walk::{cut_reason, walk};
use crate::unwind::{Caller, stacks};

/// Frames that are kept of a stack that is walked without a memo: coroutines, ending threads, stacks too deep.
const PLAIN_DEPTH: usize = 192;

impl Tracker {
    /// The site of what the caller's stack allocates now: that of the stack, or, while sections are open, of the stack in these sections.
    #[inline]
    pub(crate) fn site(&self, guard: &Guard, caller: Caller) -> Option<SiteId> {
        let site = self.site_of_stack(guard, caller);
        match self.sections.open() {
            0 => site,
            open => self.site_in_sections(guard, site?, open),
        }
    }

    /// What is counted besides memory is no section's.
    #[inline(never)]
    fn site_in_sections(&self, guard: &Guard, outside: SiteId, open: u32) -> Option<SiteId> {
        let frame = sections_frame(open);
        let Some(slot) = guard.slot() else {
            let node = sites::node(&self.arena, outside)?;
            return self.trie.site(
                &self.arena,
                self.trie.extend_node(&self.arena, node, frame),
                guard.slot_id(),
            );
        };
        if matches!(slot.kind, Some(Pseudo::Counter(_))) {
            return Some(outside);
        }
        let key = extend_hash(frame, outside.get().into());
        if let Some((site, _)) = self.cached_site(slot, key) {
            return Some(site);
        }
        let node = self.trie.extend_node(&self.arena, sites::node(&self.arena, outside)?, frame);
        let site = self.trie.site(&self.arena, node, slot.id())?;
        self.cache_site(slot, key, site);
        Some(site)
    }

    /// The site of the caller's stack, whatever sections are open. Always inline: with two callers it would be called, which costs 15 ns of a pair of
    /// `malloc` and `free` (230 ns at depth 30).
    #[inline(always)]
    pub(super) fn site_of_stack(&self, guard: &Guard, caller: Caller) -> Option<SiteId> {
        self.unwinder.check_suspicion();
        if let Some(slot) = guard.slot()
            && let Some(end) = slot.own_stack_end(caller.rsp)
            && caller.rsp > slot.too_deep_below
        {
            match slot.memo.capture(&self.unwinder, &self.arena, caller, end) {
                Ok(()) => return self.site_of_thread(slot, end),
                Err(TooDeep) => slot.too_deep_below = caller.rsp,
            }
        }
        let kind = guard.slot().and_then(|slot| slot.kind);
        let node = self.plain_stack(guard, caller, kind);
        self.trie.site(&self.arena, node, guard.slot_id())
    }

    /// The site of the caller's stack for blocks that are not ordinary ones.
    pub(crate) fn site_on(&self, guard: &Guard, caller: Caller, kind: Pseudo) -> Option<SiteId> {
        let Some(slot) = guard.slot() else {
            let node = self.plain_stack(guard, caller, Some(kind));
            return self.trie.site(&self.arena, node, guard.slot_id());
        };
        let before = slot.change_kind(Some(kind));
        let site = self.site(guard, caller);
        if let Some(slot) = guard.slot() {
            slot.change_kind(before);
        }
        site
    }

    /// The site of the memo's stack, with the Python frames of the thread where it has any.
    #[inline(always)]
    fn site_of_thread(&self, slot: &mut ThreadSlot, end: Addr) -> Option<SiteId> {
        let thread = self.python().thread();
        // Whoever is in an import is there for long, and no two of its stacks are the same.
        if let Some(thread) = thread
            && slot.python.is_importing
            && let Some(site) = self.site_of_import(slot, thread, end)
        {
            return Some(site);
        }
        let mut seen = thread.map_or(Hashed::default(), |thread| slot.python.hash(thread, &self.samples));
        let python = seen.hash;
        let operation = if python == 0 { self.work.running() } else { 0 };
        if python == 0 && operation == 0 && slot.kind.is_none() {
            return self.site_of_memo(slot);
        }
        let native = slot.memo.frames().last().map_or(ROOT_HASH, |top| top.hash);
        let kind = slot.kind.map_or(0, |kind| u64::from(kind.number()));
        let key = extend_hash(native, python ^ operation ^ kind << 56);
        let site = match self.cached_site(slot, key) {
            Some((site, _)) => site,
            None => {
                if let Some(thread) = thread
                    && !slot.python.is_importing
                    && let Some(site) = self.site_of_import(slot, thread, end)
                {
                    return Some(site);
                }
                let caller = match thread {
                    Some(thread) if python != 0 => PythonCaller::Thread(thread, python),
                    _ if operation != 0 => self.maker(),
                    _ => PythonCaller::None,
                };
                let site = self.site_of_pair(slot, caller, key, end)?;
                // Code that was never seen before may have loops.
                seen = thread.map_or(seen, |thread| slot.python.hash_again(thread, &self.samples, seen));
                site
            }
        };
        if let Some(thread) = thread {
            // Whether a stack comes again is asked of the merged one: an interpreter that specialises its instructions runs
            // them at another address from their second time on. Which objects are sampled is a matter of chance.
            let key = if slot.kind == Some(Pseudo::PythonObject) { 0 } else { u64::from(site.get()) };
            let event = Event { thread, slot: slot.id(), loop_frame: seen.loop_frame, key };
            slot.python.note_loops(event, self.tables());
        }
        Some(site)
    }

    /// The site of the import of a library that a thread is in: one for the stack outside it and the modules that are being loaded.
    /// `None`: it is in none, or its stacks are kept.
    #[inline(never)]
    fn site_of_import(&self, slot: &mut ThreadSlot, thread: Thread<'_>, end: Addr) -> Option<SiteId> {
        slot.python.is_importing = false;
        if settings().imports == Imports::Full || slot.keeps_imports || !is_memory(slot.kind) {
            return None;
        }
        let import = slot.python.import(thread, &self.samples)?;
        let at = import.native_frame(thread, slot.memo.frames())?;
        let modules = &self.unwinder.modules;
        if modules.has_users() && slot.memo.frames()[at..].iter().any(|frame| modules.is_users(frame.word)) {
            slot.python.is_importing = false;
            return None;
        }
        let native = at.checked_sub(1).map_or(ROOT_HASH, |outside| slot.memo.frames()[outside].hash);
        let kind = slot.kind.map_or(0, |kind| u64::from(kind.number()));
        let key = extend_hash(native, import.hash ^ kind << 56);
        let site = match self.cached_site(slot, key) {
            Some((site, _)) => site,
            None => self.new_site_of_import(slot, (thread, import), key, end)?,
        };
        // That one site of an import comes again says nothing: most of what is allocated there has the same.
        let event = Event { thread, slot: slot.id(), loop_frame: import.loop_frame, key: 0 };
        slot.python.note_loops(event, self.tables());
        Some(site)
    }

    #[cold]
    fn new_site_of_import(
        &self,
        slot: &mut ThreadSlot,
        import: (Thread<'_>, Import),
        key: u64,
        end: Addr,
    ) -> Option<SiteId> {
        let (id, bottom, kind) = (slot.id(), slot.memo.bottom(), slot.kind);
        let native =
            NativeStack { frames: slot.memo.frames(), end, bottom, own_module: self.unwinder.modules.own() };
        slot.python.merge_import(&self.arena, &self.trie, import, kind, native);
        self.count_resident(slot);
        let node = slot.python.path.node(&self.arena, &self.trie);
        let site = self.trie.site(&self.arena, node, id)?;
        self.cache_site(slot, key, site);
        Some(site)
    }

    /// Who made the operation that this thread runs.
    fn maker(&self) -> PythonCaller<'_> {
        self.work.maker(&self.arena, &self.trie).map_or(PythonCaller::None, PythonCaller::Maker)
    }

    fn site_of_pair(
        &self,
        slot: &mut ThreadSlot,
        caller: PythonCaller<'_>,
        key: u64,
        end: Addr,
    ) -> Option<SiteId> {
        let site = match self.trie.aliased(&self.arena, key) {
            Some(known) => known,
            None => self.merge_stacks(slot, caller, key, end)?,
        };
        self.cache_site(slot, key, site);
        Some(site)
    }

    pub(super) fn tables(&self) -> Tables<'_> {
        Tables { arena: &self.arena, trie: &self.trie, marks: &self.marks, samples: &self.samples }
    }

    #[cold]
    fn merge_stacks(
        &self,
        slot: &mut ThreadSlot,
        caller: PythonCaller<'_>,
        key: u64,
        end: Addr,
    ) -> Option<SiteId> {
        let (id, bottom, kind) = (slot.id(), slot.memo.bottom(), slot.kind);
        let native =
            NativeStack { frames: slot.memo.frames(), end, bottom, own_module: self.unwinder.modules.own() };
        slot.python.merge(&self.arena, &self.trie, caller, kind, native);
        self.count_resident(slot);
        let node = slot.python.path.node(&self.arena, &self.trie);
        match self.trie.known_site(&self.arena, node) {
            // Seen before: it may come again and again. Most stacks of an import come once.
            Some(site) => {
                self.trie.alias(&self.arena, key, site);
                Some(site)
            }
            None => self.trie.site(&self.arena, node, id),
        }
    }

    fn count_resident(&self, slot: &mut ThreadSlot) {
        for grown in [slot.memo.newly_resident(), slot.python.newly_resident()].into_iter().flatten() {
            self.arena.header().private_bytes.fetch_add(grown, Relaxed);
        }
    }

    #[inline]
    fn site_of_memo(&self, slot: &mut ThreadSlot) -> Option<SiteId> {
        let id = slot.id();
        if let Some(grown) = slot.memo.newly_resident() {
            self.arena.header().private_bytes.fetch_add(grown, Relaxed);
        }
        let (hash, known) = slot.memo.frames().last().map_or((0, 0), |top| (top.hash, top.site));
        if known != 0 {
            return Some(SiteId::new(known));
        }
        let Some((site, is_settled)) = self.cached_site(slot, hash) else {
            let node = self.node_of_memo(slot);
            let site = self.trie.site(&self.arena, node, id)?;
            self.cache_site(slot, hash, site);
            return Some(site);
        };
        if is_settled && let Some(top) = slot.memo.frames().last_mut() {
            top.site = site.get();
        }
        Some(site)
    }

    /// The site that the thread has cached for a stack, and whether it stays that one: another thread's site becomes one
    /// of its own when it is used often.
    #[inline(always)]
    fn cached_site(&self, slot: &mut ThreadSlot, hash: u64) -> Option<(SiteId, bool)> {
        let kept = slot.memo.cache.site(hash)?;
        let site = SiteId::new(kept.site);
        if kept.uses_left == 0 {
            return Some((site, true));
        }
        kept.uses_left -= 1;
        let is_enough = kept.uses_left == 0;
        Some((if is_enough { self.own_site(slot, hash, site) } else { site }, is_enough))
    }

    /// A site of the thread's own for a stack that it has used another's site for.
    #[cold]
    fn own_site(&self, slot: &mut ThreadSlot, hash: u64, others: SiteId) -> SiteId {
        let node = sites::node_of_others(&self.arena, others, slot.id());
        let own = node.and_then(|node| sites::create(&self.arena, node, slot.id()));
        if let Some(own) = own {
            slot.memo.cache.keep_own_site(hash, own.get());
        }
        own.unwrap_or(others)
    }

    fn cache_site(&self, slot: &mut ThreadSlot, hash: u64, site: SiteId) {
        let is_others = sites::node_of_others(&self.arena, site, slot.id()).is_some();
        slot.memo.cache.keep_site(hash, site.get(), is_others);
    }

    /// The node of the memo's stack: nearly always known; else its unknown frames are inserted, outermost first.
    #[inline]
    fn node_of_memo(&self, slot: &mut ThreadSlot) -> NodeId {
        let bottom = slot.memo.bottom();
        let frames = slot.memo.frames();
        let mut known = frames.len();
        let mut node = NodeId::new(0);
        while known > 0 {
            let frame = &mut frames[known - 1];
            if frame.node == 0 {
                frame.node = self.trie.find(&self.arena, frame.hash).map_or(0, NodeId::get);
            }
            if frame.node != 0 {
                node = NodeId::new(frame.node);
                break;
            }
            known -= 1;
        }
        if known == 0 {
            node = self.bottom_node(bottom);
        }
        for frame in &mut frames[known..] {
            match self.trie.insert(&self.arena, node, frame.word, frame.hash) {
                Some(next) => node = next,
                None => return node, // full: the bytes stay exact, the stack ends early
            }
            frame.node = node.get();
        }
        node
    }

    /// The node that stands below an incomplete stack, or the root.
    fn bottom_node(&self, reason: Option<Pseudo>) -> NodeId {
        let root = NodeId::new(0);
        reason.map_or(root, |reason| self.extend(root, ROOT_HASH, reason.frame()).0)
    }

    /// The node one frame further in, found or made, and its hash.
    fn extend(&self, node: NodeId, hash: u64, frame: u64) -> (NodeId, u64) {
        self.trie.extend(&self.arena, node, hash, frame)
    }

    /// Walks a stack without a memo; where the thread has a slot, on a stack of ours. `kind` is what stands below everything: mappings have theirs.
    #[cold]
    #[inline(never)]
    fn plain_stack(&self, guard: &Guard, caller: Caller, kind: Option<Pseudo>) -> NodeId {
        let Some(top) = guard.slot().map(|slot| slot.spare_stack.top()) else {
            return self.walk_plainly(guard, caller, kind);
        };
        let mut node = NodeId::new(0);
        // SAFETY: the stack is the slot's, which is this thread's, and the guard is here once.
        unsafe { spare_stack::run(top, || node = self.walk_plainly(guard, caller, kind)) };
        node
    }

    #[inline(never)]
    fn walk_plainly(&self, guard: &Guard, caller: Caller, kind: Option<Pseudo>) -> NodeId {
        let own = guard.slot().and_then(|slot| slot.own_stack_end(caller.rsp));
        let end = own.unwrap_or_else(|| {
            if settings().sample_interval != 0 {
                stacks::forget(); // few blocks are seen to end, with which what follows a stack may have gone
            }
            stacks::end_of(Addr::new(caller.rsp))
        });
        let (mut node, mut hash) = (NodeId::new(0), ROOT_HASH);
        if let Some(kind) = kind {
            (node, hash) = self.extend(node, hash, kind.frame());
        }
        if end.get() < caller.rsp + 8 {
            return node; // no mapping holds the stack pointer: there is nothing to read
        }
        let mut frames = [0u64; PLAIN_DEPTH];
        let (count, outcome) = walk(&self.unwinder, &self.arena, caller, end, &mut frames);
        if let Some(reason) = cut_reason(outcome) {
            (node, hash) = self.extend(node, hash, reason.frame());
        }
        for &frame in frames[..count].iter().rev() {
            (node, hash) = self.extend(node, hash, frame);
        }
        node
    }
}

/// Whether blocks of this kind are memory. Of events and errors the stack itself is asked for.
const fn is_memory(kind: Option<Pseudo>) -> bool {
    matches!(
        kind,
        None | Some(
            Pseudo::PythonObject
                | Pseudo::PythonBlock
                | Pseudo::AnonymousMapping
                | Pseudo::FileMapping
                | Pseudo::Break
        )
    )
}
