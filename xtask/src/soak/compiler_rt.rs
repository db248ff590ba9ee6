//! The tests of LeakSanitizer and of GWP-ASan in LLVM's compiler-rt, under `heaplens`. Whoever runs it says where compiler-rt was unpacked; nothing
//! of it is kept here. Of a leak the yardstick is LeakSanitizer itself, as gcc has it, with its defaults; of an error what a test wants to be
//! printed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::checkers::{Lost, TestProgram, compiler, each, lost_by_heaplens, output, sources, text};
use crate::check::Count;
use crate::workspace::{heaplens, target};

/// LeakSanitizer's functions for programs without it. The agent's are found first.
const INTERFACE: &str = "
void __lsan_ignore_object(const void *block) {}
void __lsan_disable(void) {}
void __lsan_enable(void) {}
int __lsan_do_recoverable_leak_check(void) { return 0; }
void __lsan_do_leak_check(void) {}
void __lsan_register_root_region(const void *start, unsigned long size) {}
void __lsan_unregister_root_region(const void *start, unsigned long size) {}
";

/// Runs whose leaks differ from LeakSanitizer's, by test and arguments, and why.
const KNOWN: &[(&str, &str)] = &[
    (
        "cleanup_in_tsd_destructor.c",
        "the last check of LeakSanitizer is the program's own, in a thread that ends later; at the end of the program the block is lost",
    ),
    (
        "do_leak_check_override.cpp foo",
        "the program's own check is the last of LeakSanitizer, before destructors",
    ),
    ("link_turned_off.cpp", "__lsan_is_turned_off is not asked"),
    ("malloc_zero.c", "malloc(0) has no bytes, to LeakSanitizer one"),
    ("print_suppressions.cpp foo", "__lsan_default_suppressions is not asked: suppressions are files"),
    (
        "realloc_too_big.c",
        "the test wants a limit that only LeakSanitizer can set, and aborts without it; LeakSanitizer checks no program that aborts",
    ),
    ("register_root_region.cpp foo", "memory that the program mapped is always a root, as in Memcheck"),
    ("stale_stack_leak.cpp", "with its defaults LeakSanitizer finds the pointer below the stack"),
    (
        "swapcontext.cpp",
        "LeakSanitizer leaves out what was allocated on a stack that it cannot unwind; nothing points to the block",
    ),
    ("suppressions_default.cpp", "__lsan_default_suppressions is not asked: suppressions are files"),
];

/// A table for the tests of each, and a line for each run that differs.
pub fn run(words: &[&str]) -> Result<(Vec<String>, Count)> {
    let [folder] = words else { anyhow::bail!("cargo xtask soak compiler-rt FOLDER") };
    let tests = CompilerRt::at(Path::new(folder))?;
    let (mut lines, mut count) = tests.leaks()?;
    let (more, errors) = tests.errors()?;
    lines.extend(more);
    count.passed += errors.passed;
    count.failed += errors.failed;
    Ok((lines, count))
}

/// A test under both.
struct Leaks {
    /// Its file, and the arguments.
    name: String,
    lsan: Lost,
    heaplens: Lost,
}

/// A test of GWP-ASan.
struct Errors {
    /// Its file, and what is defined.
    name: String,
    wanted: Option<&'static str>,
    /// Whether that, or nothing where nothing is wanted, was reported: with guard pages after blocks, before them, and in a sampled run.
    seen: [bool; 3],
}

/// How a test is built and run: words in its RUN lines.
#[derive(Debug, PartialEq, Eq)]
struct Recipe {
    /// `-O2`
    level: Option<String>,
    /// Arguments of each run.
    runs: Vec<Vec<String>>,
    /// Words that define what to test, `-DTEST_FREE`.
    variants: Vec<String>,
}

