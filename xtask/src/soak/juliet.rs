//! NIST's Juliet test suite for C and C++: its cases of wrong frees, overruns, uses after free and leaks, against Memcheck and
//! AddressSanitizer. Whoever runs it says where it was unpacked; nothing of it is kept here. Each case is built with its flaw and without.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::checkers::{compiler, each, output, text};
use crate::check::Count;
use crate::workspace::{heaplens, root};

/// A weakness of the list at cwe.mitre.org that cases are of.
struct Weakness {
    folder: &'static str,
    /// What the name of a case contains, where only some are about the heap.
    of_heap: &'static [&'static str],
    is_leak: bool,
}

const fn weakness(folder: &'static str) -> Weakness {
    Weakness { folder, of_heap: &[""], is_leak: false }
}

const HEAP: &[&str] = &["__malloc_", "__new_"];
const WEAKNESSES: [Weakness; 10] = [
    weakness("CWE122_Heap_Based_Buffer_Overflow"),
    Weakness { of_heap: HEAP, ..weakness("CWE124_Buffer_Underwrite") },
    Weakness { of_heap: HEAP, ..weakness("CWE126_Buffer_Overread") },
    Weakness { of_heap: HEAP, ..weakness("CWE127_Buffer_Underread") },
    Weakness { is_leak: true, ..weakness("CWE401_Memory_Leak") },
    weakness("CWE415_Double_Free"),
    weakness("CWE416_Use_After_Free"),
    weakness("CWE590_Free_Memory_Not_on_Heap"),
    weakness("CWE761_Free_Pointer_Not_at_Start_of_Buffer"),
    weakness("CWE762_Mismatched_Memory_Management_Routines"),
];
/// Cases of each, where the command does not say.
const CASES: usize = 200;
/// In names: input from outside, and Windows. In sources: what is different in each run.
const NOT_HERE: [&str; 8] = ["socket", "w32", "fscanf", "fgets", "environment", "console", "_file_", "rand"];
const BY_CHANCE: &str = "globalReturnsTrueOrFalse()";
const ASAN: &str = "-fsanitize=address";

/// Runs some cases of each weakness: a table, and a line for each case where Heaplens found less than another tool, or too much.
pub fn run(words: &[&str]) -> Result<(Vec<String>, Count)> {
    let [folder, cases @ ..] = words else { anyhow::bail!("cargo xtask soak juliet FOLDER [CASES]") };
    let juliet = Juliet::at(Path::new(folder))?;
    let most = cases.first().map_or(Ok(CASES), |cases| cases.parse()).context("CASES is a number")?;
    let mut lines = vec![format!(
        "{:<8}{:>6} │{:>10}{:>9}{:>10}{:>6} │{:>10}{:>10}  (with the flaw │ without)",
        "", "cases", "heaplens", "guarded", "memcheck", "asan", "heaplens", "memcheck"
    )];
    let (mut differences, mut count) = (Vec::new(), Count::default());
    for weakness in &WEAKNESSES {
        let found = juliet.judge_all(weakness, most)?;
        lines.push(row(weakness, &found));
        for (name, seen) in &found {
            let missed = seen.missed(weakness);
            count.failed += u64::from(missed.is_some());
            count.passed += u64::from(missed.is_none());
            differences.extend(missed.map(|what| format!("{name}: {what}")));
        }
    }
    lines.extend(differences);
    Ok((lines, count))
}

fn row(weakness: &Weakness, found: &[(String, Seen)]) -> String {
    let of = |what: fn(&Seen) -> bool| found.iter().filter(|(_, seen)| what(seen)).count();
    let name = weakness.folder.split('_').next().unwrap_or_default();
    format!(
        "{name:<8}{:>6} │{:>10}{:>9}{:>10}{:>6} │{:>10}{:>10}",
        found.len(),
        of(|seen| seen.plain),
        of(|seen| seen.plain || seen.guarded),
        of(|seen| seen.memcheck),
        of(|seen| seen.asan),
        of(|seen| seen.false_alarm),
        of(|seen| seen.false_alarm_of_memcheck)
    )
}

