//! The stacks of a profile with their values, and those of another one beside them where a difference is asked for. Stacks of
//! two recordings are the same where their frames have the same names and lines: addresses are valid within one run only.

use std::collections::HashMap;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{Layer, Measure, SiteProfile, StackFrame, ThreadPart};
use heaplens_format::recording;

/// The value in formats that have one number for each stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Bytes live at the end; for a Python script at the end of the script.
    Live,
    /// Bytes that were live at the heap's peak.
    Peak,
    /// Bytes allocated during the run.
    Allocated,
    /// Growth in bytes per iteration.
    Growth,
}

impl What {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Live, Self::Peak, Self::Allocated, Self::Growth];

    /// Its name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Peak => "peak",
            Self::Allocated => "allocated",
            Self::Growth => "growth per iteration",
        }
    }
}

/// Bytes and blocks; negative where a difference shrank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) bytes: i64,
    pub(super) blocks: i64,
}

impl Amount {
    fn of(measure: Measure) -> Self {
        Self { bytes: signed(measure.bytes.get()), blocks: signed(measure.blocks) }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.blocks = self.blocks.saturating_add(other.blocks);
    }

    fn minus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            blocks: self.blocks.saturating_sub(other.blocks),
        }
    }
}

/// The values of a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StackValues {
    pub(super) live: Amount,
    pub(super) peak: Amount,
    pub(super) allocated: Amount,
    /// Bytes per iteration.
    growth: i64,
}

impl StackValues {
    fn of(profile: &Profile, site: &SiteProfile) -> Self {
        Self {
            live: Amount::of(site.held),
            peak: Amount::of(site.peak),
            allocated: Amount::of(site.allocated),
            growth: profile.diagnosis.of_site(site).map_or(0, |pace| pace.round() as i64),
        }
    }

    fn add(&mut self, other: Self) {
        self.live.add(other.live);
        self.peak.add(other.peak);
        self.allocated.add(other.allocated);
        self.growth = self.growth.saturating_add(other.growth);
    }

    fn bytes(&self, what: What) -> i64 {
        match what {
            What::Live => self.live.bytes,
            What::Peak => self.peak.bytes,
            What::Allocated => self.allocated.bytes,
            What::Growth => self.growth,
        }
    }
}

/// A stack.
#[derive(Clone, Debug)]
pub(super) struct StackRow<'a> {
    /// Innermost first.
    pub(super) frames: Vec<&'a StackFrame>,
    /// Whether it does not reach its outermost frame.
    pub(super) is_cut: bool,
    /// Whose memory it is.
    pub(super) layer: Layer,
    /// Its values in the base recording.
    before: StackValues,
    after: StackValues,
    /// The same by the threads that allocated.
    threads: Vec<Part<'a>>,
}

/// The part of a stack that threads of one name allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part<'a> {
    /// `None` where it is not known.
    pub(super) thread: Option<&'a str>,
    /// Bytes and blocks, or so many more: live, and allocated.
    pub(super) live_and_allocated: [Amount; 2],
}

impl<'a> StackRow<'a> {
    /// Bytes before and after.
    pub(super) fn sides(&self, what: What) -> [i64; 2] {
        [self.before.bytes(what), self.after.bytes(what)]
    }

    /// Bytes, or so many bytes more.
    pub(super) fn bytes(&self, what: What) -> i64 {
        let [before, after] = self.sides(what);
        after.saturating_sub(before)
    }

    /// Bytes and blocks, or so many more: live, and allocated.
    pub(super) fn live_and_allocated(&self) -> [Amount; 2] {
        [self.after.live.minus(self.before.live), self.after.allocated.minus(self.before.allocated)]
    }

    /// The same by threads.
    pub(super) fn by_thread(&self) -> &[Part<'a>] {
        &self.threads
    }

    /// Turns the row into the base of a difference.
    fn into_base(mut self) -> Self {
        std::mem::swap(&mut self.before, &mut self.after);
        for part in &mut self.threads {
            part.live_and_allocated = part.live_and_allocated.map(|amount| Amount::default().minus(amount));
        }
        self
    }

