//! The lines of one side of a comparison, each with what it holds in every layer. As with growth, all sites that one line is
//! named for are one.

use std::collections::HashMap;

use crate::Profile;
use crate::profile::{Category, Layer, LineKey, Measure, Origin, SiteProfile, StackFrame};

/// How a caller finds the text of a line, where its file still says what it said when the program ran.
pub type Sources<'a> = &'a mut dyn FnMut(&Profile, &StackFrame) -> Option<String>;

/// A line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HeldLine {
    /// `None` for sites without a stack.
    pub(super) frame: Option<StackFrame>,
    /// Its text, where that is to be had.
    pub(super) text: Option<String>,
    pub(super) measures: Vec<(Layer, Measure)>,
}

impl HeldLine {
    /// What it holds in a layer.
    pub(super) fn of(&self, layer: Layer) -> Measure {
        self.measures.iter().find(|(known, _)| *known == layer).map_or_else(Measure::default, |(_, sum)| *sum)
    }

    /// Layers that it holds something in.
    pub(super) fn layers(&self) -> impl Iterator<Item = Layer> {
        self.measures.iter().map(|&(layer, _)| layer)
    }

    pub(super) fn find_text(&mut self, profile: &Profile, sources: Sources<'_>) {
        self.text = self.frame.as_ref().and_then(|frame| sources(profile, frame));
    }

    fn hold(&mut self, layer: Layer, measure: Measure) {
        match self.measures.iter_mut().find(|(known, _)| *known == layer) {
            Some((_, sum)) => sum.add(measure),
            None => self.measures.push((layer, measure)),
        }
    }
}

/// What distinguishes one line from another on the same side. The address of code without a name means something only within one
/// run: across runs all such code of an object file is one line.
fn key(frame: &StackFrame, knows_addresses: bool) -> LineKey<'_> {
    frame.line_key(if is_named(frame) || !knows_addresses { 0 } else { frame.offset })
}

fn is_named(frame: &StackFrame) -> bool {
    frame.function.is_some() || frame.file.is_some()
}

/// The frame that a line is known by; offset 0 where it stands for all code without a name.
fn shown(frame: &StackFrame, knows_addresses: bool) -> StackFrame {
    let offset = if is_named(frame) || knows_addresses { frame.offset } else { 0 };
    StackFrame { offset, ..frame.clone() }
}

/// What stands for all imports: which of them needs the memory that Python maps for its small objects is a matter of chance, and
/// differs from run to run.
fn all_imports() -> StackFrame {
    StackFrame {
        origin: Origin::Import,
        function: Some("imports".into()),
        file: None,
        line: None,
        module: None,
        offset: 0,
    }
}

/// The lines of a profile that held something, in the order of their heaviest sites.
pub(super) fn of(
    profile: &Profile,
    knows_addresses: bool,
    counts: impl Fn(Category) -> bool,
) -> Vec<HeldLine> {
    let mut lines: Vec<HeldLine> = Vec::new();
    let mut known = HashMap::new();
    let imports = all_imports();
    let line = |site: &SiteProfile| {
        let frame = profile.line(site)?;
        let is_of_any_import =
            matches!(frame.origin, Origin::Imported(_)) && site.layer == Layer::MappedAnonymous;
        Some(if is_of_any_import { &imports } else { frame })
    };
    let held = profile.sites.iter().filter(|site| site.held.bytes.get() > 0 || site.held.blocks > 0);
    for site in held.filter(|site| counts(site.category()) && !profile.is_pool(site)) {
        let frame = line(site);
        let at = *known.entry(frame.map(|frame| key(frame, knows_addresses))).or_insert_with(|| {
            let frame = frame.map(|frame| shown(frame, knows_addresses));
            lines.push(HeldLine { frame, ..HeldLine::default() });
            lines.len() - 1
        });
        lines[at].hold(site.layer, site.held);
    }
    lines
}
