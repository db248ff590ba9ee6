//! Sections: parts of the program whose leaks are checked. The program says where one begins and ends; or two of its marks do, as the
//! user has asked for.
//!
//! ```text
//!   begin   pass + 1 │ mark │ from here on sites are the section's        what the mark finds live is of earlier passes
//!   end     sites are ordinary ones │ mark │ heap snapshot, for some passes: the thread waits until the recorder has its copy
//! ```

use core::ffi::CStr;

use heaplens_format::arena::marks::MarkTag;
use heaplens_format::arena::section::is_checked;
use heaplens_format::environment::LEAK_CHECK_START;
use heaplens_format::{Loss, NodeId};

use crate::lifecycle::is_recording;
use crate::process::settings;
use crate::tables::marks::NewMark;
use crate::tables::sections::{SectionPass, note_snapshot};
use crate::tables::sites;
use crate::thread::guard::{Guard, Nesting};
use crate::tracker::Tracker;
use crate::unwind::Caller;

/// How often a mark is tried while another thread makes one.
const MOST_SPINS: usize = 10_000;

impl Tracker {
    /// A section begins, on this stack where that is known.
    #[cold]
    pub fn on_section_begin(&self, name: &CStr, caller: Option<Caller>) {
        self.begin_section(name.to_bytes(), caller);
    }

    /// A section ends. Where a heap snapshot of this end is wanted, the thread waits for it.
    #[cold]
    pub fn on_section_end(&self, name: &CStr) {
        self.end_section(name.to_bytes());
    }

    /// The user's mark may end the section between marks, and then begin it again.
    #[cold]
    pub(super) fn sections_at_mark(&self, label: &[u8]) {
        let settings = settings();
        if !settings.checks_section() {
            return;
        }
        let name = settings.leak_check_name.bytes();
        if label == settings.leak_check_to.bytes() {
            self.end_section(name);
        }
        if label == settings.leak_check_from.bytes() && !self.is_section_open(name) {
            self.begin_section(name, None);
        }
    }

    /// The section that begins with the process, where one is wanted.
    #[cold]
    pub fn begin_section_at_start(&self) {
        let settings = settings();
        if settings.checks_section() && settings.leak_check_from.bytes() == LEAK_CHECK_START.as_bytes() {
            self.begin_section(settings.leak_check_name.bytes(), None);
        }
    }

    /// Whether the program's marks may have to wait for a heap snapshot.
    pub fn has_sections_at_marks(&self) -> bool {
        settings().checks_section()
    }

    fn is_section_open(&self, name: &[u8]) -> bool {
        let Some(guard) = Guard::enter(Nesting::Never) else { return false };
        is_recording(&guard) && self.sections.turn().is_some_and(|turn| turn.is_open(&self.arena, name))
    }

    fn begin_section(&self, name: &[u8], caller: Option<Caller>) {
        let Some(guard) = Guard::enter(Nesting::Never) else { return };
        if !is_recording(&guard) || settings().directory.is_empty() {
            return;
        }
        let begun = caller.and_then(|caller| self.site_of_stack(&guard, caller));
        let node = begun.and_then(|site| sites::node(&self.arena, site)).unwrap_or(NodeId::new(0));
        let Some(turn) = self.sections.turn() else { return self.arena.lose(Loss::MarkLost) };
        match turn.open(&self.arena, name) {
            Ok(Some(pass)) => {
                turn.note_begin(&self.arena, pass, node);
                self.mark_section(MarkTag::SectionBegun, pass);
                turn.begin(pass);
            }
            Ok(None) => {}
            Err(_) => self.arena.lose(Loss::MarkLost),
        }
    }

    fn end_section(&self, name: &[u8]) {
        let ended = self.close_section(name);
        if let Some(pass) = ended.filter(|pass| is_checked(pass.number)) {
            self.on_snapshot_of_section(|number| note_snapshot(&self.arena, pass.section, number));
        }
    }

    fn close_section(&self, name: &[u8]) -> Option<SectionPass> {
        let guard = Guard::enter(Nesting::Never)?;
        if !is_recording(&guard) {
            return None;
        }
        let Some(turn) = self.sections.turn() else {
            self.arena.lose(Loss::MarkLost);
            return None;
        };
        let pass = turn.close(&self.arena, name)?;
        self.mark_section(MarkTag::SectionEnded, pass);
        Some(pass)
    }

    /// Both marks of a pass are kept, or none.
    fn mark_section(&self, kind: MarkTag, pass: SectionPass) {
        let mark = NewMark { kind, of_loop: pass.section, number: pass.number.into(), label: &[] };
        if !self.marks.is_kept(pass.number) {
            return;
        }
        for _ in 0..MOST_SPINS {
            if self.marks.make(&self.arena, mark).is_some() {
                return;
            }
            core::hint::spin_loop();
        }
        self.arena.lose(Loss::MarkLost);
    }
}
