//! Known findings: a small JSON file that a build keeps, so that only new findings fail it. A finding is recognised by what
//! does not change when lines move: its rule, the name of the file, the function, and the text of the line.

use std::io::{self, Write};

use heaplens_analyze::Profile;
use heaplens_analyze::diagnose::Finding;

use crate::catalogue::evidence;
use crate::catalogue::stack::label::{file_name, label};

const SCHEMA: &str = "heaplens-baseline/1";
/// Known growth may become faster by this factor; more is new.
const FASTER: f64 = 2.0;

/// Known findings.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Baseline {
    schema: String,
    findings: Vec<Known>,
}

/// The stable part of a finding.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Known {
    rule: String,
    file: Option<String>,
    function: Option<String>,
    source: Option<String>,
    per: String,
    bytes: f64,
}

impl Known {
    fn of(profile: &Profile, finding: &Finding) -> Self {
        let line = finding.line(profile);
        let file = line.and_then(|frame| frame.file.as_deref().or(frame.module.as_deref()));
        Self {
            rule: finding.rule.id.to_owned(),
            file: file.map(|file| file_name(file).to_owned()),
            function: line.map(|frame| frame.function.as_deref().map_or_else(|| label(frame), str::to_owned)),
            source: evidence::source(profile, finding).or_else(|| finding.mapping.clone()),
            per: evidence::per(profile).to_owned(),
            bytes: finding.trend.slope.value,
        }
    }

    fn covers(&self, other: &Self) -> bool {
        let key = |one: &Self| (one.rule.clone(), one.file.clone(), one.function.clone(), one.per.clone());
        // The text is not to be had where the source was changed since, or is elsewhere.
        let is_same_text = self.source.is_none() || other.source.is_none() || self.source == other.source;
        key(self) == key(other) && is_same_text && other.bytes <= FASTER * self.bytes
    }

    fn words(&self) -> String {
        let location =
            [self.function.as_deref(), self.file.as_deref()].into_iter().flatten().collect::<Vec<_>>();
        let source = self.source.as_deref().map_or_else(String::new, |source| format!(": {source}"));
        let location =
            if location.is_empty() { "unknown location".to_owned() } else { location.join(" in ") };
        format!("{} {location}{source}", self.rule)
    }
}

impl Baseline {
    /// The findings of all processes; those that several processes have, once.
    pub fn of(profile: &Profile) -> Self {
        let of = |process: &Profile| -> Vec<Known> {
            process.diagnosis.findings.iter().map(|finding| Known::of(process, finding)).collect()
        };
        let mut findings = of(profile);
        for found in profile.others.iter().flat_map(of) {
            if !findings.iter().any(|known| known.covers(&found)) {
                findings.push(found);
            }
        }
        Self { schema: SCHEMA.to_owned(), findings }
    }

    /// Reads a baseline.
    ///
    /// # Errors
    /// When the bytes are no baseline.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let found: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if found.schema == SCHEMA {
            Ok(found)
        } else {
            Err(format!("its schema is '{}', not '{SCHEMA}'", found.schema))
        }
    }

    /// Writes it, a finding a line, so that a diff shows what changed.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    /// The findings that are not in the baseline, in words.
    pub fn unknown(&self, profile: &Profile) -> Vec<String> {
        let found = Self::of(profile).findings;
        let is_new = |one: &&Known| !self.findings.iter().any(|known| known.covers(one));
        found.iter().filter(is_new).map(Known::words).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(bytes: f64) -> Known {
        Known {
            rule: "G1".into(),
            file: Some("train.py".into()),
            function: Some("step".into()),
            source: Some("rows.append(load())".into()),
            per: "iteration".into(),
            bytes,
        }
    }

    #[test]
    fn growth_is_known_by_its_text_and_not_by_its_line() {
        assert!(known(100.0).covers(&known(150.0)));
        assert!(!known(100.0).covers(&Known { source: Some("x = 1".into()), ..known(100.0) }));
        assert!(!known(100.0).covers(&Known { rule: "G2".into(), ..known(100.0) }));
        assert!(known(100.0).covers(&Known { source: None, ..known(100.0) }), "the text is not to be had");
    }

    #[test]
    fn known_growth_that_became_much_faster_is_new() {
        assert!(!known(100.0).covers(&known(201.0)));
    }

    #[test]
    fn what_is_written_can_be_read_and_other_files_are_refused() {
        let baseline = Baseline { schema: SCHEMA.into(), findings: vec![known(1.5)] };
        let mut bytes = Vec::new();
        baseline.write(&mut bytes).unwrap();
        assert_eq!(Baseline::parse(&bytes), Ok(baseline));
        assert!(
            Baseline::parse(b"{\"schema\": \"other\", \"findings\": []}").unwrap_err().contains("'other'")
        );
        assert!(Baseline::parse(b"text").is_err());
    }
}
