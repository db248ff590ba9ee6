//! A program of someone else under Memcheck and under `heaplens memcheck`, and what each reports on it in the same terms: amounts by leak
//! kind, and errors by lines of the program's own source. It judges nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use anyhow::{Context, Result};
use serde_json::Value;

/// A program that takes longer is killed.
const SECONDS: &str = "60";
const WORKERS: usize = 2;

/// Definitely, indirectly and possibly lost, by the names in JSON and in Memcheck's summary.
const KINDS: [&str; 3] = ["definitely", "indirectly", "possibly"];

/// What a checker reports on a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// By leak kind; `None` where the program's end was not seen.
    pub lost: Option<[Lost; 3]>,
    /// Each once.
    pub errors: BTreeSet<Mistake>,
}

/// An amount of one leak kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    pub bytes: u64,
    pub blocks: u64,
}

impl std::ops::Add for Lost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, blocks: self.blocks + other.blocks }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.bytes, self.blocks)
    }
}

/// An error by its line. Accesses are those of a block, by the line that allocated it: after the first one its guard page is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    pub what: &'static str,
    pub line: u64,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}", self.what, self.line)
    }
}

/// What is wrong with an access outside of a block, or to one that was freed.
pub const ACCESS: &str = "access to the block of";
/// Memcheck's sentences begin so, the names in JSON are these.
const MISTAKES: [(&str, &str, &str); 4] = [
    ("Invalid free()", "InvalidFree", "bad free in"),
    ("Mismatched free()", "MismatchedFree", "mismatched free in"),
    ("Source and destination overlap", "Overlap", "overlap in"),
    ("Argument '", "FishyValue", "fishy size in"),
];

/// Runs a command that may do anything, for a while and without input.
pub fn output(command: &Command) -> Result<Output> {
    let mut bounded = Command::new("timeout");
    bounded.arg(SECONDS).arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    if let Some(folder) = command.get_current_dir() {
        bounded.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        bounded.env(name, value.unwrap_or_default());
    }
    bounded.output().context("cannot run timeout")
}

/// All that a command printed.
pub fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat()
}

/// Does work for all, a few at a time; the results are in the order of the items.
pub fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let take = || -> Result<()> {
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some(item) = items.get(at) else { return Ok(()) };
            let result = work(item)?;
            done.lock().expect("no worker panics").push((at, result));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(take)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let mut done = done.into_inner().expect("no worker panics");
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// Sources of C and C++ in a folder, in order.
pub fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut found: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()
        .context("cannot read a folder")?;
    found.retain(|path| path.extension().is_some_and(|end| end == "c" || end == "cpp"));
    found.sort();
    Ok(found)
}

/// The compiler of a source, unoptimised and with lines.
pub fn compiler(source: &Path) -> Command {
    let is_cpp = source.extension().is_some_and(|end| end == "cpp");
    let mut compiler = Command::new(if is_cpp { "g++" } else { "gcc" });
    compiler.args(["-g", "-O0", "-w"]);
    compiler
}

/// A source and the program that was built of it.
pub struct TestProgram<'a> {
    pub source: &'a Path,
    pub built: &'a Path,
    pub arguments: &'a [&'a str],
}

