//! Heap profiles that a program writes itself, as with gperftools, and no recorder: how many, what they say, who reads them.

use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use crate::export::readers::{google_pprof, read};
use crate::harness::{Folder, Heaplens, Truth, program};
use crate::python::{interpreters, script};

/// Blocks and bytes in use, blocks and bytes allocated.
type Amounts = [i64; 4];

/// What a program that is preloaded with it and gets no other variables would be told of.
static AGENT: LazyLock<PathBuf> = LazyLock::new(|| {
    let output = Heaplens::bare(["agent"]).output().expect("heaplens starts");
    PathBuf::from(String::from_utf8(output.stdout).expect("text").trim_end())
});

/// A program whose profiles lie in a folder of its own.
struct Profiled {
    folder: Folder,
    command: Command,
}

/// What is left of it.
struct Left {
    folder: Folder,
    output: Output,
}

impl Profiled {
    fn new(program: &Path, words: &[&str]) -> Self {
        let folder = Folder::new();
        let mut command = Command::new(program);
        let prefix = folder.file("profile");
        command
            .args(words)
            .env("LD_PRELOAD", &*AGENT)
            .env("HEAPPROFILE", &prefix)
            .env("TRUTH_PREFIX", prefix);
        Self { folder, command }
    }

    fn on(word: &str) -> Self {
        Self::new(&program("heap_profiles.c"), &[word])
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    fn finish(mut self) -> Left {
        let output = self.command.output().expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{:?}", output.status);
        Left { folder: self.folder, output }
    }
}

impl Left {
    fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// The numbers of the lines that begin with a word.
    fn said(&self, word: &str) -> Vec<Vec<i64>> {
        let lines = self.stdout();
        let own = lines.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
        own.map(|line| line.split(' ').map(|word| word.parse().expect("a number")).collect()).collect()
    }

    /// What the program had when a profile was due, and at its end.
    fn expected(&self) -> Vec<Amounts> {
        let due = self.said("due").into_iter().map(|row| row[1..].try_into().expect("four amounts"));
        due.chain([truth(&self.stdout(), None)]).collect()
    }