impl Recipe {
    fn of(source: &str) -> Self {
        let lines: Vec<&str> =
            source.lines().filter_map(|line| line.split_once("RUN:").map(|(_, run)| run)).collect();
        let words = || lines.iter().flat_map(|line| line.split_whitespace());
        let mut runs: Vec<Vec<String>> = Vec::new();
        for (_, rest) in lines.iter().filter_map(|line| line.split_once("%run %t")) {
            let is_argument = |word: &&str| !["2>&1", ">", "|", "&&", "<"].contains(word);
            let run = rest.split_whitespace().take_while(is_argument).map(str::to_owned).collect();
            if !runs.contains(&run) {
                runs.push(run);
            }
        }
        let level = words().find(|word| word.len() == 3 && word.starts_with("-O")).map(str::to_owned);
        let mut variants: Vec<String> =
            words().filter(|word| word.starts_with("-DTEST_")).map(str::to_owned).collect();
        variants.dedup();
        Self { level, runs, variants }
    }
}

struct CompilerRt {
    /// The folder `test` of compiler-rt.
    folder: PathBuf,
    heaplens: PathBuf,
    builds: PathBuf,
}

impl CompilerRt {
    fn at(folder: &Path) -> Result<Self> {
        let folder = folder.join("test").canonicalize().context("FOLDER has no folder `test`")?;
        let has = |part: &str| folder.join(part).exists();
        ensure!(has("lsan/TestCases") && has("gwp_asan"), "{} is not that of compiler-rt", folder.display());
        let tests = Self { folder, heaplens: heaplens()?, builds: target().join("compiler-rt") };
        std::fs::create_dir_all(&tests.builds).context("cannot make a folder for builds")?;
        let source = tests.builds.join("interface.c");
        std::fs::write(&source, INTERFACE).context("cannot write a source")?;
        let mut compiler = compiler(&source);
        compiler.args(["-shared", "-fPIC"]).arg(&source).arg("-o").arg(tests.interface());
        ensure!(output(&compiler)?.status.success(), "cannot build {}", source.display());
        Ok(tests)
    }

    fn interface(&self) -> PathBuf {
        self.builds.join("libinterface.so")
    }

    fn leaks(&self) -> Result<(Vec<String>, Count)> {
        let cases = self.folder.join("lsan/TestCases");
        let sources = [sources(&cases)?, sources(&cases.join("Linux"))?].concat();
        let found =
            each(&sources, |source| self.leaks_of(source).with_context(|| source.display().to_string()))?;
        let found: Vec<Leaks> = found.into_iter().flatten().collect();
        let (mut lines, mut count) = (Vec::new(), Count::default());
        for Leaks { name, lsan, heaplens } in &found {
            let known = KNOWN.iter().find(|(known, _)| known == name);
            match (lsan == heaplens, known) {
                (true, _) => count.passed += 1,
                (false, Some(_)) => count.skipped += 1,
                (false, None) => count.failed += 1,
            }
            if lsan != heaplens {
                let why = known.map_or("not known", |(_, why)| *why);
                lines.push(format!("{name}: {heaplens}, LeakSanitizer {lsan}: {why}"));
            }
        }
        let leaking = found.iter().filter(|leaks| leaks.lsan != Lost::default()).count();
        let head = format!(
            "lsan: {} runs of {} tests, {leaking} of them with leaks; bytes and blocks that are definitely or indirectly lost are LeakSanitizer's in {}",
            found.len(),
            sources.len(),
            count.passed
        );
        lines.insert(0, head);
        Ok((lines, count))
    }

    /// Nothing where the test cannot be built for both.
    fn leaks_of(&self, source: &Path) -> Result<Vec<Leaks>> {
        let recipe = Recipe::of(&read(source));
        let with_lsan = self.build(source, &recipe, "lsan", &["-fsanitize=leak"])?;
        let (interface, here) = (self.interface(), format!("-Wl,-rpath,{}", self.builds.display()));
        let plain = self.build(source, &recipe, "plain", &[&interface.to_string_lossy(), &here])?;
        let (Some(with_lsan), Some(plain)) = (with_lsan, plain) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for arguments in &recipe.runs {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let name = [&[&*name(source)], &*arguments].concat().join(" ");
            let lsan = lost_by_lsan(&with_lsan, &arguments)?;
            let program = TestProgram { source, built: &plain, arguments: &arguments };
            let report = program.under_heaplens(&self.heaplens, &["memcheck", "--leak-check=full"])?;
            found.push(Leaks { name, lsan, heaplens: lost_in_all(&report) });
        }
        Ok(found)
    }

