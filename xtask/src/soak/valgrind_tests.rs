//! The programs of Valgrind's own tests of Memcheck, under Memcheck and under `heaplens memcheck`. Whoever runs it says where the source of Valgrind
//! was unpacked; nothing of it is kept here. Programs with client requests are left out: those are instructions for an emulator.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::checkers::{ACCESS, Mistake, Reported, TestProgram, compiler, each, output, sources};
use crate::check::Count;
use crate::workspace::{heaplens, target};

/// What a program has that makes client requests.
const REQUESTS: [&str; 7] =
    ["memcheck.h\"", "valgrind.h\"", "leak.h\"", "helgrind.h\"", "drd.h\"", "VALGRIND_", "RUNNING_ON"];
/// What Valgrind's `configure` would find on Linux, and what it would write into `config.h`.
const FOUND: [&str; 4] =
    ["-DVGA_amd64=1", "-DVGO_linux=1", "-DVGP_amd64_linux=1", "-DVGPV_amd64_linux_vanilla=1"];
const CONFIG: &str = "#define HAVE_MEMALIGN 1\n#define HAVE_PTHREAD_CREATE 1\n";
const GUARDED: [&[&str]; 2] =
    [&["memcheck", "--guard=all", "--guard-align=1"], &["memcheck", "--guard=all", "--guard-side=begin"]];

/// Programs whose differences are known.
const KNOWN: &[(&str, &str)] = &[
    ("badfree.c", "the C library crashes in the first bad free, Memcheck replaces it and goes on"),
    ("badpoll.c", "the kernel wrote behind the block, to Memcheck an error of a system call"),
    (
        "cxx17_aligned_new.cpp",
        "an aligned delete of what plain new gave; Memcheck does not tell them apart, as the test says",
    ),
    ("fprw.c", "the C library crashes in the bad free, Memcheck replaces it and goes on"),
    ("malloc3.c", "a negative size is one where the call fails: calloc(0, -1) does not, calloc(-1, -1) does"),
    ("malloc_usable.c", "the C library crashes in malloc_usable_size of no block"),
    (
        "overlap.c",
        "strncat: what it appends and its source do not overlap; memcpy: Memcheck takes it for memmove",
    ),
    ("partial_load.c", "seven bytes are read as eight, which Memcheck allows (--partial-loads-ok)"),
    (
        "reach_thread_register.c",
        "the table of thread-local blocks of a thread that runs, to which the C library points behind its first entry",
    ),
    ("static_malloc.c", "the program has a malloc of its own, which the report says"),
    ("suppfree.c", "the C library aborts at the double free, the other block is on the stack then"),
    ("xml1.c", "the C library aborts at the double free, before the block is allocated that is lost"),
];

/// A line for each program that differs.
pub fn run(words: &[&str]) -> Result<(Vec<String>, Count)> {
    let [folder] = words else { anyhow::bail!("cargo xtask soak valgrind-tests FOLDER") };
    let tests = ValgrindTests::at(Path::new(folder))?;
    let programs = tests.programs()?;
    let seen = each(&programs, |source| {
        let seen = tests.judge(source).with_context(|| source.display().to_string())?;
        Ok((name(source), seen))
    })?;
    let seen: Vec<(String, Findings)> =
        seen.into_iter().filter_map(|(name, seen)| Some((name, seen?))).collect();
    Ok(table(&seen))
}

fn table(seen: &[(String, Findings)]) -> (Vec<String>, Count) {
    let (mut lines, mut count) = (vec![summary(seen)], Count::default());
    for (name, seen) in seen {
        let differences = seen.differences();
        let known = KNOWN.iter().find(|(program, _)| program == name).map(|(_, why)| *why);
        match (differences.is_empty(), known) {
            (true, _) => count.passed += 1,
            (false, Some(_)) => count.skipped += 1,
            (false, None) => count.failed += 1,
        }
        let why = known.map_or(String::new(), |why| format!(" ({why})"));
        lines.extend(differences.into_iter().map(|difference| format!("{name}: {difference}{why}")));
    }
    (lines, count)
}

fn summary(seen: &[(String, Findings)]) -> String {
    let equal = seen.iter().filter(|(_, seen)| seen.lost_differently().is_none()).count();
    let reported: usize = seen.iter().map(|(_, seen)| seen.memcheck.errors.len()).sum();
    let missed: usize = seen.iter().map(|(_, seen)| seen.missed().count()).sum();
    let more: usize = seen.iter().map(|(_, seen)| seen.more().count()).sum();
    format!(
        "{} programs: leak kinds are Memcheck's in {equal}; of {reported} errors of Memcheck {} are found, and {more} others",
        seen.len(),
        reported - missed
    )
}

/// What was reported on a program.
struct Findings {
    memcheck: Reported,
    heaplens: Reported,
    /// With guard pages, where there may be accesses to find.
    guarded: BTreeSet<Mistake>,
}

impl Findings {
    fn differences(&self) -> Vec<String> {
        let missed = self.missed().map(|mistake| format!("Memcheck alone: {mistake}"));
        let more = self.more().map(|mistake| format!("Heaplens alone: {mistake}"));
        self.lost_differently().into_iter().chain(missed).chain(more).collect()
    }