    /// The profiles of a process, in their order; nothing else lies in the folder.
    fn profiles(&self, prefix: &str) -> Vec<Profile> {
        let names = names(self.folder.path());
        let own: Vec<&String> = names.iter().filter(|name| name.starts_with(&format!("{prefix}."))).collect();
        for (name, number) in own.iter().zip(1..) {
            assert_eq!(**name, format!("{prefix}.{number:04}.heap"));
        }
        own.iter().map(|name| Profile::read(&self.folder.file(name))).collect()
    }
}

/// What a process said of its blocks; of the only one that spoke.
fn truth(stdout: &str, pid: Option<u32>) -> Amounts {
    let truth = Truth::parse(stdout);
    let pid = pid.unwrap_or_else(|| truth.pid());
    let sum =
        |at: usize| truth.rows.iter().filter(|row| row.pid == pid).filter_map(|row| row.claims[at]).sum();
    [sum(1), sum(0), sum(3), sum(2)]
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A profile as it is written.
struct Profile {
    path: PathBuf,
    head: Amounts,
    rows: Vec<(Amounts, Vec<u64>)>,
    maps: String,
}

impl Profile {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("a profile is text");
        let (stacks, maps) = text.split_once("\nMAPPED_LIBRARIES:\n").expect("libraries");
        let (head, rows) = stacks.split_once('\n').expect("a first line");
        let head = head.strip_prefix("heap profile: ").and_then(|head| head.strip_suffix(" @ heapprofile"));
        let row = |line: &str| {
            let (numbers, stack) = line.split_once(" @ ").expect("a stack");
            let address = |word: &str| u64::from_str_radix(word.strip_prefix("0x").expect("hex"), 16);
            (amounts(numbers), stack.split(' ').map(|word| address(word).expect("hex")).collect())
        };
        let (head, rows) = (amounts(head.expect("a heap profile")), rows.lines().map(row).collect());
        Self { path: path.to_owned(), head, rows, maps: maps.to_owned() }
    }

    /// The sum of its lines.
    fn sum(&self) -> Amounts {
        self.rows.iter().fold([0; 4], |sum, (row, _)| std::array::from_fn(|at| sum[at] + row[at]))
    }

    /// What google-pprof says of it.
    fn by_function(
        &self,
        test: &str,
        program: &Path,
        words: &[&str],
    ) -> Option<BTreeMap<String, (i64, i64)>> {
        let (program, file) = (program.display().to_string(), self.path.display().to_string());
        google_pprof(test, &[words, &[&program, &file]].concat())
    }
}

fn amounts(text: &str) -> Amounts {
    let numbers = text.split([':', '[', ']', ' ']).filter(|word| !word.is_empty());
    let numbers: Vec<i64> = numbers.map(|word| word.parse().expect("a number")).collect();
    numbers.try_into().expect("four numbers")
}

fn heads(profiles: &[Profile]) -> Vec<Amounts> {
    profiles.iter().map(|profile| profile.head).collect()
}

/// At the intervals of the variables, by the rules that the program follows beside its allocations.
#[test]
fn profiles_come_when_they_are_due_and_say_what_the_program_has_to_the_byte() {
    for (allocated, in_use, least) in
        [("5000000", "3000000", 9), ("0", "3000000", 5), ("2500000", "0", 16), ("0", "0", 0)]
    {
        let run = Profiled::on("steps").env("HEAP_PROFILE_ALLOCATION_INTERVAL", allocated);
        let left = run.env("HEAP_PROFILE_INUSE_INTERVAL", in_use).finish();
        let (expected, profiles) = (left.expected(), left.profiles("profile"));
        assert!(expected.len() > least, "{allocated} and {in_use}: {expected:?}");
        assert_eq!(heads(&profiles), expected, "{allocated} and {in_use}");
        assert!(profiles.iter().all(|profile| profile.sum() == profile.head));
    }
}

#[test]
fn google_pprof_names_functions_and_subtracts_profiles() {
    let test = "heap_profiles::google_pprof_names_functions_and_subtracts_profiles";
    let left = Profiled::on("steps").env("HEAP_PROFILE_INUSE_INTERVAL", "3000000").finish();
    let (all, own) = (left.profiles("profile"), program("heap_profiles.c"));
    let (first, last) = (&all[0], all.last().expect("one at the end"));
    let Some(rows) = last.by_function(test, &own, &[]) else { return };
    assert_eq!((rows["Total"].0, rows["keep"].0), (last.head[1], last.head[1]), "{rows:?}");
    assert_eq!(rows["steps"], (0, last.head[1]), "{rows:?}");
    let Some(rows) = last.by_function(test, &own, &["--alloc_space"]) else { return };
    assert_eq!(rows["keep"].0 + rows["pass"].0, last.head[3], "{rows:?}");
    let base = format!("--base={}", first.path.display());
    let Some(rows) = last.by_function(test, &own, &[&base]) else { return };
    assert_eq!(rows["keep"].0, last.head[1] - first.head[1], "{rows:?}");
    let file = last.path.display().to_string();
    let Some(graph) = read(test, Command::new("google-pprof").arg("--dot").arg(&own).arg(file)) else {
        return;
    };
    assert!(graph.contains("keep") && graph.contains(" -> "), "{graph}");
}

#[test]
fn a_signal_asks_for_a_profile() {
    let left = Profiled::on("signals").env("HEAPPROFILESIGNAL", "10").finish();
    assert_eq!(heads(&left.profiles("profile")), left.expected());
    assert_eq!(left.expected().len(), 4);
}

#[test]
fn a_profile_comes_with_the_clock_and_not_before() {
    let run = Profiled::on("clock").env("HEAP_PROFILE_TIME_INTERVAL", "1");
    let left = run.env("HEAP_PROFILE_ALLOCATION_INTERVAL", "0").finish();
    for (elapsed, second) in left.said("elapsed").into_iter().zip(1..) {
        assert!(elapsed[0] >= second * 1000, "file {second} is there after {elapsed:?} ms");
    }
    assert_eq!(left.profiles("profile").len(), 3, "two and that of the end");
}

#[test]
fn threads_that_go_on_meanwhile_leave_profiles_whole() {
    let test = "heap_profiles::threads_that_go_on_meanwhile_leave_profiles_whole";
    let left = Profiled::on("threads").env("HEAP_PROFILE_ALLOCATION_INTERVAL", "100000").finish();
    let (profiles, own) = (left.profiles("profile"), program("heap_profiles.c"));
    assert!(profiles.len() > 2, "{}", profiles.len());
    assert!(profiles.iter().all(|profile| profile.sum() == profile.head && !profile.maps.is_empty()));
    let last = profiles.last().expect("one at the end");
    let Some(rows) = last.by_function(test, &own, &[]) else { return };
    assert_eq!(rows["turns"].0, truth(&left.stdout(), None)[1], "{rows:?}");
}

/// Readers are not made for a line for each of half a million stacks, and the program waits for all of them.
#[test]
fn of_very_many_stacks_the_small_ones_are_summed() {
    let test = "heap_profiles::of_very_many_stacks_the_small_ones_are_summed";
    let left = Profiled::on("many").finish();
    let profiles = left.profiles("profile");
    let last = profiles.last().expect("one at the end");
    assert_eq!((last.head, last.sum()), (truth(&left.stdout(), None), last.head));
    assert!((10_000..=20_001).contains(&last.rows.len()), "{} of 32,769", last.rows.len());
    let summed: Vec<_> = last.rows.iter().filter(|(_, stack)| stack == &[0]).collect();
    assert_eq!(summed.len(), 1);
    let Some(rows) = last.by_function(test, &program("heap_profiles.c"), &[]) else { return };
    assert_eq!(rows["Total"].0, last.head[1]);
    assert_eq!(rows["many"].1 + summed[0].0[1], last.head[1], "{rows:?}");
    assert_eq!(rows["many"].1 - rows["split"].1, 1_000_000, "the largest has its line: {rows:?}");
}

#[test]
fn children_write_profiles_of_their_own() {
    for (word, children) in [("fork", 1), ("spawn", 2)] {
        let left = Profiled::on(word).finish();
        let said = Truth::parse(&left.stdout());
        let (parent, others) = said.pids.split_last().expect("the parent speaks last");
        assert_eq!(others.len(), children);
        assert_eq!(heads(&left.profiles("profile")), [truth(&left.stdout(), Some(*parent))], "{word}");
        for &pid in others {
            let own = left.profiles(&format!("profile_{pid}"));
            assert_eq!(heads(&own), [truth(&left.stdout(), Some(pid))], "{word}");
        }
        assert_eq!(names(left.folder.path()).len(), 1 + children, "{word}");
    }
}

/// Addresses are those of calls: each lies in code that is mapped.
#[test]
fn addresses_of_stacks_lie_in_mapped_code() {
    let left = Profiled::on("steps").finish();
    for profile in left.profiles("profile") {
        let number = |word: &str| u64::from_str_radix(word, 16).expect("hex");
        let code = profile.maps.lines().filter(|line| line.contains(" r-xp ")).map(|line| {
            let (start, end) =
                line.split(' ').next().and_then(|range| range.split_once('-')).expect("a range");
            number(start)..number(end)
        });
        let code: Vec<_> = code.collect();
        let addresses: Vec<u64> = profile.rows.iter().flat_map(|(_, stack)| stack.clone()).collect();
        assert!(addresses.len() >= 4, "{addresses:x?}");
        assert!(addresses.iter().all(|at| code.iter().any(|range| range.contains(at))), "{addresses:x?}");
    }
}

/// The mappings of a program that shows them.
fn mappings(profile: Option<&Path>) -> String {
    let mut command = Command::new("/bin/cat");
    command.arg("/proc/self/maps").env("LD_PRELOAD", &*AGENT).env_remove("HEAPPROFILE");
    command.envs(profile.map(|profile| ("HEAPPROFILE", profile)));
    let output = command.output().expect("cat starts");
    assert!(output.status.success() && output.stderr.is_empty());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn without_the_variable_there_is_no_table_and_no_file() {
    let folder = Folder::new();
    let tables = |maps: &str| {
        maps.lines().filter(|line| line.contains("/memfd:heaplens") || line.contains(".arena")).count()
    };
    let dormant = mappings(None);
    assert!(dormant.contains("libheaplens"), "the library is there: {dormant}");
    assert_eq!(tables(&dormant), 0, "{dormant}");
    assert_eq!(tables(&mappings(Some("".as_ref()))), 0);
    assert_eq!(tables(&mappings(Some(&folder.file("profile")))), 1);
    assert_eq!(names(folder.path()), ["profile.0001.heap"]);
}

/// A recorder hears everything: then nothing is written beside it.
#[test]
fn a_recorder_comes_before_the_variable() {
    let folder = Folder::new();
    let run = Heaplens::on(&program("heap_profiles.c"), &["-q"]).arg("steps");
    let run = run.env("HEAPPROFILE", folder.file("profile")).finish().expect_status(0);
    run.assert_exact();
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_folder_that_is_not_there_is_said_once_and_the_program_goes_on() {
    for folder in ["/nowhere/at/all", "/etc/passwd"] {
        let mut run = Profiled::on("steps").env("HEAPPROFILE", &format!("{folder}/profile"));
        let output = run.command.env("HEAP_PROFILE_INUSE_INTERVAL", "3000000").output().expect("it starts");
        assert_eq!(output.status.code(), Some(0));
        Truth::parse(&String::from_utf8_lossy(&output.stdout));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            stderr.starts_with(&format!("heaplens: no heap profiles can be written to {folder}: error ")),
            "{stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

/// A limit of files is a signal that ends programs.
#[test]
fn a_profile_that_cannot_be_whole_is_not_there() {
    let folder = Folder::new();
    let script = format!(
        "ulimit -f 1; LD_PRELOAD={} HEAPPROFILE={} exec {} steps",
        AGENT.display(),
        folder.file("profile").display(),
        program("heap_profiles.c").display()
    );
    let output = Command::new("sh").arg("-c").arg(script).output().expect("sh starts");
    assert_eq!(output.status.code(), Some(0), "{:?}", output.status);
    assert_eq!(names(folder.path()), [""; 0]);
}

/// A pipe that nobody reads would be waited for.
#[test]
fn a_pipe_with_the_name_of_a_profile_is_left_alone() {
    let run = Profiled::on("steps");
    let pipe = run.folder.file("profile.0001.heap.part");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());
    let left = run.finish();
    Truth::parse(&left.stdout());
    assert!(pipe.metadata().expect("it is there").file_type().is_fifo());
}

#[test]
fn a_program_that_closes_every_descriptor_keeps_its_files() {
    let folder = Folder::new();
    let file = folder.file("own").display().to_string();
    let run = Profiled::new(&program("closes_all.c"), &[&file]);
    let left = run.env("HEAP_PROFILE_ALLOCATION_INTERVAL", "2000000").finish();
    let profiles = left.profiles("profile");
    assert!(profiles.len() > 5, "{}", profiles.len());
    assert_eq!(profiles.last().expect("one at the end").head, truth(&left.stdout(), None));
}

#[test]
fn a_program_that_gave_up_system_calls_writes_no_more_of_them() {
    let left = Profiled::on("confined").env("HEAP_PROFILE_ALLOCATION_INTERVAL", "40000").finish();
    assert!(left.stdout().ends_with("confined\n"), "{}", left.stdout());
    assert_eq!(left.profiles("profile").len(), 2, "those before it");
    assert!(left.said("due").len() > 100, "many more would have been due");
}

/// The lines that tell people to use tcmalloc's heap profiler for TensorFlow, with our library in its place.
#[test]
fn the_run_book_of_tcmalloc_works_word_for_word() {
    let test = "heap_profiles::the_run_book_of_tcmalloc_works_word_for_word";
    let folder = Folder::new();
    let own = |name: &str| folder.file(name).display().to_string();
    std::fs::copy(script("python_profiled.py"), own("script.py")).expect("the folder is writable");
    std::os::unix::fs::symlink(interpreters::any(), own("python")).expect("the folder is writable");
    let linked =
        Heaplens::bare(["agent", "--link"]).arg(own("libheaplens.so")).output().expect("heaplens starts");
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    let bash = |line: &str| {
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("a path"));
        let mut command = Command::new("bash");
        command.arg("-c").arg(line).env("PATH", path).current_dir(folder.path());
        command
    };
    let line =
        format!("LD_PRELOAD={} HEAPPROFILE={} python script.py", own("libheaplens.so"), own("profile"));
    let output = bash(&line).output().expect("bash starts");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let kept: i64 =
        said.trim().strip_prefix("kept ").and_then(|bytes| bytes.parse().ok()).expect("it says so");
    let [first, third] =
        ["profile.0001.heap", "profile.0002.heap"].map(|name| Profile::read(&folder.file(name)));
    assert_eq!(third.head[1] - first.head[1], kept / 2, "of four blocks two are between them");
    if read(test, Command::new("google-pprof").arg("--version")).is_none() {
        return;
    }
    for (option, begin) in [("--text", "Total: "), ("--dot", "digraph ")] {
        let line = format!("google-pprof {option} `which python` {}", own("profile.0002.heap"));
        let shown = read(test, &mut bash(&line)).expect("bash starts");
        assert!(shown.contains(begin), "{option}: {shown}");
    }
}
