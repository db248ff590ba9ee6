//! Limits that make a run fail, for CI: maximum growth, a baseline of known findings, and the exit status.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use heaplens_analyze::Profile;
use heaplens_analyze::diagnose::{Floor, How, Verdict};
use heaplens_format::Bytes;
use heaplens_format::recording::Exit;
use heaplens_report::json::baseline::Baseline;
use heaplens_report::text;

use crate::destination;
use crate::failure::{Failure, eprint};
use crate::size;

/// The exit status if a limit is exceeded and --error-exitcode is not given.
const EXCEEDED: u8 = 1;

/// The options of `heaplens run` and `heaplens report` that make them fail.
#[derive(Debug, Default, Args)]
pub(crate) struct LimitArguments {
    /// Fail if memory grows by more than SIZE per iteration or per second (1KiB/iteration, 2MiB/second)
    #[arg(long, help_heading = "Limits", value_name = "SIZE/UNIT", value_parser = GrowthRate::parse)]
    max_growth: Option<GrowthRate>,
    /// Exit with status N if a limit is exceeded, or if the program itself succeeded and a process has the verdict leak or lost, or a memory error
    #[arg(long, help_heading = "Limits", value_name = "N")]
    error_exitcode: Option<u8>,
    /// Ignore growth of less than SIZE over the whole run, and losses of libraries below SIZE; 0 ignores nothing, auto ignores
    /// growth below 1 MiB and 1% of RSS (if RSS grows too, it must also stay below 10% of RSS in a day), and losses of libraries below 64 KiB
    #[arg(long, help_heading = "Limits", value_name = "SIZE|auto", default_value = "auto", value_parser = floor)]
    floor: Floor,
    /// Fail on findings that are not in the baseline FILE
    #[arg(long, help_heading = "Limits", value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the findings to FILE, for --baseline
    #[arg(long, help_heading = "Limits", value_name = "FILE")]
    write_baseline: Option<PathBuf>,
}

/// A growth rate: bytes per iteration or per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GrowthRate {
    bytes: Bytes,
    per: Per,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Per {
    Iteration,
    Second,
}

impl GrowthRate {
    /// `1KiB/iteration`, `2MiB/second`, `0/iteration`; per iteration if no unit is given.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (amount, unit) = text.split_once('/').unwrap_or((text, "iteration"));
        let per = match unit.trim() {
            "iteration" => Per::Iteration,
            "second" | "s" => Per::Second,
            other => {
                return Err(format!("growth can be limited per iteration or per second, not per '{other}'"));
            }
        };
        let bytes = if amount.trim() == "0" { Bytes::ZERO } else { size::parse(amount.trim())? };
        Ok(Self { bytes, per })
    }
}

impl fmt::Display for GrowthRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", text::size(self.bytes), self.per.name())
    }
}

impl Per {
    fn name(self) -> &'static str {
        match self {
            Self::Iteration => "iteration",
            Self::Second => "second",
        }
    }
}

fn floor(text: &str) -> Result<Floor, String> {
    match text.trim() {
        "auto" => Ok(Floor::Relative),
        "0" => Ok(Floor::None),
        size => size::parse(size).map(Floor::Bytes),
    }
}

/// The limits of a run, checked before it starts.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    max_growth: Option<GrowthRate>,
    error_exitcode: Option<u8>,
    floor: Floor,
    baseline: Option<(PathBuf, Baseline)>,
    write_baseline: Option<PathBuf>,
}

impl Limits {
    /// Reads the baseline and checks that the new one can be written.
    pub(crate) fn prepare(arguments: &LimitArguments) -> Result<Self, Failure> {
        if let Some(path) = &arguments.write_baseline {
            destination::check(path)?;
        }
        let baseline = arguments.baseline.as_deref().map(read).transpose()?;
        Ok(Self {
            max_growth: arguments.max_growth,
            error_exitcode: arguments.error_exitcode,
            floor: arguments.floor,
            baseline,
            write_baseline: arguments.write_baseline.clone(),
        })
    }

    /// What is too small to matter.
    pub(crate) fn floor(&self) -> Floor {
        self.floor
    }

    /// Prints which limits are exceeded; returns the exit status if it is not the program's own.
    pub(crate) fn status(&self, profile: &Profile) -> Result<Option<u8>, Failure> {
        if let Some(path) = &self.write_baseline {
            write(path, profile)?;
        }
        let excess = self.excess_growth(profile)?;
        let new_findings = self.new_findings(profile);
        excess.iter().chain(&new_findings).for_each(|message| eprint(&format!("heaplens: {message}")));
        let is_exceeded = excess.is_some() || !new_findings.is_empty();
        let verdict = profile.tree_verdict();
        let has_lost = || {
            let verdicts = profile.groups().into_iter().map(|group| group.worst().profile.verdict());
            verdicts.chain([verdict]).any(|verdict| verdict == Some(Verdict::Lost))
        };
        let is_leak = (verdict == Some(Verdict::Leak) && self.baseline.is_none())
            || has_lost()
            || !profile.tree_errors().is_empty();
        let succeeded = profile.exit == Some(Exit::Code(0));
        Ok(match self.error_exitcode {
            _ if is_exceeded => Some(self.error_exitcode.unwrap_or(EXCEEDED)),
            Some(code) if is_leak && succeeded => Some(code),
            _ => None,
        })
    }

