//! ```text
//!   strings:  rows of texts
//!   refusal:  a string + 1, or 0
//!   views:    ns │ 0 end, 1 asked, 2 + iterations running (+ 4: other threads ran on) │ pause ns │ took ns │ bytes │ blocks
//!             classes:   class │ bytes │ blocks
//!             nodes:     parent + 1, or 0 │ step │ name │ class │ address │ bytes │ retained bytes │ retained blocks
//!             holders:   site │ node │ inspected │ alike
//!             retainers: node
//!             growing:   node │ bytes before │ blocks before │ elements before │ elements now
//!   where one of them knows it, for each view: 0, or 1 and rows: site │ live bytes │ blocks │ garbage bytes │ blocks
//!                                                                │ overcounted bytes │ blocks        (since format 2.9)
//!   where there are any, for each view: rows: site │ site of containers │ inspected │ alike              (since format 2.10)
//!   where there are any, for each view: rows: node │ elements │ limit                                     (since format 2.11)
//!   where there are any, for each view: rows: class │ class that it inherits from                         (since format 2.14)
//! ```
//!
//! Names and classes are numbers of strings; sites and nodes count from 0.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::strings::{self, Strings};
use super::{Outcome, read_amount, write_amount};
use crate::recording::damage::PayloadFault;
use crate::recording::heap::{
    BaseClass, ClassRow, GrowingNode, Heap, HeapMoment, HeapView, Holder, LimitedNode, PathNode, ReusedSite,
    Step, UnreachableSite,
};
use crate::recording::wire::{Reader, Writer};
use crate::units::{Bytes, Nanos};

/// Added to the number of a moment.
const OTHERS_RAN: u64 = 4;

pub(crate) fn write(heap: &Heap, to: &mut Writer) {
    let (mut strings, mut rows) = (Strings::default(), Writer::default());
    rows.number(heap.refusal.as_ref().map_or(0, |why| strings.number(why) + 1));
    rows.count(heap.views.len());
    heap.views.iter().for_each(|view| write_view(view, &mut strings, &mut rows));
    let has_bases = heap.views.iter().any(|view| !view.bases.is_empty());
    let has_limited = has_bases || heap.views.iter().any(|view| !view.limited.is_empty());
    let has_reused = has_limited || heap.views.iter().any(|view| !view.reused.is_empty());
    if has_reused || heap.views.iter().any(|view| view.unreachable.is_some()) {
        heap.views.iter().for_each(|view| write_unreachable(view.unreachable.as_deref(), &mut rows));
    }
    if has_reused {
        heap.views.iter().for_each(|view| write_reused(&view.reused, &mut rows));
    }
    if has_limited {
        heap.views.iter().for_each(|view| write_limited(&view.limited, &mut rows));
    }
    if has_bases {
        heap.views.iter().for_each(|view| write_bases(&view.bases, &mut strings, &mut rows));
    }
    strings.write(to);
    to.append(rows);
}

pub(crate) fn read(heap: &mut Heap, from: &mut Reader<'_>) -> Outcome {
    let strings = strings::read(from)?;
    let refusal = from.number()?.checked_sub(1);
    heap.refusal = refusal.map(|number| strings::get(&strings, number)).transpose()?;
    for _ in 0..from.number()? {
        let mut view = HeapView::default();
        let outcome = read_view(&mut view, &strings, from);
        // What was read before a fault is as true as without it.
        heap.views.push(view);
        outcome?;
    }
    // Format 2.8 ends here.
    if from.left() == 0 {
        return Ok(());
    }
    heap.views.iter_mut().try_for_each(|view| read_unreachable(&mut view.unreachable, from))?;
    // Format 2.9 ends here.
    if from.left() == 0 {
        return Ok(());
    }
    heap.views.iter_mut().try_for_each(|view| read_reused(&mut view.reused, from))?;
    // Format 2.10 ends here.
    if from.left() == 0 {
        return Ok(());
    }
    heap.views.iter_mut().try_for_each(|view| read_limited(&mut view.limited, from))?;
    // Format 2.13 ends here.
    if from.left() == 0 {
        return Ok(());
    }
    heap.views.iter_mut().try_for_each(|view| read_bases(&mut view.bases, &strings, from))
}

fn write_bases<'a>(bases: &'a [BaseClass], strings: &mut Strings<'a>, to: &mut Writer) {
    to.count(bases.len());
    for of in bases {
        [&of.class, &of.base].into_iter().for_each(|text| to.number(strings.number(text)));
    }
}

fn read_bases(bases: &mut Vec<BaseClass>, strings: &[Arc<str>], from: &mut Reader<'_>) -> Outcome {
    let text = |from: &mut Reader<'_>| strings::get(strings, from.number()?);
    from.rows(2, bases, |from| Ok(BaseClass { class: text(from)?, base: text(from)? }))
}

fn write_limited(nodes: &[LimitedNode], to: &mut Writer) {
    to.count(nodes.len());
    for of in nodes {
        [of.node.into(), of.elements, of.limit].into_iter().for_each(|number| to.number(number));
    }
}

fn read_limited(nodes: &mut Vec<LimitedNode>, from: &mut Reader<'_>) -> Outcome {
    from.rows(3, nodes, |from| {
        Ok(LimitedNode { node: from.small()?, elements: from.number()?, limit: from.number()? })
    })
}

