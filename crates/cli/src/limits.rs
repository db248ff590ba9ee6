//! Limits that make a run fail: how fast it may grow, what is known to grow, and the exit status that says so.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use heaplens_analyze::Profile;
use heaplens_analyze::growth::{How, Verdict};
use heaplens_format::Bytes;
use heaplens_format::recording::Exit;
use heaplens_report::baseline::Baseline;
use heaplens_report::text;

use crate::destination;
use crate::failure::{Failure, tell};
use crate::size;

/// The status of a limit that is exceeded, where the user gave none.
const EXCEEDED: u8 = 1;

/// What makes a run fail: for builds that must not grow.
#[derive(Debug, Default, Args)]
pub(crate) struct LimitArguments {
    /// Fail when memory grows by more than SIZE, per iteration or per second (1KiB/iteration, 2MiB/second)
    #[arg(long, help_heading = "Limits", value_name = "SIZE/UNIT", value_parser = Pace::parse)]
    max_growth: Option<Pace>,
    /// Exit with N when the verdict is a leak or lost and the program itself succeeded, or when a limit is exceeded
    #[arg(long, help_heading = "Limits", value_name = "N")]
    error_exitcode: Option<u8>,
    /// Fail when something grows that FILE does not know
    #[arg(long, help_heading = "Limits", value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write what grows to FILE, for --baseline
    #[arg(long, help_heading = "Limits", value_name = "FILE")]
    write_baseline: Option<PathBuf>,
}

/// So many bytes in each iteration, or second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    bytes: Bytes,
    per: Per,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Per {
    Iteration,
    Second,
}

impl Pace {
    /// `1KiB/iteration`, `2MiB/second`, `0/iteration`; an iteration where nothing else is said.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (amount, unit) = text.split_once('/').unwrap_or((text, "iteration"));
        let per = match unit.trim() {
            "iteration" => Per::Iteration,
            "second" | "s" => Per::Second,
            other => return Err(format!("growth is limited per iteration or per second, not per '{other}'")),
        };
        let bytes = if amount.trim() == "0" { Bytes::ZERO } else { size::parse(amount.trim())? };
        Ok(Self { bytes, per })
    }
}

impl fmt::Display for Pace {
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

/// The limits of a run, read before it begins.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    max_growth: Option<Pace>,
    error_exitcode: Option<u8>,
    baseline: Option<(PathBuf, Baseline)>,
    write_baseline: Option<PathBuf>,
}

impl Limits {
    /// Reads the baseline and asks whether the new one can be written.
    pub(crate) fn prepare(typed: &LimitArguments) -> Result<Self, Failure> {
        if let Some(path) = &typed.write_baseline {
            destination::check(path)?;
        }
        let baseline = typed.baseline.as_deref().map(read).transpose()?;
        Ok(Self {
            max_growth: typed.max_growth,
            error_exitcode: typed.error_exitcode,
            baseline,
            write_baseline: typed.write_baseline.clone(),
        })
    }

    /// Says which limits are exceeded; the exit status, where it is not the program's own.
    pub(crate) fn status(&self, profile: &Profile) -> Result<Option<u8>, Failure> {
        if let Some(path) = &self.write_baseline {
            write(path, profile)?;
        }
        let too_fast = self.too_fast(profile)?;
        let unknown = self.unknown(profile);
        too_fast.iter().chain(&unknown).for_each(|words| tell(&format!("heaplens: {words}")));
        let is_exceeded = too_fast.is_some() || !unknown.is_empty();
        let is_leak = match profile.verdict() {
            Some(Verdict::Leak) => self.baseline.is_none(),
            verdict => verdict == Some(Verdict::Lost),
        };
        let succeeded = profile.exit == Some(Exit::Code(0));
        Ok(match self.error_exitcode {
            _ if is_exceeded => Some(self.error_exitcode.unwrap_or(EXCEEDED)),
            Some(code) if is_leak && succeeded => Some(code),
            _ => None,
        })
    }

