//! ```text
//!   rows: number │ name │ node it was begun at, or 0 │ passes │ open 0/1 │ sites: rows of sites
//!         check: 0, or 1 │ pass │ ns │ at exit 0/1 │ leaks as in the section "leaks" │ views as in the section "heap"
//! ```

use alloc::vec::Vec;

use super::{Outcome, heap, leaks};
use crate::recording::damage::PayloadFault;
use crate::recording::heap::Heap;
use crate::recording::sections::{CheckedSection, SectionCheck};
use crate::recording::wire::{Reader, Writer};
use crate::units::{Nanos, NodeId};

pub(crate) fn write(sections: &[CheckedSection], to: &mut Writer) {
    to.count(sections.len());
    for section in sections {
        to.number(section.number.into());
        to.text(&section.name);
        to.number(section.begun.get().into());
        to.number(section.passes);
        to.number(section.is_open.into());
        to.count(section.sites.len());
        section.sites.iter().for_each(|&site| to.number(site.into()));
        to.number(section.check.is_some().into());
        section.check.iter().for_each(|check| write_check(check, to));
    }
}

fn write_check(check: &SectionCheck, to: &mut Writer) {
    to.number(check.pass);
    to.number(check.at.get());
    to.number(check.is_at_exit.into());
    leaks::write(check.leaks.as_ref(), to);
    // The views of a heap end with the payload: these are one field of several.
    let mut views = Writer::default();
    heap::write(&Heap { views: check.view.iter().cloned().collect(), refusal: None }, &mut views);
    to.bytes(&views.finish());
}

pub(crate) fn read(sections: &mut Vec<CheckedSection>, from: &mut Reader<'_>) -> Outcome {
    from.rows(7, sections, |from| {
        let mut section = CheckedSection {
            number: from.small()?,
            name: from.text()?.into(),
            begun: NodeId::new(from.small()?),
            passes: from.number()?,
            is_open: from.number()? != 0,
            ..CheckedSection::default()
        };
        from.rows(1, &mut section.sites, Reader::small)?;
        section.check = match from.number()? {
            0 => None,
            1 => Some(read_check(from)?),
            tag => return Err(PayloadFault::UnknownTag(tag)),
        };
        Ok(section)
    })
}

fn read_check(from: &mut Reader<'_>) -> Result<SectionCheck, PayloadFault> {
    let (pass, at, is_at_exit) = (from.number()?, Nanos::new(from.number()?), from.number()? != 0);
    let mut check = SectionCheck { pass, at, is_at_exit, ..SectionCheck::default() };
    leaks::read(&mut check.leaks, from)?;
    let mut found = Heap::default();
    heap::read(&mut found, &mut Reader::new(from.bytes()?))?;
    check.view = found.views.pop();
    Ok(check)
}