    /// The message if the memory of a process grows by more than is allowed: that of the process shown, else of the worst other.
    fn excess_growth(&self, profile: &Profile) -> Result<Option<String>, Failure> {
        let Some(limit) = self.max_growth else { return Ok(None) };
        let groups = profile.groups();
        let others = groups.iter().filter(|group| group.is_at_fault() && !group.has(profile.pid));
        let others = others.map(|group| group.worst().profile);
        let mut unknown = None;
        for process in std::iter::once(profile).chain(others) {
            match excess(process, limit) {
                Ok(None) => {}
                Ok(Some(found)) => {
                    let whose = match process.pid {
                        Some(pid) if process.pid != profile.main => format!("memory of process {pid}"),
                        _ => "memory".to_owned(),
                    };
                    let rate =
                        format!("{}/{}", text::size(Bytes::new(found.ceil() as u64)), limit.per.name());
                    return Ok(Some(format!("{whose} grows by {rate}, more than --max-growth {limit}")));
                }
                Err(failure) => unknown = unknown.or(Some(failure)),
            }
        }
        unknown.map_or(Ok(None), Err)
    }

    /// Messages for findings that are not in the baseline, or that grow much faster than there.
    fn new_findings(&self, profile: &Profile) -> Vec<String> {
        let Some((path, baseline)) = &self.baseline else { return Vec::new() };
        let findings = baseline.unknown(profile).into_iter();
        findings
            .map(|finding| format!("finding not covered by the baseline {}: {finding}", path.display()))
            .collect()
    }
}

/// Growth of a process beyond a limit, in its unit.
fn excess(profile: &Profile, limit: GrowthRate) -> Result<Option<f64>, Failure> {
    let found = profile.diagnosis.pace();
    if found <= 0.0 {
        return Ok(None);
    }
    let found = in_unit(profile, found, limit)?;
    Ok(Some(found).filter(|&found| found > limit.bytes.get() as f64))
}

/// Growth, converted to the unit of a limit.
fn in_unit(profile: &Profile, found: f64, limit: GrowthRate) -> Result<f64, Failure> {
    let diagnosis = &profile.diagnosis;
    match (limit.per, diagnosis.how, diagnosis.seconds_per_iteration) {
        (Per::Iteration, How::Loop | How::Marks, _) | (Per::Second, How::Time, _) => Ok(found),
        (Per::Second, _, Some(seconds)) if seconds > 0.0 => Ok(found / seconds),
        (Per::Second, ..) => Ok(f64::INFINITY),
        (Per::Iteration, How::Time, _) => Err(Failure::new(format!(
            "--max-growth {limit} cannot be checked: no iterations were detected, growth is known per second only"
        ))
        .hint(
            "use --max-growth SIZE/second, or call heaplens.mark() in each iteration (heaplens_mark in native code)",
        )),
    }
}

fn read(path: &Path) -> Result<(PathBuf, Baseline), Failure> {
    let unreadable = |why: String| {
        Failure::new(format!("cannot read the baseline {}: {why}", path.display()))
            .hint(format!("heaplens run --write-baseline {} -- PROGRAM writes one", path.display()))
    };
    let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    Ok((path.to_owned(), Baseline::parse(&bytes).map_err(unreadable)?))
}

fn write(path: &Path, profile: &Profile) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    Baseline::of(profile).write(&mut bytes).expect("writing to a Vec cannot fail");
    destination::write(path, &bytes)
        .map_err(|error| Failure::new(format!("cannot write the baseline {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bytes: u64, per: Per) -> GrowthRate {
        GrowthRate { bytes: Bytes::new(bytes), per }
    }

    #[test]
    fn a_growth_rate_has_a_size_and_a_unit() {
        assert_eq!(GrowthRate::parse("1KiB/iteration"), Ok(rate(1024, Per::Iteration)));
        assert_eq!(GrowthRate::parse("2MiB/second"), Ok(rate(2 << 20, Per::Second)));
        assert_eq!(GrowthRate::parse("0/iteration"), Ok(rate(0, Per::Iteration)));
        assert_eq!(GrowthRate::parse("512"), Ok(rate(512, Per::Iteration)));
        assert_eq!(rate(1024, Per::Second).to_string(), "1.00 KiB/second");
    }

    #[test]
    fn a_floor_is_a_size_or_none_or_the_usual_one() {
        assert_eq!(floor("auto"), Ok(Floor::Relative));
        assert_eq!(floor("0"), Ok(Floor::None));
        assert_eq!(floor("512KiB"), Ok(Floor::Bytes(Bytes::new(512 << 10))));
        assert!(floor("low").is_err());
    }

    #[test]
    fn invalid_growth_rates_are_rejected() {
        for text in ["", "/iteration", "1KiB/fortnight", "fast"] {
            assert!(GrowthRate::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn growth_per_iteration_is_converted_by_the_duration_of_an_iteration() {
        let mut profile = Profile::default();
        profile.diagnosis.how = How::Loop;
        profile.diagnosis.seconds_per_iteration = Some(0.5);
        assert_eq!(in_unit(&profile, 100.0, rate(1, Per::Second)), Ok(200.0));
        assert_eq!(in_unit(&profile, 100.0, rate(1, Per::Iteration)), Ok(100.0));
        profile.diagnosis.how = How::Time;
        assert!(in_unit(&profile, 100.0, rate(1, Per::Iteration)).is_err());
    }

    #[test]
    fn without_limits_the_status_is_the_programs_own() {
        let mut profile = Profile::default();
        profile.exit = Some(Exit::Code(0));
        profile.diagnosis.verdict = Some(Verdict::Leak);
        let with = |error_exitcode| Limits { error_exitcode, ..Limits::default() };
        assert_eq!(with(None).status(&profile), Ok(None));
        assert_eq!(with(Some(9)).status(&profile), Ok(Some(9)));
        profile.exit = Some(Exit::Code(3));
        assert_eq!(with(Some(9)).status(&profile), Ok(None), "the program failed by itself");
    }
}
