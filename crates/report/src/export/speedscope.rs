//! speedscope's own JSON: one sampled profile for each value, in bytes. It has no negative numbers, so a difference has
//! two profiles for each, what is more and what is less.

use std::collections::HashMap;
use std::io::{self, Write};

use heaplens_analyze::profile::StackFrame;
use serde::Serialize;

use super::samples::{FrameKey, frame_key};
use super::{Samples, What};
use crate::catalogue::stack::label::{CUT, NO_STACK, label};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: String,
    exporter: String,
    active_profile_index: usize,
    shared: Shared<'a>,
    profiles: Vec<Sampled>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    /// Outermost frame first.
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// Writes the file, with these values.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(samples: &Samples<'_>, values: &[What], out: &mut dyn Write) -> io::Result<()> {
    let mut frames = FrameTable::default();
    let stacks: Vec<Vec<usize>> =
        samples.rows.iter().map(|row| frames.stack(&row.frames, row.is_cut)).collect();
    let sides: &[(i64, &str)] =
        if samples.is_difference { &[(1, ": more"), (-1, ": less")] } else { &[(1, "")] };
    let profiles = values.iter().flat_map(|&what| {
        let (samples, stacks) = (&samples, &stacks);
        sides.iter().map(move |&(sign, side)| sampled(samples, stacks, (what, sign, side)))
    });
    let file = File {
        schema: SCHEMA,
        name: samples.profile.run.command.join(" "),
        exporter: format!("heaplens {}", env!("CARGO_PKG_VERSION")),
        active_profile_index: 0,
        profiles: profiles.collect(),
        shared: Shared { frames: frames.list },
    };
    serde_json::to_writer(&mut *out, &file)?;
    writeln!(out)
}

fn sampled(samples: &Samples<'_>, stacks: &[Vec<usize>], (what, sign, side): (What, i64, &str)) -> Sampled {
    let weight = |bytes: i64| u64::try_from(bytes.saturating_mul(sign)).ok().filter(|&weight| weight > 0);
    let rows = samples.rows.iter().zip(stacks);
    let (samples, weights): (Vec<_>, Vec<_>) =
        rows.filter_map(|(row, stack)| Some((stack.clone(), weight(row.bytes(what))?))).unzip();
    Sampled {
        kind: "sampled",
        name: format!("{}{side}", what.name()),
        unit: "bytes",
        start_value: 0,
        end_value: weights.iter().sum(),
        samples,
        weights,
    }
}

/// Each frame once.
#[derive(Default)]
struct FrameTable<'a> {
    list: Vec<Frame<'a>>,
    known: HashMap<FrameKey<'a>, usize>,
}

impl<'a> FrameTable<'a> {
    fn stack(&mut self, stack: &[&'a StackFrame], is_cut: bool) -> Vec<usize> {
        let mut frames: Vec<usize> = stack.iter().map(|frame| self.frame(frame)).collect();
        frames.extend(is_cut.then(|| self.word(CUT)));
        if frames.is_empty() {
            frames.push(self.word(NO_STACK));
        }
        frames.reverse();
        frames
    }

    fn frame(&mut self, frame: &'a StackFrame) -> usize {
        let file = frame.file.as_deref().or(frame.module.as_deref());
        self.number(frame_key(frame), || Frame { name: label(frame), file, line: frame.line })
    }

    fn word(&mut self, word: &'static str) -> usize {
        self.number((Some(word), None, None, None, 0), || Frame { name: word.into(), file: None, line: None })
    }

    fn number(&mut self, key: FrameKey<'a>, frame: impl FnOnce() -> Frame<'a>) -> usize {
        *self.known.entry(key).or_insert_with(|| {
            self.list.push(frame());
            self.list.len() - 1
        })
    }
}