/// Who reported something in a case.
#[derive(Clone, Copy)]
struct Seen {
    plain: bool,
    guarded: bool,
    memcheck: bool,
    asan: bool,
    false_alarm: bool,
    false_alarm_of_memcheck: bool,
}

impl Seen {
    /// Frees and leaks are Memcheck's side, accesses AddressSanitizer's.
    fn missed(self, weakness: &Weakness) -> Option<&'static str> {
        let found = self.plain || self.guarded;
        let is_access = ["CWE12", "CWE416"].iter().any(|begin| weakness.folder.starts_with(begin));
        match () {
            () if self.false_alarm => Some("reported without its flaw"),
            () if is_access && self.asan && !found => Some("found by AddressSanitizer alone"),
            () if self.memcheck && !found => Some("found by Memcheck alone"),
            () => None,
        }
    }
}

struct Juliet {
    folder: PathBuf,
    heaplens: PathBuf,
    /// Where cases are built.
    builds: PathBuf,
}

impl Juliet {
    fn at(folder: &Path) -> Result<Self> {
        ensure!(
            folder.join("testcasesupport/io.c").exists(),
            "{} has no testcasesupport/io.c: Juliet for C and C++ is unpacked somewhere else",
            folder.display()
        );
        let juliet =
            Self { folder: folder.into(), heaplens: heaplens()?, builds: root().join("target/juliet") };
        std::fs::create_dir_all(&juliet.builds).context("cannot make target/juliet")?;
        let io = juliet.folder.join("testcasesupport/io.c");
        let built = juliet.compiler(&io).arg("-c").arg(&io).arg("-o").arg(juliet.support()).status()?;
        ensure!(built.success(), "cannot build {}", io.display());
        Ok(juliet)
    }

    fn support(&self) -> PathBuf {
        self.builds.join("io.o")
    }