    /// Why the growth is more than is allowed.
    fn too_fast(&self, profile: &Profile) -> Result<Option<String>, Failure> {
        let Some(limit) = self.max_growth else { return Ok(None) };
        let found = profile.growth.pace();
        if found <= 0.0 {
            return Ok(None);
        }
        let found = in_unit(profile, found, limit)?;
        let words = || format!("{}/{}", text::size(Bytes::new(found.ceil() as u64)), limit.per.name());
        Ok((found > limit.bytes.get() as f64)
            .then(|| format!("memory grows {}, which is more than --max-growth {limit} allows", words())))
    }

    /// What grows that the baseline does not know.
    fn unknown(&self, profile: &Profile) -> Vec<String> {
        let Some((path, baseline)) = &self.baseline else { return Vec::new() };
        let unknown = baseline.unknown(profile).into_iter();
        unknown.map(|what| format!("{what}: it grows, and {} does not know it", path.display())).collect()
    }
}

/// Growth in the unit of a limit.
fn in_unit(profile: &Profile, found: f64, limit: Pace) -> Result<f64, Failure> {
    let growth = &profile.growth;
    match (limit.per, growth.how, growth.seconds_per_iteration) {
        (Per::Iteration, How::Loop | How::Marks, _) | (Per::Second, How::Time, _) => Ok(found),
        (Per::Second, _, Some(seconds)) if seconds > 0.0 => Ok(found / seconds),
        (Per::Second, ..) => Ok(f64::INFINITY),
        (Per::Iteration, How::Time, _) => Err(Failure::new(format!(
            "--max-growth {limit} cannot be checked: no iterations were found, only growth per second"
        ))
        .hint(
            "--max-growth SIZE/second, or heaplens.mark() in each iteration (heaplens_mark in native code)",
        )),
    }
}

fn read(path: &Path) -> Result<(PathBuf, Baseline), Failure> {
    let unreadable = |why: String| {
        Failure::new(format!("cannot read the baseline {}: {why}", path.display()))
            .hint(format!("heaplens run --write-baseline {} -- PROGRAM makes one", path.display()))
    };
    let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    Ok((path.to_owned(), Baseline::parse(&bytes).map_err(unreadable)?))
}

fn write(path: &Path, profile: &Profile) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    Baseline::of(profile).write(&mut bytes).expect("writing to memory does not fail");
    destination::write(path, &bytes)
        .map_err(|error| Failure::new(format!("cannot write the baseline {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(bytes: u64, per: Per) -> Pace {
        Pace { bytes: Bytes::new(bytes), per }
    }

    #[test]
    fn a_limit_has_a_size_and_what_it_is_per() {
        assert_eq!(Pace::parse("1KiB/iteration"), Ok(pace(1024, Per::Iteration)));
        assert_eq!(Pace::parse("2MiB/second"), Ok(pace(2 << 20, Per::Second)));
        assert_eq!(Pace::parse("0/iteration"), Ok(pace(0, Per::Iteration)));
        assert_eq!(Pace::parse("512"), Ok(pace(512, Per::Iteration)));
        assert_eq!(pace(1024, Per::Second).to_string(), "1.00 KiB/second");
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        for text in ["", "/iteration", "1KiB/fortnight", "fast"] {
            assert!(Pace::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn growth_per_iteration_is_told_per_second_by_how_long_one_takes() {
        let mut profile = Profile::default();
        profile.growth.how = How::Loop;
        profile.growth.seconds_per_iteration = Some(0.5);
        assert_eq!(in_unit(&profile, 100.0, pace(1, Per::Second)), Ok(200.0));
        assert_eq!(in_unit(&profile, 100.0, pace(1, Per::Iteration)), Ok(100.0));
        profile.growth.how = How::Time;
        assert!(in_unit(&profile, 100.0, pace(1, Per::Iteration)).is_err());
    }

    #[test]
    fn without_limits_the_status_is_the_programs_own() {
        let mut profile = Profile::default();
        profile.exit = Some(Exit::Code(0));
        profile.growth.verdict = Some(Verdict::Leak);
        let with = |error_exitcode| Limits { error_exitcode, ..Limits::default() };
        assert_eq!(with(None).status(&profile), Ok(None));
        assert_eq!(with(Some(9)).status(&profile), Ok(Some(9)));
        profile.exit = Some(Exit::Code(3));
        assert_eq!(with(Some(9)).status(&profile), Ok(None), "the program failed by itself");
    }
}