fn write_reused(sites: &[ReusedSite], to: &mut Writer) {
    to.count(sites.len());
    for of in sites {
        [of.site, of.container, of.inspected, of.alike]
            .into_iter()
            .for_each(|number| to.number(number.into()));
    }
}

fn read_reused(sites: &mut Vec<ReusedSite>, from: &mut Reader<'_>) -> Outcome {
    from.rows(4, sites, |from| {
        Ok(ReusedSite {
            site: from.small()?,
            container: from.small()?,
            inspected: from.small()?,
            alike: from.small()?,
        })
    })
}

fn write_unreachable(sites: Option<&[UnreachableSite]>, to: &mut Writer) {
    to.number(sites.is_some().into());
    let Some(sites) = sites else { return };
    to.count(sites.len());
    for of in sites {
        to.number(of.site.into());
        [of.live, of.garbage, of.overcounted].into_iter().for_each(|amount| write_amount(amount, to));
    }
}

fn read_unreachable(sites: &mut Option<Vec<UnreachableSite>>, from: &mut Reader<'_>) -> Outcome {
    match from.number()? {
        0 => Ok(()),
        1 => from.rows(7, sites.insert(Vec::new()), |from| {
            Ok(UnreachableSite {
                site: from.small()?,
                live: read_amount(from)?,
                garbage: read_amount(from)?,
                overcounted: read_amount(from)?,
            })
        }),
        tag => Err(PayloadFault::UnknownTag(tag)),
    }
}

fn write_view<'a>(view: &'a HeapView, strings: &mut Strings<'a>, to: &mut Writer) {
    to.number(view.at.get());
    let others_ran = if view.others_ran { OTHERS_RAN } else { 0 };
    match view.moment {
        HeapMoment::Exit => to.number(others_ran),
        HeapMoment::Asked => to.number(1 + others_ran),
        HeapMoment::Running { iterations } => {
            to.number(2 + others_ran);
            to.number(iterations);
        }
    }
    to.number(view.pause.get());
    to.number(view.took.get());
    write_amount(view.live, to);
    to.count(view.classes.len());
    for row in &view.classes {
        to.number(strings.number(&row.class));
        write_amount(row.live, to);
    }
    to.count(view.nodes.len());
    view.nodes.iter().for_each(|node| write_node(node, strings, to));
    to.count(view.holders.len());
    for holder in &view.holders {
        [holder.site, holder.node, holder.inspected, holder.alike]
            .iter()
            .for_each(|&field| to.number(field.into()));
    }
    to.count(view.retainers.len());
    view.retainers.iter().for_each(|&node| to.number(node.into()));
    to.count(view.growing.len());
    for growing in &view.growing {
        to.number(growing.node.into());
        write_amount(growing.before, to);
        growing.elements.iter().for_each(|&count| to.number(count));
    }
}

fn read_view(view: &mut HeapView, strings: &[Arc<str>], from: &mut Reader<'_>) -> Outcome {
    view.at = Nanos::new(from.number()?);
    let tag = from.number()?;
    view.others_ran = tag >= OTHERS_RAN;
    view.moment = match tag.checked_sub(OTHERS_RAN).unwrap_or(tag) {
        0 => HeapMoment::Exit,
        1 => HeapMoment::Asked,
        2 => HeapMoment::Running { iterations: from.number()? },
        _ => return Err(PayloadFault::UnknownTag(tag)),
    };
    view.pause = Nanos::new(from.number()?);
    view.took = Nanos::new(from.number()?);
    view.live = read_amount(from)?;
    from.rows(3, &mut view.classes, |from| {
        Ok(ClassRow { class: strings::get(strings, from.number()?)?, live: read_amount(from)? })
    })?;
    from.rows(8, &mut view.nodes, |from| read_node(strings, from))?;
    from.rows(4, &mut view.holders, |from| {
        let mut field = || from.small();
        Ok(Holder { site: field()?, node: field()?, inspected: field()?, alike: field()? })
    })?;
    from.rows(1, &mut view.retainers, Reader::small)?;
    read_growing(&mut view.growing, from)
}

fn read_growing(growing: &mut Vec<GrowingNode>, from: &mut Reader<'_>) -> Outcome {
    from.rows(5, growing, |from| {
        let (node, before) = (from.small()?, read_amount(from)?);
        Ok(GrowingNode { node, before, elements: [from.number()?, from.number()?] })
    })
}

fn write_node<'a>(node: &'a PathNode, strings: &mut Strings<'a>, to: &mut Writer) {
    to.number(node.parent.map_or(0, |parent| u64::from(parent) + 1));
    to.number(node.step as u64);
    to.number(strings.number(&node.name));
    to.number(strings.number(&node.class));
    to.number(node.address);
    to.number(node.size.get());
    write_amount(node.retained, to);
}

fn read_node(strings: &[Arc<str>], from: &mut Reader<'_>) -> Result<PathNode, PayloadFault> {
    let parent = from.number()?.checked_sub(1);
    let parent = parent.map(u32::try_from).transpose().map_err(|_| PayloadFault::NumberTooLarge)?;
    let step = from.number()?;
    Ok(PathNode {
        parent,
        step: Step::from_number(step).ok_or(PayloadFault::UnknownTag(step))?,
        name: strings::get(strings, from.number()?)?,
        class: strings::get(strings, from.number()?)?,
        address: from.number()?,
        size: Bytes::new(from.number()?),
        retained: read_amount(from)?,
    })
}
