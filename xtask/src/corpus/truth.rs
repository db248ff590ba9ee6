//! The measured truth of a program: how its memory grows with its iterations, without Heaplens. Kept in `tests/corpus/truth.json`, one line
//! for each program; compares it with the header and never changes a header.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::header::Header;
use super::launch::{Launch, Run, Watch};
use super::programs::{CorpusProgram, folder};
use super::setup::Setup;

/// A bare run that takes longer is given up.
const LIMIT_S: u32 = 60;

/// What rises less than this from half of the iterations to all of them stands still: sizes of arenas and the order of threads differ
/// from run to run.
const STANDS_BYTES: f64 = 3.0 * 1024.0 * 1024.0;
/// The same, in shares of the peak.
const STANDS_SHARE: f64 = 0.02;
/// What is resident, in shares of the allocated bytes that the header states: allocators round up and leave holes.
const RESIDENT_SHARE: RangeInclusive<f64> = 0.9..=1.45;
/// Frameworks that align their blocks. glibc before 2.38 does not reuse a freed block for an aligned one of the same size, so that, depending
/// on where the heap starts, a hole stays beside every block that is kept, or none does. What is kept is measured with a mapping for each.
const ALIGNED: [&str; 2] = ["tensorflow", "torch"];
const MAPPING_FOR_EACH: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "32768");

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The program's default.
    pub iterations: u64,
    /// From half of the iterations to all of them.
    pub bytes_per_iteration: f64,
    pub grows: bool,
    pub wall_s: f64,
    pub cpu_s: f64,
    /// Iterations and the peak of resident memory, at half of the iterations and at all.
    pub peaks: [(u64, u64); 2],
}

impl Truth {
    /// Runs a program at two numbers of iterations.
    pub fn measure(program: &CorpusProgram, setup: &Setup) -> Result<Self> {
        let is_aligned = ALIGNED.contains(&program.header.class.as_str());
        let assignment = is_aligned.then(|| format!("{}={}", MAPPING_FOR_EACH.0, MAPPING_FOR_EACH.1));
        let mut command_line: Vec<OsString> = vec!["env".into()];
        command_line.extend(assignment.map(OsString::from));
        command_line.extend(setup.command_line(program)?);
        let run = |iterations| {
            Launch { program, command_line: command_line.clone(), iterations, limit_s: LIMIT_S }
                .run(Watch::Memory)
        };
        let whole = run(None)?;
        let half = run(Some((whole.iterations / 2).max(1)))?;
        Ok(Self::of(half, whole))
    }

    /// What two runs come to, one with half of the iterations.
    fn of(half: Run, whole: Run) -> Self {
        let rise = whole.peak_bytes as f64 - half.peak_bytes as f64;
        Self {
            iterations: whole.iterations,
            bytes_per_iteration: rise / whole.iterations.saturating_sub(half.iterations).max(1) as f64,
            grows: rise > STANDS_BYTES.max(STANDS_SHARE * whole.peak_bytes as f64),
            wall_s: whole.wall_s,
            cpu_s: whole.cpu_s,
            peaks: [half, whole].map(|run| (run.iterations, run.peak_bytes)),
        }
    }

    /// What the header says otherwise.
    pub fn contradiction(&self, header: &Header) -> Option<String> {
        let measured = self.bytes_per_iteration;
        let rise = measured * self.iterations as f64 / 2.0 / 1048576.0;
        let Some(growth) = &header.growth else {
            return self
                .grows
                .then(|| format!("{}, and it grows: {rise:.1} MiB in the second half", header.label.name()));
        };
        let expected = growth.bytes_per_iteration;
        if !self.grows {
            return Some(format!("{}, and it stands: {rise:.1} MiB in the second half", header.label.name()));
        }
        (!RESIDENT_SHARE.contains(&(measured / expected)))
            .then(|| format!("{expected:.0} bytes per iteration, and {measured:.0} were measured"))
    }