    /// With what its RUN lines build besides: a library that it loads, a part with another definition.
    fn build(&self, source: &Path, recipe: &Recipe, kind: &str, words: &[&str]) -> Result<Option<PathBuf>> {
        let built = self.builds.join(format!("{}.{kind}", name(source)));
        let compile = |more: &[&str], to: &Path, last: &[&str]| -> Result<bool> {
            let mut compiler = compiler(source);
            compiler.args(&recipe.level).arg("-pthread").arg("-I").arg(&self.folder).args(more).arg(source);
            Ok(output(compiler.args(last).arg("-o").arg(to))?.status.success())
        };
        let (library, part) =
            (self.builds.join(format!("{}.{kind}-so.so", name(source))), built.with_extension("o"));
        if read(source).contains("-DBUILD_DSO")
            && !compile(&["-DBUILD_DSO", "-fPIC", "-shared"], &library, &[])?
        {
            return Ok(None);
        }
        let part_name = part.to_string_lossy();
        let mut last: Vec<&str> = words.to_vec();
        if recipe.variants.iter().any(|variant| variant == "-DTEST_LIB") {
            last.insert(0, &part_name);
            if !compile(&["-DTEST_LIB", "-c"], &part, &[])? {
                return Ok(None);
            }
        }
        Ok(compile(&[], &built, &[&*last, &["-ldl"]].concat())?.then_some(built))
    }

    fn errors(&self) -> Result<(Vec<String>, Count)> {
        let sources = sources(&self.folder.join("gwp_asan"))?;
        let found =
            each(&sources, |source| self.errors_of(source).with_context(|| source.display().to_string()))?;
        let mut lines = vec![format!(
            "{:<28}{:<20}│{:>6}{:>7}{:>9}  (--guard)",
            "gwp_asan", "wanted", "all", "begin", "sample:1"
        )];
        let mut count = Count::default();
        for Errors { name, wanted, seen } in found.into_iter().flatten() {
            let is_found = seen[0] || seen[1];
            count.passed += u64::from(is_found);
            count.failed += u64::from(!is_found);
            let [all, begin, sampled] = seen.map(|seen| if seen { "yes" } else { "-" });
            let wanted = wanted.unwrap_or("nothing");
            lines.push(format!("{name:<28}{wanted:<20}│{all:>6}{begin:>7}{sampled:>9}"));
        }
        Ok((lines, count))
    }

    fn errors_of(&self, source: &Path) -> Result<Vec<Errors>> {
        let text = read(source);
        let recipe = Recipe::of(&text);
        let one = [String::new()];
        let variants = if recipe.variants.is_empty() { &one[..] } else { &recipe.variants };
        variants.iter().map(|variant| self.errors_of_variant(source, &text, variant)).collect()
    }

    fn errors_of_variant(&self, source: &Path, text: &str, variant: &str) -> Result<Errors> {
        const MODES: [&[&str]; 3] = [
            &["memcheck", "--guard=all", "--guard-align=1"],
            &["memcheck", "--guard=all", "--guard-side=begin"],
            &["run", "--sample", "512KiB", "--guard=sample:1"],
        ];
        let built = self.builds.join(format!("{}{variant}", name(source)));
        let mut compiler = compiler(source);
        compiler.args(Some(variant).filter(|variant| !variant.is_empty())).arg(source).arg("-o").arg(&built);
        ensure!(output(&compiler)?.status.success(), "cannot be built");
        let (wanted, mut seen) = (wanted(text, variant), [false; 3]);
        for (seen, words) in seen.iter_mut().zip(MODES) {
            let program = TestProgram { source, built: &built, arguments: &[] };
            let report = program.under_heaplens(&self.heaplens, words)?;
            let errors = report["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
            *seen = match wanted {
                Some(wanted) => errors.iter().any(|error| named_by_gwp_asan(error) == Some(wanted)),
                None => errors.is_empty(),
            };
        }
        Ok(Errors { name: format!("{} {variant}", name(source)).trim().to_owned(), wanted, seen })
    }
}

const DOUBLE_FREE: &str = "Double Free";
const WILD_FREE: &str = "Invalid (Wild) Free";
const USE_AFTER_FREE: &str = "Use After Free";
const OVERFLOW: &str = "Buffer Overflow";
const UNDERFLOW: &str = "Buffer Underflow";

/// What the CHECK lines of a variant want.
fn wanted(source: &str, variant: &str) -> Option<&'static str> {
    let prefix =
        variant.strip_prefix("-DTEST_").map_or("CHECK".to_owned(), |variant| format!("CHECK-{variant}"));
    let mut lines = source.lines().filter(|line| line.contains(&format!("{prefix}: ")));
    let names = [DOUBLE_FREE, WILD_FREE, USE_AFTER_FREE, OVERFLOW, UNDERFLOW];
    lines.find_map(|line| names.into_iter().find(|name| line.contains(name)))
}

