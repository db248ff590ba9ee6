//! Blocks that the program could no longer reach at its end: taken together, left out where they are known, and summed.

use std::collections::BTreeMap;

use heaplens_format::recording::{Amount, HeapMoment, HeapView, LeakKind};

use super::profile::Profile;
use crate::diagnose::Finding;
use crate::profile::leaks::merged;
use crate::profile::{Leaks, LeftAs, SectionProfile, StackFrame, StackId, leaked};
use crate::suppressions::{Names, Suppression};

impl Profile {
    /// Merges leaks that share their kind and so many callers, and keeps the largest one's stack; in every process.
    pub fn merge_leaks(&mut self, callers: usize) {
        self.others.iter_mut().for_each(|other| other.merge_leaks(callers));
        let Some(Leaks::Done(records)) = &mut self.leaks else { return };
        *records = merged(std::mem::take(records), |stack| {
            let location =
                |frame: &StackFrame| (frame.module.clone(), frame.offset, frame.file.clone(), frame.line);
            self.stacks.frames(stack).take(callers).map(location).collect::<Vec<_>>()
        });
    }

    /// Leaves out the errors and the leaks that are known, in every process; `names` are what Valgrind calls their frames, as far as that is known.
    pub fn suppress(&mut self, known: &[Suppression], names: &Names) {
        self.others.iter_mut().for_each(|other| other.suppress(known, names));
        self.suppress_errors(known, names);
        self.suppress_in_sections(known, names);
        let Some(Leaks::Done(records)) = &mut self.leaks else { return };
        let (stacks, mut sums) = (&self.stacks, BTreeMap::<&str, Amount>::new());
        records.retain(|record| {
            // Most blocks are reachable, and hardly a suppression means those: their stacks are not compared.
            let mut for_kind = known.iter().filter(|one| one.is_for(record.kind)).peekable();
            if for_kind.peek().is_none() {
                return true;
            }
            let stack: Vec<&StackFrame> = stacks.frames(record.stack).collect();
            let called = names.called(&stack);
            let by = for_kind.find(|one| one.matches(&called));
            by.map(|one| *sums.entry(&one.name).or_default() += record.direct).is_none()
        });
        self.suppressed.extend(sums.into_iter().map(|(name, amount)| (name.to_owned(), amount)));
    }

    /// The same of what sections left.
    fn suppress_in_sections(&mut self, known: &[Suppression], names: &Names) {
        let stacks = &self.stacks;
        for section in &mut self.sections {
            let suppressed = &mut section.suppressed;
            section.lines.retain(|line| {
                let LeftAs::Lost(kind) = line.left_as else { return true };
                let mut for_kind = known.iter().filter(|one| one.is_for(kind)).peekable();
                if for_kind.peek().is_none() {
                    return true;
                }
                let stack: Vec<&StackFrame> = stacks.frames(line.stack).collect();
                let called = names.called(&stack);
                let is_known = for_kind.any(|one| one.matches(&called));
                *suppressed += if is_known { line.amount } else { Amount::default() };
                !is_known
            });
        }
    }

    /// Takes the leaks of the section of this name for those of the process; in every process.
    pub fn narrow_to_section(&mut self, name: &str) {
        self.others.iter_mut().for_each(|other| other.narrow_to_section(name));
        let section = self.sections.iter().find(|section| &*section.name == name);
        let none = |why: &str| Some(Leaks::NotDone(why.to_owned()));
        self.leaks = match section {
            None => none("the mark that begins the section was never set"),
            Some(SectionProfile { leaks: None, .. }) => {
                none("no heap snapshot was taken at the end of the section")
            }
            Some(SectionProfile { leaks, .. }) => leaks.clone(),
        };
    }

    /// Blocks of a kind at the end, without those that are known; none where they were not searched.
    pub fn lost(&self, kind: LeakKind) -> Amount {
        match &self.leaks {
            Some(Leaks::Done(records)) => leaked(records, kind),
            Some(Leaks::NotDone(_)) | None => Amount::default(),
        }
    }

    /// Python objects that nobody held at the end though they count references, and what only these lead to; `None` where that is not
    /// known. They are of no leak kind.
    pub fn unreferenced(&self) -> Option<Amount> {
        let mut views = self.holders.views().iter();
        let is_whole = |view: &&HeapView| view.moment == HeapMoment::Exit && !view.others_ran;
        let sites = views.rfind(is_whole)?.unreachable.as_ref()?;
        Some(sites.iter().map(|of| of.overcounted).sum())
    }

    /// What a finding is about and the program could no longer reach at its end.
    pub fn lost_of(&self, finding: &Finding) -> Amount {
        let Some(Leaks::Done(records)) = &self.leaks else { return Amount::default() };
        let stacks: Vec<StackId> = finding.sites.iter().map(|&site| self.sites[site].stack).collect();
        let is_lost = |kind| matches!(kind, LeakKind::DefinitelyLost | LeakKind::IndirectlyLost);
        let own = records.iter().filter(|record| is_lost(record.kind) && stacks.contains(&record.stack));
        own.map(|record| record.direct).sum()
    }
}