    fn to_json(&self) -> Value {
        json!({
            "iterations": self.iterations,
            "grows": self.grows,
            "bytes_per_iteration": self.bytes_per_iteration.round(),
            "wall_s": hundredths(self.wall_s),
            "cpu_s": hundredths(self.cpu_s),
            "peaks": self.peaks,
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let point = |value: &Value| Some((value[0].as_u64()?, value[1].as_u64()?));
        Some(Self {
            iterations: value["iterations"].as_u64()?,
            bytes_per_iteration: value["bytes_per_iteration"].as_f64()?,
            grows: value["grows"].as_bool()?,
            wall_s: value["wall_s"].as_f64()?,
            cpu_s: value["cpu_s"].as_f64()?,
            peaks: [point(&value["peaks"][0])?, point(&value["peaks"][1])?],
        })
    }
}

fn hundredths(seconds: f64) -> f64 {
    (seconds * 100.0).round() / 100.0
}

/// What was measured of all programs.
pub type Truths = BTreeMap<String, Truth>;

/// Reads what is kept; nothing yet is no error.
pub fn load() -> Result<Truths> {
    match std::fs::read_to_string(path()) {
        Ok(text) => parse(&text),
        Err(_) => Ok(Truths::new()),
    }
}

/// Keeps what was measured.
pub fn save(truths: &Truths) -> Result<()> {
    std::fs::write(path(), text(truths)).with_context(|| format!("cannot write {}", path().display()))
}

fn path() -> PathBuf {
    folder().join("truth.json")
}

fn parse(text: &str) -> Result<Truths> {
    let value: Value = serde_json::from_str(text).context("truth.json is no JSON")?;
    let entries = value.as_object().context("truth.json is no object")?;
    let entry = |(name, value): (&String, &Value)| {
        let truth = Truth::from_json(value).with_context(|| format!("truth.json: {name} lacks a value"))?;
        Ok((name.clone(), truth))
    };
    entries.iter().map(entry).collect()
}

/// One line for each program: changes of one are changes of one line.
fn text(truths: &Truths) -> String {
    let line = |(name, truth): (&String, &Truth)| format!("  {}: {}", json!(name), truth.to_json());
    format!("{{\n{}\n}}\n", truths.iter().map(line).collect::<Vec<_>>().join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::super::header::{ExpectedHolder, Growth, Label};
    use super::*;

    const MIB: u64 = 1 << 20;

    fn truth(peaks_mib: [u64; 2]) -> Truth {
        let run = |iterations, mib| Run { iterations, wall_s: 1.0, cpu_s: 1.0, peak_bytes: mib * MIB };
        Truth::of(run(500, peaks_mib[0]), run(1000, peaks_mib[1]))
    }

    fn header(label: Label, bytes_per_iteration: f64) -> Header {
        let holder = ExpectedHolder::Nobody;
        let growth = Growth { lines: vec![1], bytes_per_iteration, holder, fix: Vec::new() };
        let growth = label.grows().then_some(growth);
        Header { cause: String::new(), class: String::new(), label, growth, needs: Vec::new() }
    }

    #[test]
    fn the_second_half_decides() {
        let leak = truth([50, 90]);
        assert!(leak.grows);
        assert_eq!(leak.bytes_per_iteration, (40 * MIB) as f64 / 500.0);
        assert!(!truth([90, 90]).grows, "a plateau");
        assert!(!truth([500, 509]).grows, "within the noise of a large program");
    }

    #[test]
    fn a_header_that_says_otherwise_is_named() {
        let leak = truth([50, 90]);
        let rate = leak.bytes_per_iteration;
        assert_eq!(leak.contradiction(&header(Label::Leak, rate * 1.05)), None);
        assert!(leak.contradiction(&header(Label::Leak, rate * 1.5)).unwrap().contains("were measured"));
        assert!(leak.contradiction(&header(Label::Clean, 0.0)).unwrap().contains("and it grows"));
        assert!(truth([9, 9]).contradiction(&header(Label::Lost, 99.0)).unwrap().contains("and it stands"));
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let truths = Truths::from([("c/a.c".to_owned(), truth([1, 3])), ("c/b.c".to_owned(), truth([5, 5]))]);
        let text = text(&truths);
        assert_eq!(text.lines().count(), 4);
        let read = parse(&text).unwrap();
        assert_eq!(read["c/b.c"], truths["c/b.c"]);
        assert!(parse(r#"{"c/a.c": {}}"#).is_err());
    }
}
