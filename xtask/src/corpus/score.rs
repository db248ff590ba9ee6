//! Scores what a report says against the header and the measured truth of a program. Only compares; the rules are written in
//! `docs/accuracy.md`.

use serde_json::{Value, json};

use super::header::{ExpectedHolder, Growth, Label};
use super::programs::CorpusProgram;
use super::report::{SaidFinding, SaidReport};
use super::truth::Truth;

/// Slopes that are this far off are right.
pub const SLOPE_TOLERANCE: f64 = 0.1;
/// Counts of iterations that are this far off are right: a loop's last iteration may be open at its end.
const COUNT_TOLERANCE: f64 = 0.01;

/// How a report compares with the truth. `None`: there is nothing to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    pub name: String,
    pub class: String,
    pub label: Label,
    pub said: SaidReport,
    /// Whether the verdict is the header's, or for leaks one that is as good.
    pub verdict_right: bool,
    /// Whether the report has the program for a leaking one.
    pub says_leak: bool,
    /// Of programs that grow, where the report has something to say about a line.
    pub line_right: Option<bool>,
    /// Whether the report counted the iterations of the program; `None` where it counts by time.
    pub iterations_right: Option<bool>,
    /// The growth that it tells, relative to the true growth, less one.
    pub slope_error: Option<f64>,
    /// Of programs that grow.
    pub holder_right: Option<bool>,
    /// Of programs that grow, where the header knows a fix and the report gives one.
    pub fix_right: Option<bool>,
}

impl Score {
    /// Scores the report of a run.
    pub fn of(program: &CorpusProgram, truth: Option<&Truth>, iterations: u64, said: SaidReport) -> Self {
        let (header, growth) = (&program.header, program.header.growth.as_ref());
        let says_leak = matches!(said.verdict.as_str(), "leak" | "lost");
        let main = main_finding(&said, header.label);
        let place = |growth: &Growth| line_right(program, growth, main, &said);
        let slopes = |growth: &Growth| TrueSlope {
            allocated: growth.bytes_per_iteration,
            resident: truth.map_or(growth.bytes_per_iteration, |truth| truth.bytes_per_iteration),
        };
        Self {
            name: program.name.clone(),
            class: header.class.clone(),
            label: header.label,
            verdict_right: verdict_right(header.label, &said.verdict),
            says_leak,
            line_right: growth.and_then(place),
            iterations_right: said.iterations.map(|count| is_near(count as f64, iterations as f64)),
            slope_error: growth
                .and_then(|growth| slope_error(slopes(growth), iterations, &said, header.label)),
            holder_right: growth.map(|growth| holder_right(growth, main, &said)),
            fix_right: growth.and_then(|growth| fix_right(growth, main)),
            said,
        }
    }

    /// Whether a healthy program was called leaking.
    fn is_false_alarm(&self) -> bool {
        self.says_leak && !self.label.is_leak()
    }

    /// Whether the slope is as near as promised.
    pub fn slope_right(&self) -> Option<bool> {
        self.slope_error.map(|error| error.abs() <= SLOPE_TOLERANCE)
    }

    /// What is wrong, in words; none: nothing is.
    pub fn complaints(&self) -> Vec<String> {
        let mut found = self.failures();
        let checks = [("line", self.line_right), ("fix", self.fix_right)];
        let wrong = checks.iter().filter(|(_, right)| *right == Some(false));
        found.extend(wrong.map(|(what, _)| (*what).to_owned()));
        if self.iterations_right == Some(false) {
            found.push(format!("{} iterations said", self.said.iterations.unwrap_or(0)));
        }
        found
    }

    /// What fails a test, of that: the verdict, the holder and how fast memory grows.
    pub fn failures(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !self.verdict_right {
            let kind = if self.is_false_alarm() { "false alarm: " } else { "" };
            found.push(format!("{kind}verdict {}, said {}", self.label.name(), self.said.verdict));
        }
        if self.holder_right == Some(false) {
            found.push("holder".to_owned());
        }
        if self.slope_right() == Some(false) {
            found.push(format!("slope {:+.0} %", self.slope_error.unwrap_or(0.0) * 100.0));
        }
        found
    }

    /// All of it, for scripts.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name, "class": self.class, "expected": self.label.name(), "said": self.said.to_json(),
            "verdict_right": self.verdict_right, "line_right": self.line_right,
            "iterations_right": self.iterations_right, "slope_error": self.slope_error,
            "holder_right": self.holder_right, "fix_right": self.fix_right, "complaints": self.complaints(),
        })
    }
}

/// `leak` and `lost` are as good as each other: both are found, and both fail a build.
fn verdict_right(label: Label, said: &str) -> bool {
    match label {
        Label::Leak | Label::Lost => matches!(said, "leak" | "lost"),
        Label::Growth => said == "growth",
        Label::Plateau | Label::Clean => matches!(said, "plateau" | "clean"),
    }
}

