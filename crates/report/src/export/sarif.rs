//! Memory errors and findings as SARIF 2.1.0, which code hosts show beside the lines: one rule for each cause that was found, one result for each
//! finding, and one for each stack whose blocks the program can no longer reach; of processes that did the same, the worst one's. A result is recognised in another run by what
//! does not change when lines move: its rule, the name of the file, the function and the text of the line.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use heaplens_analyze::Profile;
use heaplens_analyze::diagnose::Finding;
use heaplens_analyze::profile::{AnalysedError, LeakRecord, Leaks, StackFrame};
use heaplens_format::recording::LeakKind;
use serde_json::{Value, json};

use super::uri::{Root, hash};
use crate::catalogue::evidence;
use crate::catalogue::source::source_line;
use crate::catalogue::stack::label::{file_name, label};
use crate::catalogue::wording::plural;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// Frames of a stack.
const DEPTH: usize = 50;
/// Stacks of lost blocks.
const MOST_LOST: usize = 100;
/// Names the method of fingerprinting: another method needs another name.
const FINGERPRINT: &str = "heaplensCause/v1";

/// Writes the log. Paths of files below `folder` are relative to it.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, folder: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut log = Log { profile, root: Root::new(folder), rules: BTreeMap::new(), seen: HashMap::new() };
    let groups = profile.groups();
    let others = groups.iter().filter(|group| group.is_at_fault() && !group.has(profile.pid));
    let processes = std::iter::once(profile).chain(others.map(|group| group.worst().profile));
    let errors = profile.tree_errors().into_iter().map(|(_, error)| memory_error(error));
    let found: Vec<Cause<'_>> = errors.chain(processes.flat_map(causes)).collect();
    let results: Vec<Value> = found.iter().map(|cause| log.result(cause)).collect();
    let rules: Vec<&Value> = log.rules.values().collect();
    let driver = json!({ "name": "Heaplens", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
    let run = json!({
        "tool": { "driver": driver },
        "invocations": [{ "executionSuccessful": true, "commandLine": profile.run.command.join(" ") }],
        "originalUriBaseIds": { Root::ID: { "uri": log.root.uri() } },
        "columnKind": "unicodeCodePoints",
        "results": results,
    });
    let whole = json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] });
    serde_json::to_writer_pretty(&mut *out, &whole)?;
    writeln!(out)
}

/// All that is wrong with a process but its memory errors.
fn causes(profile: &Profile) -> impl Iterator<Item = Cause<'_>> {
    let grown = profile.diagnosis.findings.iter().map(|finding| growth(profile, finding));
    grown.chain(lost(profile))
}

/// The content of a result.
struct Cause<'a> {
    rule: (&'static str, &'static str),
    level: &'static str,
    title: String,
    help: Cow<'static, str>,
    /// Further reading.
    reference: Option<&'static str>,
    text: String,
    line: Option<&'a StackFrame>,
    stack: Vec<&'a StackFrame>,
    properties: Value,
}

fn memory_error(error: &AnalysedError) -> Cause<'_> {
    let rule = match &*error.memcheck_kind {
        "InvalidFree" => ("E1", "invalid-free"),
        "MismatchedFree" => ("E2", "mismatched-free"),
        "InvalidWrite" => ("E3", "invalid-write"),
        "InvalidRead" => ("E4", "invalid-read"),
        "UninitCondition" | "UninitValue" => ("E5", "uninitialised-value"),
        "Overlap" => ("E6", "overlap"),
        "InvalidJump" => ("E8", "invalid-jump"),
        _ => ("E7", "bad-argument"),
    };
    let aux = if error.aux.is_empty() { String::new() } else { format!(" {}.", error.aux) };
    Cause {
        rule,
        level: "error",
        title: error.what.clone(),
        help: Cow::Borrowed(
            "the message names the block; the related stacks are in the text and JSON reports",
        ),
        reference: None,
        text: format!("{}: {}.{aux}", error.brief, error.what),
        line: error.line(),
        stack: error.stack.iter().collect(),
        properties: json!({
            "memcheckKind": error.memcheck_kind,
            "bytes": error.bytes,
            "count": error.count,
            "engine": error.engine.name(),
        }),
    }
}

fn growth<'a>(profile: &'a Profile, finding: &Finding) -> Cause<'a> {
    let verdict = finding.verdict(profile);
    let level = match &*verdict {
        verdict if verdict.starts_with("leak") => "error",
        "bounded cache, still filling" => "note",
        _ => "warning",
    };
    let (pace, per) = (finding.trend.slope.value, evidence::per(profile));
    let share =
        finding.share.map_or_else(String::new, |share| format!(", {:.0} % of the growth", 100.0 * share));
    let (title, fix) = (finding.title(profile), finding.fix(profile));
    // A rule is described once, for all of its findings.
    let of_rule = Finding { kept_by: None, ..finding.clone() };
    let name = evidence::mapping(finding).map_or_else(String::new, |name| format!(" ({name})"));
    let stack =
        finding.representative.map(|representative| profile.stack(&profile.sites[representative]).collect());
    Cause {
        rule: (finding.rule.id, finding.rule.name),
        level,
        title: of_rule.title(profile).into_owned(),
        help: of_rule.fix(profile),
        reference: finding.rule.references.first().copied(),
        text: format!("{title}{name}: {pace:.0} bytes per {per}{share}. Verdict: {verdict}. Fix: {fix}."),
        line: finding.line(profile),
        stack: stack.unwrap_or_default(),
        properties: json!({
            "verdict": verdict,
            "layer": finding.layer_name(),
            "per": per,
            "bytesPerIteration": pace,
            "shareOfGrowth": finding.share,
            "liveBytes": finding.live.bytes.get(),
            "liveBlocks": finding.live.blocks,
        }),
    }
}

