//! Loops and their iterations: each kind of loop says how many it made, where it is, and whether that can be known for sure.

use heaplens_format::Bytes;
use heaplens_format::recording::{Frame, MarkKind, Process, decode};

use super::behaviour::loaded_late;
use super::interpreters::{self, Interpreter};
use super::script;
use crate::harness::{Finished, Heaplens};

/// What a program says about its loop, or the report: iterations, whether that is exact, the line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Iterations {
    count: u64,
    is_exact: bool,
    line: u64,
}

fn run_on(python: &Interpreter, words: &[&str]) -> Finished {
    let run = Heaplens::on(&python.path, &[]).arg(script(words[0]));
    words[1..].iter().fold(run, |run, word| run.arg(word)).finish().expect_status(0)
}

fn kinds(python: &Interpreter, program: &str) -> Vec<String> {
    let output = std::process::Command::new(&python.path).arg(script(program)).output();
    let text = String::from_utf8(output.expect("the interpreter starts").stdout).expect("names are text");
    text.lines().map(str::to_owned).collect()
}

/// `loop KIND ITERATIONS exact|about LINE [LEAST]`; `None` where there is no loop.
pub(super) fn said(run: &Finished) -> Option<Iterations> {
    let words = words(run);
    let number = |at: usize| words[at].parse().expect("a number");
    (number(1) > 0).then(|| Iterations { count: number(1), is_exact: words[2] == "exact", line: number(3) })
}

fn words(run: &Finished) -> Vec<String> {
    let stdout = run.stdout();
    let words = stdout.lines().find_map(|line| line.strip_prefix("loop ")).expect("it says what is true");
    words.split(' ').map(str::to_owned).collect()
}

/// Whether a loop is the one that the program speaks of, with as many iterations. Where the program says how many can be seen at least,
/// the others may be missing.
fn is_said(found: &Iterations, run: &Finished) -> bool {
    let Some(said) = said(run) else { return false };
    let least = words(run).get(4).map_or(said.count, |word| word.parse().expect("a number"));
    (least..=said.count).contains(&found.count) && (found.is_exact, found.line) == (said.is_exact, said.line)
}

pub(super) fn reported(run: &Finished) -> Option<Iterations> {
    let found = run.report().0["iterations"].clone();
    found["count"].as_u64().map(|count| Iterations {
        count,
        is_exact: found["exact"].as_bool().expect("it is said whether it is exact"),
        line: found["loop"]["line"].as_u64().expect("a loop has a line"),
    })
}

/// What is wrong with the runs of a program's kinds, each with its interpreter and its kind.
fn wrong_kinds(test: &str, program: &str, wrong: impl Fn(&Finished) -> Option<String>) -> Vec<String> {
    let pythons = interpreters::in_turn(&format!("python::loops::{test}"));
    let mut found = Vec::new();
    for (case, kind) in kinds(&pythons.of(0)[0], program).into_iter().enumerate() {
        for python in pythons.of(case) {
            let wrong = wrong(&run_on(python, &[program, &kind]));
            found.extend(wrong.map(|wrong| format!("{} {kind}: {wrong}", python.version)));
        }
    }
    found
}