/// The largest finding that the verdict rests on.
fn main_finding(said: &SaidReport, label: Label) -> Option<&SaidFinding> {
    let leak = said.findings.iter().find(|finding| finding.is_leak());
    if label == Label::Growth { leak.or(said.findings.first()) } else { leak }
}

fn line_right(
    program: &CorpusProgram,
    growth: &Growth,
    main: Option<&SaidFinding>,
    said: &SaidReport,
) -> Option<bool> {
    let is_one = |line: u64| growth.lines.iter().any(|&known| u64::from(known) == line);
    match main {
        Some(finding) => {
            Some(finding.file.as_deref() == Some(program.file()) && finding.line.is_some_and(is_one))
        }
        None => said.lost_lines.first().map(|(_, line)| is_one(*line)).filter(|_| said.verdict == "lost"),
    }
}

/// True growth per iteration.
#[derive(Clone, Copy, Debug)]
struct TrueSlope {
    allocated: f64,
    resident: f64,
}

/// The growth that all findings which matter tell, against the true one: that of the allocated bytes, or of the resident ones, or what is
/// between them, since a report may speak of either; or with what the report says that the allocator takes besides, against the resident ones. All are
/// totals of the run: one that counts by seconds, or by another loop, may be right.
fn slope_error(truth: TrueSlope, iterations: u64, said: &SaidReport, label: Label) -> Option<f64> {
    let matters = |finding: &&SaidFinding| finding.is_leak() || label == Label::Growth;
    let total = |finding: &SaidFinding| {
        let units = finding.iterations.map(|count| count as f64).or(said.seconds)?;
        Some(
            [finding.bytes_per_iteration, finding.bytes_per_iteration + finding.overhead]
                .map(|bytes| bytes * units),
        )
    };
    let totals: Vec<[f64; 2]> = said.findings.iter().filter(matters).map(total).collect::<Option<_>>()?;
    let said_slope = |at: usize| totals.iter().map(|total| total[at]).sum::<f64>() / iterations as f64;
    let (allocated, resident) = (said_slope(0), said_slope(1));
    let low = truth.allocated.min(truth.resident);
    let errors = || {
        let of_either = allocated / allocated.clamp(low, truth.allocated.max(truth.resident)) - 1.0;
        [of_either, resident / truth.resident - 1.0]
            .into_iter()
            .min_by(|one, other| one.abs().total_cmp(&other.abs()))
    };
    (!totals.is_empty() && low > 0.0).then(errors).flatten()
}

fn holder_right(growth: &Growth, main: Option<&SaidFinding>, said: &SaidReport) -> bool {
    match (&growth.holder, main) {
        // Some rules say it in words.
        (ExpectedHolder::Nobody, Some(finding)) => {
            finding.holder.iter().all(|step| step.starts_with("no one: "))
        }
        (ExpectedHolder::Nobody, None) => said.verdict == "lost",
        (ExpectedHolder::Words(words), Some(finding)) => {
            let path = finding.holder.join(" → ").to_lowercase();
            words.iter().all(|word| path.contains(&word.to_lowercase()))
        }
        (ExpectedHolder::Words(_), None) => false,
    }
}

fn fix_right(growth: &Growth, main: Option<&SaidFinding>) -> Option<bool> {
    let said = main.map(|finding| finding.fix.to_lowercase()).filter(|fix| !fix.is_empty())?;
    let is_said =
        |word: &String| said.contains(&word.to_lowercase()) || (word == "bound" && said.contains("limit"));
    (!growth.fix.is_empty()).then(|| growth.fix.iter().any(is_said))
}