/// The largest definitely and possibly lost records.
fn lost(profile: &Profile) -> impl Iterator<Item = Cause<'_>> {
    let records: &[LeakRecord] = match &profile.leaks {
        Some(Leaks::Done(records)) => records,
        Some(Leaks::NotDone(_)) | None => &[],
    };
    let is_below_floor = profile.lost_below_floor().is_some();
    let is_reported =
        move |record: &&LeakRecord| !(is_below_floor && record.kind == LeakKind::DefinitelyLost);
    records.iter().filter(is_reported).filter_map(|record| lost_record(profile, record)).take(MOST_LOST)
}

fn lost_record<'a>(profile: &'a Profile, record: &LeakRecord) -> Option<Cause<'a>> {
    let (rule, level, title) = match record.kind {
        LeakKind::DefinitelyLost => {
            (("L1", "definitely-lost"), "error", "Definitely lost: no pointers to these blocks remain")
        }
        LeakKind::PossiblyLost => {
            (("L2", "possibly-lost"), "note", "Possibly lost: only interior pointers to these blocks remain")
        }
        _ => return None,
    };
    let (bytes, blocks) = (record.bytes(), record.direct.blocks);
    let noun = plural(blocks, "block");
    Some(Cause {
        rule,
        level,
        title: title.to_string(),
        help: Cow::Borrowed("free the blocks, or keep a pointer to them"),
        reference: None,
        text: format!("{title}. {bytes} bytes are lost with the {blocks} {noun} allocated at this line."),
        line: profile.line_of(record.stack),
        stack: profile.frames(record.stack).collect(),
        properties: json!({
            "bytes": record.direct.bytes.get(),
            "blocks": blocks,
            "indirectBytes": record.indirect.bytes.get(),
            "indirectBlocks": record.indirect.blocks,
        }),
    })
}

fn rule((id, name): (&str, &str), cause: &Cause<'_>) -> Value {
    let mut rule = json!({
        "id": id,
        "name": name,
        "shortDescription": { "text": cause.title },
        "help": { "text": cause.help },
        "defaultConfiguration": { "level": cause.level },
    });
    if let Some(reference) = cause.reference {
        rule["helpUri"] = json!(reference);
    }
    rule
}

struct Log<'a> {
    profile: &'a Profile,
    root: Root,
    rules: BTreeMap<&'static str, Value>,
    /// How often a fingerprint occurred.
    seen: HashMap<u64, u32>,
}

impl Log<'_> {
    fn result(&mut self, cause: &Cause<'_>) -> Value {
        let (id, name) = cause.rule;
        self.rules.entry(id).or_insert_with(|| rule((id, name), cause));
        let frames: Vec<Value> = cause.stack.iter().take(DEPTH).map(|frame| self.frame(frame)).collect();
        let stacks = if frames.is_empty() { json!([]) } else { json!([{ "frames": frames }]) };
        json!({
            "ruleId": id,
            "level": cause.level,
            "message": { "text": cause.text },
            "locations": cause.line.map(|line| vec![self.location(line)]).unwrap_or_default(),
            "stacks": stacks,
            "partialFingerprints": { FINGERPRINT: self.fingerprint(cause) },
            "properties": cause.properties,
        })
    }

    fn frame(&self, frame: &StackFrame) -> Value {
        let mut value = json!({ "location": self.location(frame) });
        if let Some(module) = &frame.module {
            value["module"] = json!(file_name(module));
        }
        value
    }

    fn location(&self, frame: &StackFrame) -> Value {
        let mut location = json!({
            "logicalLocations": [{ "fullyQualifiedName": label(frame), "kind": "function" }],
        });
        if let Some(place) = frame.file.as_deref().and_then(|file| self.root.location(file)) {
            let mut physical = json!({ "artifactLocation": place });
            if let Some(line) = frame.line.filter(|&line| line > 0) {
                physical["region"] = json!({ "startLine": line });
            }
            location["physicalLocation"] = physical;
        }
        location
    }

    /// Causes with the same fingerprint are numbered.
    fn fingerprint(&mut self, cause: &Cause<'_>) -> String {
        let line = cause.line;
        let file = line.and_then(|frame| frame.file.as_deref().or(frame.module.as_deref())).map(file_name);
        let function = line.and_then(|frame| frame.function.as_deref());
        let text = line.and_then(|frame| {
            source_line(frame.file.as_deref()?, frame.line?, self.profile.run.started_unix)
        });
        let parts = [Some(cause.rule.0), file, function, text.as_deref()].map(Option::unwrap_or_default);
        let number = hash(&parts.join("\n"));
        let count = self.seen.entry(number).or_default();
        *count += 1;
        format!("{number:016x}:{count}")
    }
}
