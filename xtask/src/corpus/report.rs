//! What a JSON report (`heaplens-report/1`) says about a corpus program. Reads it and judges nothing; what an older report does not have
//! is absent.

use serde_json::{Value, json};

/// What is said about something that grows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SaidFinding {
    pub rule: String,
    /// Such as `leak (your code)`.
    pub verdict: String,
    /// The file without its folders.
    pub file: Option<String>,
    pub line: Option<u64>,
    pub bytes_per_iteration: f64,
    /// Bytes per iteration that the allocator takes for it beside these.
    pub overhead: f64,
    /// Iterations of its process; `None` where slopes are per second.
    pub iterations: Option<u64>,
    /// The steps of the reference path; none: nothing holds it, or nothing is known.
    pub holder: Vec<String>,
    pub fix: String,
}

impl SaidFinding {
    fn read(value: &Value, iterations: Option<u64>) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let location = &value["location"];
        let steps = value["holder"]["path"].as_array();
        let step = |step: &Value| step.as_str().map(str::to_owned);
        Self {
            rule: text("rule"),
            verdict: text("verdict"),
            file: location["file"].as_str().map(base_name),
            line: location["line"].as_u64(),
            bytes_per_iteration: value["bytes_per_iteration"].as_f64().unwrap_or(0.0),
            overhead: overhead(value),
            iterations,
            holder: steps.map(|steps| steps.iter().filter_map(step).collect()).unwrap_or_default(),
            fix: text("fix"),
        }
    }

    /// Whether it is one that makes the verdict `leak`.
    pub fn is_leak(&self) -> bool {
        self.verdict.starts_with("leak") || self.verdict.contains("unbounded cache")
    }

    fn to_json(&self) -> Value {
        json!({
            "rule": self.rule, "verdict": self.verdict, "file": self.file, "line": self.line,
            "bytes_per_iteration": self.bytes_per_iteration, "holder": self.holder, "fix": self.fix,
        })
    }
}

/// The report of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SaidReport {
    /// The verdict of the whole tree of processes, where the report has one; else that of the page.
    pub verdict: String,
    /// Those of all processes, the largest growth first.
    pub findings: Vec<SaidFinding>,
    /// The first own line of each record of definitely lost blocks, the largest record first.
    pub lost_lines: Vec<(String, u64)>,
    /// Where an iteration was found; of workers that share the work, of all of them.
    pub iterations: Option<u64>,
    /// How long the process lived: the unit of slopes is the second where no iteration was found.
    pub seconds: Option<f64>,
    pub rss_bytes_per_iteration: Option<f64>,
}

impl SaidReport {
    /// Reads a report about the program in this file.
    pub fn read(report: &Value, file: &str) -> Self {
        let tree = report["tree"]["verdict"].as_str();
        let findings = findings(report);
        let records = report["lost"]["records"].as_array().into_iter().flatten();
        let lost = records.filter(|record| record["kind"] == "definitely");
        Self {
            verdict: tree.or(report["verdict"].as_str()).unwrap_or("nothing").to_owned(),
            findings,
            lost_lines: lost.filter_map(|record| own_line(record, file)).collect(),
            iterations: iterations(report),
            seconds: report["ledger_details"]["end"]["at_seconds"].as_f64(),
            rss_bytes_per_iteration: report["rss"]["bytes_per_iteration"].as_f64(),
        }
    }

    /// What a script wants to see of it again.
    pub fn to_json(&self) -> Value {
        json!({
            "verdict": self.verdict, "iterations": self.iterations, "seconds": self.seconds,
            "rss_bytes_per_iteration": self.rss_bytes_per_iteration, "lost_lines": self.lost_lines,
            "findings": self.findings.iter().map(SaidFinding::to_json).collect::<Vec<_>>(),
        })
    }
}

