//! pprof's own format: a compressed protocol buffer with four values for each stack (in use and allocated, blocks and bytes),
//! and labels for the layer, the process, the thread and the iteration. Names and lines are included, so no
//! reader needs symbols. A difference has negative numbers, as one made by pprof itself.

mod message;
mod tables;

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::Samples;
use super::samples::{Part, StackRow};
use message::{Label, Profile, Sample, ValueType};
use tables::Tables;

/// The values of a sample: what, and in which unit.
const TYPES: [(&str, &str); 4] = [
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
];
/// The one that a reader shows first.
const USUAL: &str = "inuse_space";

/// Writes the file. `iteration` is the iteration of the main loop that the values in use belong to.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(samples: &Samples<'_>, iteration: Option<u64>, out: &mut dyn Write) -> io::Result<()> {
    let profile = profile(samples, iteration);
    let mut zipped = GzEncoder::new(out, Compression::default());
    zipped.write_all(&profile.encode_to_vec())?;
    zipped.finish().map(|_| ())
}

fn profile(samples: &Samples<'_>, iteration: Option<u64>) -> Profile {
    let mut tables = Tables::new(samples.profile);
    let run = &samples.profile.run;
    let value_type = |tables: &mut Tables<'_>, (kind, unit): (&str, &str)| ValueType {
        kind: tables.text(kind),
        unit: tables.text(unit),
    };
    let sample_type = TYPES.into_iter().map(|one| value_type(&mut tables, one)).collect();
    let labels = Labels { iteration, pid: samples.profile.pid.map(|pid| pid.get()) };
    let sample = samples.rows.iter().flat_map(|row| labels.samples(row, &mut tables)).collect();
    let mut profile = Profile {
        sample_type,
        sample,
        time_nanos: signed(run.started_unix.get()),
        duration_nanos: signed(run.wall.get()),
        period_type: Some(value_type(&mut tables, ("space", "bytes"))),
        period: signed(run.sample_interval.map_or(1, |interval| interval.get())),
        comment: comments(samples).iter().map(|line| tables.text(line)).collect(),
        default_sample_type: tables.text(USUAL),
        ..Profile::default()
    };
    tables.put_into(&mut profile);
    profile
}

fn comments(samples: &Samples<'_>) -> Vec<String> {
    let run = &samples.profile.run;
    let mut lines = vec![format!("heaplens {}", run.heaplens), format!("command: {}", run.command.join(" "))];
    if let Some(interval) = run.sample_interval {
        lines.push(format!("sampled about once in {} bytes: the values are estimates", interval.get()));
    }
    if samples.is_difference {
        lines.push("a difference: the base is subtracted".to_owned());
    }
    lines
}

/// What every sample is labelled with.
struct Labels {
    iteration: Option<u64>,
    pid: Option<u32>,
}

impl Labels {
    /// One for each thread that has something at this stack.
    fn samples<'a>(&self, row: &StackRow<'a>, tables: &mut Tables<'a>) -> Vec<Sample> {
        let values = |part: &Part<'_>| {
            let [live, allocated] = part.live_and_allocated;
            vec![live.blocks, live.bytes, allocated.blocks, allocated.bytes]
        };
        let parts = row.by_thread().iter().map(|part| (part.thread, values(part)));
        let parts: Vec<_> = parts.filter(|(_, value)| value.iter().any(|&value| value != 0)).collect();
        let sample = |(thread, value)| Sample {
            location_id: tables.stack(row),
            value,
            label: self.labels(row, thread, tables),
        };
        parts.into_iter().map(sample).collect()
    }

    fn labels(&self, row: &StackRow<'_>, thread: Option<&str>, tables: &mut Tables<'_>) -> Vec<Label> {
        let texts = [("layer", Some(row.layer.name())), ("thread", thread)];
        let numbers = [("pid", self.pid.map(u64::from)), ("iteration", self.iteration)];
        let mut labels = Vec::new();
        for (key, text) in texts {
            labels.extend(text.map(|text| Label {
                key: tables.text(key),
                text: tables.text(text),
                number: 0,
            }));
        }
        for (key, number) in numbers {
            labels.extend(number.map(|number| Label {
                key: tables.text(key),
                text: 0,
                number: signed(number),
            }));
        }
        labels
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