/// An error of ours in the words of GWP-ASan.
fn named_by_gwp_asan(error: &Value) -> Option<&'static str> {
    let place = error["address_text"].as_str().unwrap_or_default();
    match (error["kind"].as_str()?, error["what"].as_str()?) {
        ("InvalidFree", "double free") => Some(DOUBLE_FREE),
        ("InvalidFree", _) => Some(WILD_FREE),
        ("InvalidRead" | "InvalidWrite", _) if place.ends_with("free'd") => Some(USE_AFTER_FREE),
        ("InvalidRead" | "InvalidWrite", _) if place.contains(" after a block") => Some(OVERFLOW),
        ("InvalidRead" | "InvalidWrite", _) if place.contains(" before a block") => Some(UNDERFLOW),
        _ => None,
    }
}

/// Definitely and indirectly, in all processes.
fn lost_in_all(report: &Value) -> Lost {
    let others = report["lost_in_other_processes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let all = others.iter().map(|process| &process["lost"]).chain([&report["lost"]]);
    all.filter_map(lost_by_heaplens)
        .fold(Lost::default(), |sum, [definitely, indirectly, _]| sum + definitely + indirectly)
}

/// The last leak check of a program that was built with LeakSanitizer.
fn lost_by_lsan(program: &Path, arguments: &[&str]) -> Result<Lost> {
    let mut command = std::process::Command::new(program);
    command.args(arguments).env("LSAN_OPTIONS", "");
    Ok(summary_of_lsan(&text(&output(&command)?)))
}

/// `SUMMARY: LeakSanitizer: 1337 byte(s) leaked in 1 allocation(s).`
fn summary_of_lsan(printed: &str) -> Lost {
    let summary = printed.lines().rev().find_map(|line| line.split_once("SUMMARY: LeakSanitizer: "));
    let words: Vec<&str> = summary.map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
    let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0);
    Lost { bytes: number(0), blocks: number(4) }
}

fn read(source: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(source).unwrap_or_default()).into_owned()
}

fn name(source: &Path) -> String {
    source.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = "\
// RUN: %clangxx_lsan -O1 %s -o %t -DTEST_FREE
// RUN: %env_lsan_opts=use_stacks=0 not %run %t 2>&1 | FileCheck %s
// RUN: %run %t foo 2 2>&1
// RUN: %run %t
// CHECK-FREE: Use After Free at 0x{{[a-f0-9]+}}
// CHECK: Double Free at";

    #[test]
    fn how_a_test_is_run_and_what_it_wants_is_in_its_own_lines() {
        let recipe = Recipe::of(TEST);
        assert_eq!(recipe.level.as_deref(), Some("-O1"));
        assert_eq!(recipe.runs, [vec![], vec!["foo".to_owned(), "2".to_owned()]]);
        assert_eq!(recipe.variants, ["-DTEST_FREE"]);
        assert_eq!(
            [wanted(TEST, "-DTEST_FREE"), wanted(TEST, "")],
            [Some(USE_AFTER_FREE), Some(DOUBLE_FREE)]
        );
    }

    #[test]
    fn the_last_summary_of_leak_sanitizer_counts() {
        let line =
            |bytes: u64| format!("SUMMARY: LeakSanitizer: {bytes} byte(s) leaked in 2 allocation(s).\n");
        assert_eq!(summary_of_lsan(&(line(3) + &line(7))), Lost { bytes: 7, blocks: 2 });
        assert_eq!(summary_of_lsan("all is well"), Lost::default());
    }
}