impl TestProgram<'_> {
    fn name(&self) -> String {
        self.source.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Under Valgrind's Memcheck. Forked children have logs of their own; what they lose is their parent's as well.
    pub fn under_memcheck(&self) -> Result<Reported> {
        let logs = self.built.with_extension("logs");
        std::fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo $$ > \"$0\"; exec \"$@\""]).arg(logs.join("pid"));
        shell.args(["valgrind", "--leak-check=full", "--show-leak-kinds=all"]);
        shell.arg(format!("--log-file={}/%p", logs.display())).arg(self.built).args(self.arguments);
        output(shell.current_dir(&logs))?;
        let pid = std::fs::read_to_string(logs.join("pid")).context("no process was started")?;
        let mut reported = Reported::default();
        for log in std::fs::read_dir(&logs).context("cannot list logs")? {
            let log = log?.path();
            let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned();
            reported.errors.extend(mistakes_of_memcheck(&text, &self.name()));
            if log.ends_with(pid.trim()) {
                reported.lost = lost_by_memcheck(&text);
            }
        }
        std::fs::remove_dir_all(&logs).context("cannot remove logs")?;
        Ok(reported)
    }

    /// Under `heaplens memcheck`, or another command of it.
    pub fn under_heaplens(&self, heaplens: &Path, words: &[&str]) -> Result<Value> {
        let (report, place) = (self.built.with_extension("json"), self.built.parent());
        let mut command = Command::new(heaplens);
        command
            .args(words)
            .arg("-q")
            .arg("--json")
            .arg(&report)
            .arg("--")
            .arg(self.built)
            .args(self.arguments);
        let ended = output(command.current_dir(place.context("a program lies in a folder")?))?;
        let read = std::fs::read(&report).with_context(|| format!("no report: {}", text(&ended)))?;
        std::fs::remove_file(&report).context("cannot remove a report")?;
        serde_json::from_slice(&read).context("the report is no JSON")
    }

    /// The same in the terms of Memcheck.
    pub fn reported_by_heaplens(&self, heaplens: &Path, words: &[&str]) -> Result<Reported> {
        let report = self.under_heaplens(heaplens, words)?;
        let errors = report["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        let name = self.name();
        let errors = errors.iter().filter_map(|error| mistake_of_heaplens(error, &name)).collect();
        Ok(Reported { lost: lost_by_heaplens(&report["lost"]), errors })
    }
}

/// Amounts of a leak check in a report of Heaplens.
pub fn lost_by_heaplens(lost: &Value) -> Option<[Lost; 3]> {
    let amount = |kind: &str| {
        Some(Lost { bytes: lost[kind]["bytes"].as_u64()?, blocks: lost[kind]["blocks"].as_u64()? })
    };
    let [definitely, indirectly, possibly] = KINDS.map(amount);
    Some([definitely?, indirectly?, possibly?])
}

fn mistake_of_heaplens(error: &Value, source: &str) -> Option<Mistake> {
    let line_in = |stack: &str| {
        let mut frames = error[stack].as_array()?.iter();
        let is_here = |frame: &&Value| frame["file"].as_str().is_some_and(|file| file.ends_with(source));
        frames.find(is_here)?["line"].as_u64()
    };
    match error["kind"].as_str()? {
        "InvalidRead" | "InvalidWrite" => Some(Mistake { what: ACCESS, line: line_in("allocated")? }),
        kind => {
            let (_, _, what) = MISTAKES.iter().find(|(_, name, _)| *name == kind)?;
            Some(Mistake { what, line: line_in("stack").unwrap_or(0) })
        }
    }
}

/// `definitely lost: 1,234 bytes in 5 blocks` and so on, if there was a leak check.
fn lost_by_memcheck(log: &str) -> Option<[Lost; 3]> {
    if log.contains("All heap blocks were freed") {
        return Some([Lost::default(); 3]);
    }
    let amount = |kind: &str| {
        let (_, rest) = log.split_once(&format!("{kind} lost: "))?;
        let mut words = rest.split_whitespace();
        let mut number = || words.next()?.replace(',', "").parse().ok();
        let bytes = number()?;
        words.nth(1);
        Some(Lost { bytes, blocks: words.next()?.replace(',', "").parse().ok()? })
    };
    let [definitely, indirectly, possibly] = KINDS.map(amount);
    Some([definitely?, indirectly?, possibly?])
}

/// Records are separated by lines with nothing but the number of the process.
fn mistakes_of_memcheck(log: &str, source: &str) -> BTreeSet<Mistake> {
    let lines: Vec<&str> =
        log.lines().map(|line| line.split_once("== ").map_or("", |(_, said)| said)).collect();
    lines
        .split(|line| line.trim().is_empty())
        .filter_map(|record| mistake_of_memcheck(record, source))
        .collect()
}