#[test]
fn every_kind_of_loop_is_counted_and_named() {
    let wrong = wrong_kinds("every_kind_of_loop_is_counted_and_named", "python_loops.py", |run| {
        let found = reported(run);
        let is_right = found.as_ref().map_or(said(run).is_none(), |found| is_said(found, run));
        (!is_right).then(|| format!("{found:?} for {:?}", said(run)))
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Where the loop that shows the iterations of one around it is replaced by another, two iterations may be missed.
#[test]
fn iterations_that_only_loops_inside_show_are_counted_when_these_change() {
    for python in interpreters::in_turn("python::loops::changing").of(3) {
        let run = run_on(python, &["python_loops.py", "while_around_changing_loops"]);
        let (said, found) = (said(&run).expect("a loop"), reported(&run).expect("a loop"));
        assert_eq!((found.line, found.is_exact), (said.line, false), "{}", python.version);
        assert!((said.count - 2..=said.count).contains(&found.count), "{}: {found:?}", python.version);
    }
}

/// The loops of the recording at a line. Python 3.12 has the code for an exception in an `await` at the end of a function, and its jump back
/// looks like one more.
fn recorded(run: &Finished, line: u64) -> Vec<Iterations> {
    let (process, line) = (process(run), line as u32);
    let loops = process.loops.iter().filter(|one| one.line == line);
    loops.map(|one| Iterations { count: one.iterations, is_exact: one.is_exact, line: line.into() }).collect()
}

/// While one frame is suspended, others run the same loop: whatever comes back goes on where it was.
#[test]
fn loops_whose_frames_take_turns_are_counted_frame_by_frame() {
    let test = "loops_whose_frames_take_turns_are_counted_frame_by_frame";
    let wrong = wrong_kinds(test, "python_turns.py", |run| {
        let said = said(run).expect("it has a loop");
        let found = recorded(run, said.line);
        (!found.iter().any(|found| is_said(found, run))).then(|| format!("{found:?} for {said:?}"))
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Which of them ran for longest is a matter of microseconds.
#[test]
fn of_loops_side_by_side_every_run_chooses_the_same() {
    let pythons = interpreters::in_turn("python::loops::of_loops_side_by_side_every_run_chooses_the_same");
    for (case, kind) in ["tasks", "twins", "queue"].into_iter().enumerate() {
        for python in pythons.of(case) {
            for _ in 0..4 {
                let run = run_on(python, &["python_side_by_side.py", kind]);
                assert_eq!(reported(&run), said(&run), "{} {kind}", python.version);
            }
        }
    }
}

#[test]
fn the_report_names_the_loop_and_its_iterations() {
    let python = &interpreters::all("python::loops::the_report_names_the_loop_and_its_iterations")[0];
    let run = run_on(python, &["python_loops.py", "for_range"]);
    let line = said(&run).expect("it has a loop").line;
    let words = format!("  iterations      137 of the loop at python_loops.py:{line} in for_range");
    assert!(run.stderr().lines().any(|line| line == words), "{}", run.stderr());
    let about = run_on(python, &["python_loops.py", "while_counter"]);
    assert!(about.stderr().contains("  iterations      ≈ 120 of the loop at"), "{}", about.stderr());
}

/// The process that ran the script.
fn process(run: &Finished) -> Process {
    let bytes = std::fs::read(run.recording()).expect("a recording was written");
    let recording = decode(&bytes).expect("it is a recording").recording;
    recording.processes.into_iter().find(|process| !process.marks.is_empty()).expect("it has marks")
}

/// What the sites of a line of the script had at a mark, by its index.
fn live_at(process: &Process, script: &str, line: u32, mark: usize) -> u64 {
    let is_there = |node: u32| match process.nodes[node as usize - 1].frame {
        Frame::Python { code, line: own } => {
            own == line && process.codes[code.get() as usize - 1].file.ends_with(script)
        }
        _ => false,
    };
    let sites =
        process.sites.iter().enumerate().filter(|(_, site)| path(process, site.node.get()).any(is_there));
    let live = sites.map(|(at, site)| {
        let history = process.histories.iter().find(|history| history.site as usize == at);
        history.and_then(|history| history.at(mark)).unwrap_or(site.live).bytes
    });
    live.sum::<Bytes>().get()
}

/// The nodes of a stack, innermost first.
fn path(process: &Process, node: u32) -> impl Iterator<Item = u32> {
    let parent = |&node: &u32| Some(process.nodes[node as usize - 1].parent.get()).filter(|&node| node != 0);
    std::iter::successors(Some(node).filter(|&node| node != 0), parent)
}

/// A mark is made by the first event of an iteration, before that event counts: iteration n finds what n - 1 iterations have kept.
#[test]
fn the_live_bytes_of_a_site_at_every_mark_are_exact() {
    for python in interpreters::some("python::loops::the_live_bytes_of_a_site_at_every_mark_are_exact") {
        let run = run_on(&python, &["python_grows.py", "1500"]);
        let stdout = run.stdout();
        let words: Vec<u64> = stdout.split(' ').filter_map(|word| word.trim().parse().ok()).collect();
        let (size, line) = (words[0], words[1] as u32);
        let process = process(&run);
        let mut marks = 0;
        for (index, mark) in process.marks.iter().enumerate() {
            if let MarkKind::Iteration { iterations, .. } = mark.kind {
                assert_eq!(
                    live_at(&process, "python_grows.py", line, index),
                    (iterations - 1) * size,
                    "iteration {iterations}"
                );
                marks += 1;
            }
        }
        assert!((100..=400).contains(&marks), "{marks} marks of 1,500 iterations");
    }
}

/// Iterations begin with another line than before when a warm-up is over. From the second on that does, none goes without a mark: the
/// first may as well be the rest of the iteration before it.
#[test]
fn a_loop_that_goes_over_to_another_line_keeps_its_marks() {
    for python in interpreters::some("python::loops::a_loop_that_goes_over_to_another_line_keeps_its_marks") {
        // An object that is sampled by chance would be taken for what an iteration does first.
        let run = Heaplens::on(&python.path, &["--python-allocations", "none"]);
        let run = run.arg(script("python_two_lines.py")).finish().expect_status(0);
        let stdout = run.stdout();
        let rare: Vec<u64> = stdout.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let iterations = |kind: &MarkKind| match kind {
            MarkKind::Iteration { iterations, .. } => Some(*iterations),
            _ => None,
        };
        let marked: Vec<u64> = process(&run).marks.iter().filter_map(|mark| iterations(&mark.kind)).collect();
        let missed: Vec<&u64> = rare.iter().filter(|iteration| !marked.contains(iteration)).collect();
        assert!(rare.len() == 23 && missed.is_empty(), "{}: {missed:?} of {rare:?}", python.version);
    }
}

/// `marked LINE BYTES LABEL`: what the line has when the mark of this label is made.
fn marked(line: &str) -> Option<(u32, u64, &str)> {
    let mut words = line.strip_prefix("marked ")?.splitn(3, ' ');
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?))
}

#[test]
fn marks_have_their_labels_and_sites_their_bytes_at_them() {
    for python in
        interpreters::versions("python::loops::marks_have_their_labels_and_sites_their_bytes_at_them")
    {
        assert_marks(&run_on(&python, &["python_marks.py"]), &python.version);
    }
}

/// The end of its script, too, which is where the program ends the interpreter.
#[test]
fn marks_of_an_interpreter_that_is_loaded_late_are_there() {
    let test = "python::loops::marks_of_an_interpreter_that_is_loaded_late_are_there";
    let pythons = interpreters::some(test);
    for (python, run) in loaded_late(test, pythons, "global", &[], &["python_marks.py"]) {
        assert_marks(&run, &python.version);
    }
}

fn assert_marks(run: &Finished, version: &str) {
    let (stdout, process) = (run.stdout(), process(run));
    // Before an interpreter is seen the recorder makes its own.
    let is_others = |kind: &MarkKind| matches!(kind, MarkKind::Iteration { .. } | MarkKind::Interval);
    let own = |index: &usize| !is_others(&process.marks[*index].kind);
    let indices: Vec<usize> = (0..process.marks.len()).filter(own).collect();
    let said: Vec<_> = stdout.lines().filter_map(marked).collect();
    assert_eq!(
        (said.len(), indices.len()),
        (3, 4),
        "Python {version}: the last one is the end of the script"
    );
    for (&(line, bytes, label), &index) in said.iter().zip(&indices) {
        let kind = &process.marks[index].kind;
        assert!(matches!(kind, MarkKind::User { label: found, .. } if found == label), "{kind:?}");
        assert_eq!(live_at(&process, "python_marks.py", line, index), bytes, "Python {version} {label}");
    }
    let (line, bytes, _) = said[2];
    assert_eq!(process.marks[indices[3]].kind, MarkKind::EndOfScript, "Python {version}");
    assert_eq!(live_at(&process, "python_marks.py", line, indices[3]), bytes, "what it holds at its end");
}