    fn lost_differently(&self) -> Option<String> {
        let said = |reported: &Reported| match reported.lost {
            Some([definitely, indirectly, possibly]) => format!("{definitely}, {indirectly}, {possibly}"),
            None => "no leak check".to_owned(),
        };
        let (is, was) = (said(&self.heaplens), said(&self.memcheck));
        (is != was).then(|| format!("definitely, indirectly, possibly lost: {is} (Memcheck: {was})"))
    }

    fn missed(&self) -> impl Iterator<Item = &Mistake> {
        let is_missed =
            |mistake: &&Mistake| !self.heaplens.errors.contains(mistake) && !self.guarded.contains(mistake);
        self.memcheck.errors.iter().filter(is_missed)
    }

    fn more(&self) -> impl Iterator<Item = &Mistake> {
        self.heaplens.errors.union(&self.guarded).filter(|mistake| !self.memcheck.errors.contains(mistake))
    }
}

struct ValgrindTests {
    /// Of Valgrind's source.
    folder: PathBuf,
    heaplens: PathBuf,
    builds: PathBuf,
}

impl ValgrindTests {
    fn at(folder: &Path) -> Result<Self> {
        ensure!(
            folder.join("memcheck/tests/doublefree.c").exists(),
            "{} has no memcheck/tests/doublefree.c: the source of Valgrind is unpacked somewhere else",
            folder.display()
        );
        let folder = folder.canonicalize().context("cannot resolve the folder")?;
        let tests = Self { folder, heaplens: heaplens()?, builds: target().join("valgrind-tests") };
        // ValgrindTests include it as `config.h` and by a path that begins in their own folder.
        std::fs::create_dir_all(tests.builds.join("memcheck/tests"))
            .context("cannot make a folder for builds")?;
        std::fs::write(tests.builds.join("config.h"), CONFIG).context("cannot write config.h")?;
        Ok(tests)
    }

    fn programs(&self) -> Result<Vec<PathBuf>> {
        let tests = self.folder.join("memcheck/tests");
        let mut programs = [sources(&tests)?, sources(&tests.join("linux"))?].concat();
        programs.retain(|source| {
            let text = std::fs::read(source).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            REQUESTS.iter().all(|request| !text.contains(request))
        });
        Ok(programs)
    }

    /// Nothing where a program cannot be built by itself.
    fn judge(&self, source: &Path) -> Result<Option<Findings>> {
        let Some(built) = self.build(source)? else { return Ok(None) };
        let program = TestProgram { source, built: &built, arguments: &[] };
        let memcheck = program.under_memcheck()?;
        let heaplens = program.reported_by_heaplens(&self.heaplens, &["memcheck", "--leak-check=full"])?;
        let mut guarded = BTreeSet::new();
        if memcheck.errors.union(&heaplens.errors).any(|mistake| mistake.what == ACCESS) {
            for words in GUARDED {
                guarded.extend(program.reported_by_heaplens(&self.heaplens, words)?.errors);
            }
        }
        std::fs::remove_file(&built).context("cannot remove a program")?;
        Ok(Some(Findings { memcheck, heaplens, guarded }))
    }

    fn build(&self, source: &Path) -> Result<Option<PathBuf>> {
        let built = self.builds.join(name(source)).with_extension("program");
        let mut compiler = compiler(source);
        compiler.args(["-fno-builtin", "-fno-stack-protector"]).args(FOUND);
        for folder in
            [&self.folder, &self.folder.join("include"), &self.builds, &self.builds.join("memcheck/tests")]
        {
            compiler.arg("-I").arg(folder);
        }
        compiler.arg(source).args(["-lpthread", "-lm", "-ldl", "-o"]).arg(&built);
        Ok(output(&compiler)?.status.success().then_some(built))
    }
}

fn name(source: &Path) -> String {
    source.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::checkers::Lost;

    fn reported(bytes: u64, lines: &[u64]) -> Reported {
        let lost = Some([Lost { bytes, blocks: 1 }, Lost::default(), Lost::default()]);
        Reported { lost, errors: lines.iter().map(|&line| Mistake { what: ACCESS, line }).collect() }
    }

    #[test]
    fn what_only_guard_pages_find_is_found() {
        let guarded = reported(0, &[8]).errors;
        let seen = Findings { memcheck: reported(5, &[7, 8]), heaplens: reported(5, &[7]), guarded };
        assert!(seen.differences().is_empty());
    }

    #[test]
    fn amounts_and_errors_that_differ_have_a_line_each() {
        let seen =
            Findings { memcheck: reported(5, &[7]), heaplens: reported(6, &[8]), guarded: BTreeSet::new() };
        let (lines, count) = table(&[("one.c".to_owned(), seen)]);
        assert_eq!((lines.len(), count.failed), (4, 1), "{lines:?}");
        assert!(
            lines[1].ends_with("lost: 6 in 1, 0 in 0, 0 in 0 (Memcheck: 5 in 1, 0 in 0, 0 in 0)"),
            "{lines:?}"
        );
        assert_eq!(
            &lines[2..],
            [
                "one.c: Memcheck alone: access to the block of line 7",
                "one.c: Heaplens alone: access to the block of line 8"
            ]
        );
    }
}