fn is_near(said: f64, truth: f64) -> bool {
    (said - truth).abs() <= (COUNT_TOLERANCE * truth).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::header::Header;
    use super::*;

    fn program(label: Label, holder: ExpectedHolder) -> CorpusProgram {
        let fix = vec!["maxsize".to_owned(), "bound".to_owned()];
        let growth = Growth { lines: vec![23], bytes_per_iteration: 1000.0, holder, fix };
        let growth = label.grows().then_some(growth);
        let header = Header { cause: "x".into(), class: "c".into(), label, growth, needs: Vec::new() };
        CorpusProgram { name: "c/a.py".to_owned(), header }
    }

    fn words() -> ExpectedHolder {
        ExpectedHolder::Words(vec!["cache".into()])
    }

    fn finding(line: u64, slope: f64, holder: &[&str], fix: &str) -> SaidFinding {
        SaidFinding {
            verdict: "leak (your code)".into(),
            file: Some("a.py".into()),
            line: Some(line),
            bytes_per_iteration: slope,
            holder: holder.iter().map(|step| (*step).to_owned()).collect(),
            fix: fix.into(),
            ..SaidFinding::default()
        }
    }

    fn score(label: Label, holder: ExpectedHolder, said: SaidReport) -> Score {
        Score::of(&program(label, holder), None, 500, said)
    }

    fn said(verdict: &str, iterations: Option<u64>, findings: Vec<SaidFinding>) -> SaidReport {
        let findings = findings.into_iter().map(|finding| SaidFinding { iterations, ..finding }).collect();
        SaidReport {
            verdict: verdict.into(),
            iterations,
            findings,
            seconds: Some(2.0),
            ..SaidReport::default()
        }
    }

    #[test]
    fn a_right_page_has_no_complaints() {
        let main = finding(23, 950.0, &["module a", "the_Cache"], "Set maxsize");
        let score =
            score(Label::Leak, words(), said("leak", Some(499), vec![main, finding(9, 60.0, &[], "")]));
        assert_eq!(score.complaints(), Vec::<String>::new());
        assert_eq!(
            (score.line_right, score.holder_right, score.fix_right),
            (Some(true), Some(true), Some(true))
        );
        assert!(score.slope_error.unwrap().abs() < 0.01);
    }

    #[test]
    fn a_missed_leak_has_no_holder_and_no_line() {
        let score = score(Label::Leak, words(), said("plateau", Some(500), vec![]));
        assert_eq!(score.complaints(), ["verdict leak, said plateau", "holder"]);
        assert_eq!((score.line_right, score.slope_error, score.fix_right), (None, None, None));
    }

    #[test]
    fn wrong_lines_slopes_and_counts_are_told() {
        let main = finding(24, 2000.0, &["cache"], "call gc.collect()");
        let score = score(Label::Leak, words(), said("leak", Some(1000), vec![main]));
        assert_eq!(score.complaints(), ["slope +300 %", "line", "fix", "1000 iterations said"]);
    }

    #[test]
    fn a_program_without_loops_is_compared_by_the_seconds_it_ran() {
        let main = finding(23, 250_000.0, &["cache"], "bound it");
        let score = score(Label::Leak, words(), said("leak", None, vec![main]));
        assert_eq!((score.iterations_right, score.slope_error), (None, Some(0.0)));
    }

    #[test]
    fn slopes_of_allocated_and_of_resident_bytes_are_both_right() {
        let error = |slope: f64| {
            let said = said("leak", Some(500), vec![finding(23, slope, &[], "")]);
            slope_error(TrueSlope { allocated: 1000.0, resident: 1250.0 }, 500, &said, Label::Leak).unwrap()
        };
        assert_eq!([error(1000.0), error(1100.0), error(1250.0)], [0.0; 3]);
        assert_eq!([error(500.0), error(2500.0)], [-0.5, 1.0]);
    }

    #[test]
    fn what_the_allocator_takes_besides_counts_against_resident_bytes() {
        let error = |slope: f64, overhead: f64| {
            let found = SaidFinding { overhead, ..finding(23, slope, &[], "") };
            let truth = TrueSlope { allocated: 2000.0, resident: 2000.0 };
            slope_error(truth, 500, &said("leak", Some(500), vec![found]), Label::Leak).unwrap()
        };
        assert_eq!([error(1500.0, 500.0), error(2000.0, 500.0), error(1000.0, 500.0)], [0.0, 0.0, -0.25]);
    }

    #[test]
    fn lost_blocks_are_found_by_either_verdict_and_held_by_nobody() {
        let lost = SaidReport { lost_lines: vec![("a.py".into(), 23)], ..said("lost", None, vec![]) };
        let score = |said| score(Label::Lost, ExpectedHolder::Nobody, said);
        assert_eq!(score(lost).complaints(), Vec::<String>::new());
        let held = said("leak", Some(500), vec![finding(23, 1000.0, &["main"], "bound it")]);
        assert_eq!(score(held).complaints(), ["holder"]);
        let counted = &["no one: only its reference count"];
        let counted = said("leak", Some(500), vec![finding(23, 1000.0, counted, "bound it")]);
        assert_eq!(score(counted).complaints(), Vec::<String>::new());
    }

    #[test]
    fn a_healthy_program_is_clean_or_a_plateau_and_nothing_else() {
        let of = |verdict: &str| score(Label::Clean, words(), said(verdict, Some(500), vec![]));
        assert!(of("plateau").verdict_right && of("clean").complaints().is_empty());
        assert!(!of("growth").verdict_right && !of("growth").is_false_alarm());
        assert!(of("leak").is_false_alarm() && of("lost").is_false_alarm());
        assert_eq!(of("leak").holder_right, None);
    }
}