/// The page's, and those of the processes that the page is not about; the largest first, those last that the page only counts: of workers that are equal
/// to the one it is about.
fn findings(report: &Value) -> Vec<SaidFinding> {
    let own = role(report);
    let (equal, others): (Vec<&Value>, Vec<&Value>) = processes(report)
        .filter(|process| process["main"] != true)
        .partition(|process| own.is_some() && process["role"].as_str() == own);
    let of = |whole: &Value| -> Vec<SaidFinding> {
        let findings = whole["findings"].as_array().into_iter().flatten();
        findings.map(|finding| SaidFinding::read(finding, count(whole))).collect()
    };
    let largest_first = |mut findings: Vec<SaidFinding>| {
        findings.sort_by(|one, other| rank(other).total_cmp(&rank(one)));
        findings
    };
    let shown = largest_first(std::iter::once(report).chain(others).flat_map(of).collect());
    let counted = largest_first(equal.into_iter().flat_map(of).collect());
    [shown, counted].concat()
}

/// Its size in steps of five percent: of findings that are as large as each other the page's order decides.
fn rank(finding: &SaidFinding) -> f64 {
    (finding.bytes_per_iteration.max(1.0).ln() / 1.05_f64.ln()).round()
}

/// Those of the page; where it is about one of several equal workers, of all of them together.
fn iterations(report: &Value) -> Option<u64> {
    let own = count(report)?;
    let Some(role) = role(report) else { return Some(own) };
    Some(processes(report).filter(|process| process["role"] == role).filter_map(count).sum())
}

/// What the process does that the page is about, where others do the same.
fn role(report: &Value) -> Option<&str> {
    processes(report).find(|process| process["main"] == true)?["role"].as_str()
}

fn processes(report: &Value) -> impl Iterator<Item = &Value> {
    report["processes"].as_array().into_iter().flatten()
}

fn count(whole: &Value) -> Option<u64> {
    whole["iterations"]["count"].as_u64()
}

fn overhead(finding: &Value) -> f64 {
    let evidence = finding["evidence"].as_array().into_iter().flatten();
    let mut of_allocator =
        evidence.filter(|one| one["what"] == "bytes per iteration that the allocator adds");
    of_allocator.next().and_then(|one| one["value"].as_f64()).unwrap_or(0.0)
}

/// The innermost frame of a record that is in this file.
fn own_line(record: &Value, file: &str) -> Option<(String, u64)> {
    let frames = record["stack"].as_array()?;
    let name = |frame: &Value| frame["file"].as_str().map(base_name);
    let frame = frames.iter().find(|frame| name(frame).as_deref() == Some(file))?;
    Some((file.to_owned(), frame["line"].as_u64()?))
}

fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_has_the_last_word_and_all_processes_are_read() {
        let finding = |line: u32, slope: f64| {
            json!({"rule": "G1", "verdict": "leak (your code)", "bytes_per_iteration": slope,
                   "location": {"file": "/a/b/x.py", "line": line}, "holder": null, "fix": "f"})
        };
        let report = json!({
            "verdict": "clean", "tree": {"verdict": "leak"}, "findings": [finding(1, 5.0)],
            "iterations": {"count": 30},
            "processes": [
                {"main": true, "role": "2 workers", "findings": [finding(1, 5.0)], "iterations": {"count": 30}},
                {"findings": [finding(2, 50.0)], "role": "2 workers", "iterations": {"count": 50}},
                {"findings": [finding(3, 9.0), finding(4, 9.01)], "role": null, "iterations": {"count": 7}},
            ],
        });
        let said = SaidReport::read(&report, "x.py");
        assert_eq!(said.verdict, "leak");
        assert_eq!(said.findings.iter().filter_map(|one| one.line).collect::<Vec<_>>(), [3, 4, 1, 2]);
        assert_eq!(said.findings[0].file.as_deref(), Some("x.py"));
        assert_eq!(
            (said.iterations, said.findings[3].iterations),
            (Some(80), Some(50)),
            "workers share them"
        );
        assert!(said.findings[0].is_leak() && said.findings[0].holder.is_empty());
    }

    #[test]
    fn a_lost_record_is_at_the_innermost_line_of_the_program() {
        let report = json!({"verdict": "lost", "lost": {"records": [{"kind": "still reachable", "stack": [
            {"file": "/p/a.c", "line": 7}]}, {"kind": "definitely", "stack": [
            {"file": "/usr/lib/strdup.c", "line": 9}, {"file": "/p/a.c", "line": 41}, {"file": "/p/a.c", "line": 60},
        ]}]}});
        assert_eq!(SaidReport::read(&report, "a.c").lost_lines, [("a.c".to_owned(), 41)]);
    }
}