fn mistake_of_memcheck(record: &[&str], source: &str) -> Option<Mistake> {
    let (what, stack) = record.split_first()?;
    let line_in = |frames: &[&str]| frames.iter().find_map(|frame| line_of(frame, source));
    if what.starts_with("Invalid read of") || what.starts_with("Invalid write of") {
        let is_block = |line: &&str| line.ends_with("alloc'd") || line.ends_with("Block was alloc'd at");
        let at = stack.iter().rposition(is_block)?;
        return Some(Mistake { what: ACCESS, line: line_in(&stack[at..])? });
    }
    let (_, _, mistake) = MISTAKES.iter().find(|(begin, _, _)| what.starts_with(begin))?;
    let is_frame = |line: &&&str| ["at 0x", "by 0x"].iter().any(|begin| line.trim().starts_with(begin));
    let frames: Vec<&str> = stack.iter().take_while(is_frame).copied().collect();
    Some(Mistake { what: mistake, line: line_in(&frames).unwrap_or(0) })
}

/// The line in `by 0x109173: main (doublefree.c:10)`.
fn line_of(frame: &str, source: &str) -> Option<u64> {
    let (_, place) = frame.rsplit_once('(')?;
    let (file, line) = place.strip_suffix(')')?.rsplit_once(':')?;
    (file == source).then(|| line.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
==7== Command: ./one\n\
==7== \n\
==7== Invalid free() / delete / delete[] / realloc()\n\
==7==    at 0x484417B: free (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)\n\
==7==    by 0x109173: main (one.c:10)\n\
==7==  Address 0x4a44040 is 0 bytes inside a block of size 177 free'd\n\
==7==    at 0x484417B: free (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)\n\
==7==    by 0x109173: main (one.c:9)\n\
==7==  Block was alloc'd at\n\
==7==    by 0x10915A: main (one.c:8)\n\
==7== \n\
==7== Invalid read of size 1\n\
==7==    at 0x109173: main (one.c:12)\n\
==7==  Address 0x4a44040 is 0 bytes after a block of size 177 alloc'd\n\
==7==    at 0x48417B4: malloc (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)\n\
==7==    by 0x10915A: main (one.c:11)\n\
==7== \n\
==7== Invalid write of size 1\n\
==7==    at 0x109173: main (one.c:13)\n\
==7==  Address 0x0 is not stack'd, malloc'd or (recently) free'd\n\
==7== \n\
==7== LEAK SUMMARY:\n\
==7==    definitely lost: 1,234 bytes in 5 blocks\n\
==7==    indirectly lost: 0 bytes in 0 blocks\n\
==7==      possibly lost: 7 bytes in 1 blocks\n";

    #[test]
    fn a_log_of_memcheck_is_read_as_lines_and_amounts() {
        let errors = mistakes_of_memcheck(LOG, "one.c");
        let named: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(named, ["access to the block of line 11", "bad free in line 10"]);
        let lost = lost_by_memcheck(LOG).expect("there was a leak check");
        assert_eq!(lost.map(|lost| lost.to_string()), ["1234 in 5", "0 in 0", "7 in 1"]);
        assert_eq!(lost_by_memcheck("==7== Process terminating"), None);
    }

    #[test]
    fn a_report_of_heaplens_is_read_in_the_same_terms() {
        let frames =
            |line: u64| serde_json::json!([{"file": null, "line": null}, {"file": "/a/one.c", "line": line}]);
        let error =
            |kind: &str| serde_json::json!({"kind": kind, "stack": frames(10), "allocated": frames(8)});
        let named = |kind| mistake_of_heaplens(&error(kind), "one.c").map(|mistake| mistake.to_string());
        assert_eq!(named("InvalidFree").as_deref(), Some("bad free in line 10"));
        assert_eq!(named("InvalidRead").as_deref(), Some("access to the block of line 8"));
        assert_eq!(named("UninitValue"), None);
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let doubled = each(&[1, 2, 3, 4, 5], |number| Ok(number * 2)).expect("nothing fails");
        assert_eq!(doubled, [2, 4, 6, 8, 10]);
    }
}