    fn add(&mut self, other: Self) {
        self.before.add(other.before);
        self.after.add(other.after);
        for part in other.threads {
            match self.threads.iter_mut().find(|own| own.thread == part.thread) {
                Some(own) => {
                    own.live_and_allocated
                        .iter_mut()
                        .zip(part.live_and_allocated)
                        .for_each(|(a, b)| a.add(b));
                }
                None => self.threads.push(part),
            }
        }
    }
}

/// The stacks of a profile.
#[derive(Clone, Debug)]
pub struct Samples<'a> {
    pub(super) profile: &'a Profile,
    pub(super) rows: Vec<StackRow<'a>>,
    pub(super) is_difference: bool,
}

impl<'a> Samples<'a> {
    /// The heap and small Python objects; memory that the program mapped itself, too, where that is asked for.
    pub fn of(profile: &'a Profile, with_mappings: bool) -> Self {
        let rows = sites(profile, with_mappings).map(|site| row(profile, site)).collect();
        Self { profile, rows, is_difference: false }
    }

    /// What changed since another recording.
    pub fn since(base: &'a Profile, profile: &'a Profile, with_mappings: bool) -> Self {
        let mut samples = Self { profile, rows: Vec::new(), is_difference: true };
        let mut known = HashMap::new();
        for site in sites(profile, with_mappings) {
            samples.merge(&mut known, row(profile, site));
        }
        for site in sites(base, with_mappings) {
            samples.merge(&mut known, row(base, site).into_base());
        }
        samples
    }

    fn merge(&mut self, known: &mut HashMap<StackKey<'a>, usize>, row: StackRow<'a>) {
        match known.get(&key(&row)) {
            Some(&at) => self.rows[at].add(row),
            None => {
                known.insert(key(&row), self.rows.len());
                self.rows.push(row);
            }
        }
    }

    /// Whether growth is known for single stacks: it is known per iteration only.
    pub fn knows_growth(&self) -> bool {
        let diagnosis = &self.profile.diagnosis;
        diagnosis.how != heaplens_analyze::diagnose::How::Time && diagnosis.verdict.is_some()
    }

    /// Whether a frame of Python is in them.
    pub fn has_python(&self) -> bool {
        self.rows.iter().any(|row| row.frames.iter().any(|frame| frame.is_python()))
    }
}

fn sites(profile: &Profile, with_mappings: bool) -> impl Iterator<Item = &SiteProfile> {
    let is_wanted = move |site: &&SiteProfile| match site.category().row().is_mapped {
        false => true,
        true => with_mappings && !profile.is_pool(site),
    };
    profile.sites.iter().filter(is_wanted)
}

fn row<'a>(profile: &'a Profile, site: &SiteProfile) -> StackRow<'a> {
    StackRow {
        frames: profile.stack(site).collect(),
        is_cut: profile.cut(site).is_some(),
        layer: site.layer,
        before: StackValues::default(),
        after: StackValues::of(profile, site),
        threads: profile.by_thread(site).into_iter().map(part).collect(),
    }
}

fn part(part: ThreadPart<'_>) -> Part<'_> {
    let amount = |amount: recording::Amount| Amount {
        bytes: signed(amount.bytes.get()),
        blocks: signed(amount.blocks),
    };
    Part { thread: part.thread, live_and_allocated: [amount(part.held), amount(part.allocated)] }
}

/// What distinguishes stacks, across recordings.
type StackKey<'a> = (Layer, bool, Vec<FrameKey<'a>>);

/// What distinguishes frames, across recordings: the offset of unnamed code is meaningful within its file.
pub(super) type FrameKey<'a> = (Option<&'a str>, Option<&'a str>, Option<u32>, Option<&'a str>, u64);

fn key<'a>(row: &StackRow<'a>) -> StackKey<'a> {
    (row.layer, row.is_cut, row.frames.iter().map(|frame| frame_key(frame)).collect())
}

/// See [`FrameKey`].
pub(super) fn frame_key(frame: &StackFrame) -> FrameKey<'_> {
    let is_named = frame.function.is_some() || frame.file.is_some();
    let offset = if is_named { 0 } else { frame.offset };
    (frame.function.as_deref(), frame.file.as_deref(), frame.line, frame.module.as_deref(), offset)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