    fn judge_all(&self, weakness: &Weakness, most: usize) -> Result<Vec<(String, Seen)>> {
        let mut found = each(&self.cases(weakness, most)?, |case| {
            let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let seen = self.judge(case, weakness).with_context(|| name.clone())?;
            Ok((name, seen))
        })?;
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found)
    }

    /// Cases of one file, in an order that is always the same and follows no name.
    fn cases(&self, weakness: &Weakness, most: usize) -> Result<Vec<PathBuf>> {
        let mut cases = Vec::new();
        sources(&self.folder.join("testcases").join(weakness.folder), &mut cases)?;
        cases.retain(|case| {
            let name = case.file_name().unwrap_or_default().to_string_lossy();
            is_whole(&name)
                && weakness.of_heap.iter().any(|part| name.contains(part))
                && NOT_HERE.iter().all(|part| !name.contains(part))
        });
        cases.sort_by_cached_key(|case| spread(&case.file_name().unwrap_or_default().to_string_lossy()));
        let is_same_in_each_run =
            |case: &PathBuf| std::fs::read_to_string(case).is_ok_and(|source| !source.contains(BY_CHANCE));
        Ok(cases.into_iter().filter(is_same_in_each_run).take(most).collect())
    }

    fn judge(&self, case: &Path, weakness: &Weakness) -> Result<Seen> {
        let (bad, good) = (self.build(case, "-DOMITGOOD", "bad")?, self.build(case, "-DOMITBAD", "good")?);
        let asan = self.build_with(case, "-DOMITGOOD", "asan", &[ASAN])?;
        let reported = |program: &Path, options: &[&str]| self.reports(program, options, weakness);
        let (ends, begins) = (["--guard=all", "--guard-align=1"], ["--guard=all", "--guard-side=begin"]);
        let plain = reported(&bad, &[])?;
        let seen = Seen {
            plain,
            guarded: !plain && (reported(&bad, &ends)? || reported(&bad, &begins)?),
            memcheck: memcheck_reports(&bad, weakness)?,
            asan: is_of_heap(&text(&output(&Command::new(&asan))?)),
            false_alarm: reported(&good, &[])? || reported(&good, &ends)? || reported(&good, &begins)?,
            false_alarm_of_memcheck: memcheck_reports(&good, weakness)?,
        };
        for built in [bad, good, asan] {
            std::fs::remove_file(built).ok();
        }
        Ok(seen)
    }

    fn build(&self, case: &Path, without: &str, kind: &str) -> Result<PathBuf> {
        self.build_with(case, without, kind, &[])
    }

    fn build_with(&self, case: &Path, without: &str, kind: &str, options: &[&str]) -> Result<PathBuf> {
        let program = self.builds.join(case.file_stem().unwrap_or_default()).with_extension(kind);
        let mut compiler = self.compiler(case);
        compiler.args([without, "-DINCLUDEMAIN"]).args(options).arg(case).arg(self.support());
        let built = compiler.args(["-lpthread", "-o"]).arg(&program).output().context("cannot run gcc")?;
        ensure!(built.status.success(), "cannot be built: {}", text(&built));
        Ok(program)
    }

    fn compiler(&self, source: &Path) -> Command {
        let mut compiler = compiler(source);
        compiler.arg("-I").arg(self.folder.join("testcasesupport"));
        compiler
    }

    fn reports(&self, program: &Path, options: &[&str], weakness: &Weakness) -> Result<bool> {
        let report = program.with_extension("json");
        let mut memcheck = Command::new(&self.heaplens);
        memcheck.args(["memcheck", "-q", "--leak-check=full"]).args(options).arg("--json").arg(&report);
        memcheck.arg("--").arg(program);
        let ended = output(&memcheck)?;
        let report = std::fs::read(&report).with_context(|| format!("no report: {}", text(&ended)))?;
        let report: serde_json::Value = serde_json::from_slice(&report).context("the report is no JSON")?;
        let has_errors = report["errors"].as_array().is_some_and(|errors| !errors.is_empty());
        let lost = ["definitely", "indirectly", "possibly"]
            .iter()
            .any(|kind| report["lost"][kind]["blocks"].as_u64() > Some(0));
        Ok(if weakness.is_leak { lost } else { has_errors })
    }
}

fn memcheck_reports(program: &Path, weakness: &Weakness) -> Result<bool> {
    const FOUND: i32 = 99;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["-q", "--error-exitcode=99"]).arg(if weakness.is_leak {
        "--leak-check=full"
    } else {
        "--leak-check=no"
    });
    valgrind.arg(program);
    let ended = output(&valgrind)?;
    // A program that is killed has its own exit status.
    Ok(ended.status.code() == Some(FOUND) || text(&ended).contains("== Invalid "))
}

/// Whether AddressSanitizer found something that is not on the stack (some cases copy from a good block to an array that is too short) and
/// not just that the program crashed.
fn is_of_heap(asan: &str) -> bool {
    asan.contains("Sanitizer") && !["stack-buffer-", "SEGV on"].iter().any(|other| asan.contains(other))
}

/// Cases of several files have a letter after their number.
fn is_whole(name: &str) -> bool {
    let Some((stem, "c" | "cpp")) = name.rsplit_once('.') else { return false };
    stem.ends_with(|last: char| last.is_ascii_digit())
}

/// A number for a name: FNV-1a.
fn spread(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, into)?;
        } else {
            into.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cases_of_one_file_are_taken() {
        let names =
            ["CWE415__char_01.c", "CWE415__new_84.cpp", "CWE415__char_52a.c", "CWE415__char_84.h", "main.c"];
        assert_eq!(names.map(is_whole), [true, true, false, false, false]);
    }
}
