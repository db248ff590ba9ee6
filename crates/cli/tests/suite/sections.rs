//! Leak checks of sections: what programs say that they left in each, and what the report says, line by line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::harness::{Folder, Heaplens, Report, program_with};
use crate::python::interpreters;

const HEADERS: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../agent/include");
const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python");

/// Bytes and blocks by section, kind and line.
type Left = BTreeMap<(String, String, u64), (u64, u64)>;

/// `section NAME KIND LINE BYTES BLOCKS`, as programs say it.
fn truth(output: &Output) -> Left {
    let mut left = Left::new();
    let text = String::from_utf8_lossy(&output.stdout);
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let ["section", name, kind, line, rest @ ..] = &words[..] else { continue };
        let number = |word: &str| word.parse::<u64>().expect("a number");
        let blocks = rest.get(1).map_or(1, |word| number(word));
        add(&mut left, (name, kind, number(line)), (number(rest[0]), blocks));
    }
    assert!(text.contains("-end") || text.contains("section"), "the program speaks: {text}");
    left
}

fn add(left: &mut Left, (name, kind, line): (&str, &str, u64), (bytes, blocks): (u64, u64)) {
    let sum = left.entry((name.to_owned(), kind.to_owned(), line)).or_default();
    *sum = (sum.0 + bytes, sum.1 + blocks);
}

/// What a report says of the lines of a source, without what the C library allocates for itself; of blocks of at least `smallest` bytes.
fn found(report: &Value, source: &str, smallest: u64) -> Left {
    let mut left = Left::new();
    for section in report["sections"].as_array().expect("sections") {
        let lines = ["lost", "held"].map(|of| section[of].as_array().expect("lines"));
        for line in lines.into_iter().flatten() {
            let number = |field: &str| line[field].as_u64().expect("a number");
            let at = &line["location"];
            let is_own = at["file"].as_str().is_some_and(|file| file.ends_with(source));
            let (bytes, blocks) = (number("bytes"), number("blocks"));
            if is_own && line["category"] == "heap" && !is_of_libc(line) && bytes >= smallest * blocks {
                let of = |value: &Value| value.as_str().expect("a name").to_owned();
                let (name, kind) = (of(&section["name"]), of(&line["kind"]));
                add(&mut left, (&name, &kind, at["line"].as_u64().expect("a line")), (bytes, blocks));
            }
        }
    }
    left
}

fn is_of_libc(line: &Value) -> bool {
    let module = line["stack"][0]["module"].as_str().unwrap_or_default();
    module.contains("libc.so") || module.contains("ld-linux")
}

/// A run of one command of Heaplens on a program: its output, and its report.
fn run(command: &str, options: &[&str], program: &Path, words: &[&str]) -> (Output, Value) {
    let folder = Folder::new();
    let json = folder.file("report.json");
    let mut run = Heaplens::bare([command, "--json"]);
    run.arg(&json).args(options);
    if command == "run" {
        run.arg("-o").arg(folder.file("run.hlr")).args(["--python-allocations", "none", "--passive"]);
    }
    run.env("PYTHONPATH", PACKAGE).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = run.arg(program).args(words).output().expect("heaplens starts");
    assert!(output.status.code().is_some(), "{}", text(&output));
    let report = std::fs::read(json).unwrap_or_else(|error| panic!("{error}: {}", text(&output)));
    (output, Report::parse(&report).whole())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The program, at the level of optimisation at which each block has its line; loaded at any address or at a fixed one.
fn sections(flags: &[&str]) -> PathBuf {
    let name = format!("sections{}", flags.concat().replace('-', "_"));
    let flags: Vec<&str> = [HEADERS].into_iter().chain(flags.iter().copied()).collect();
    program_with("sections.c", &name, &flags).expect("an ordinary program compiles")
}

/// By both commands.
fn assert_exact(flags: &[&str], words: &[&str]) {
    for command in ["memcheck", "run"] {
        let (output, report) = run(command, &[], &sections(flags), words);
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(found(&report, "sections.c", 0), truth(&output), "{command} {words:?}\n{}", text(&output));
    }
}

#[test]
fn what_a_section_left_is_what_the_program_says_of_each_line() {
    assert_exact(&[], &["plain"]);
    assert_exact(&["-O0"], &["plain"]);
}

#[test]
fn blocks_of_an_inner_section_are_also_the_outer_ones() {
    assert_exact(&[], &["nested"]);
}

#[test]
fn what_other_threads_allocate_meanwhile_is_the_sections() {
    assert_exact(&[], &["threads"]);
}

#[test]
fn a_section_that_gives_everything_back_left_nothing() {
    let (output, report) = run("run", &[], &sections(&[]), &["healthy"]);
    let section = &report["sections"][0];
    assert_eq!((&section["lost"], &section["held"]), (&serde_json::json!([]), &serde_json::json!([])));
    assert_eq!(
        (section["left"]["bytes"].as_u64(), section["allocated"]["blocks"].as_u64()),
        (Some(0), Some(101))
    );
    assert_eq!(section["allocated"], section["freed"]);
    assert!(text(&output).contains("eval: 1 pass, allocated"), "{}", text(&output));
    assert!(text(&output).contains("left nothing of it on the heap"), "{}", text(&output));
}

#[test]
fn a_scope_of_cpp_is_a_section_also_when_an_exception_leaves_it() {
    let program =
        program_with("sections.cpp", "sections_of_scopes", &[HEADERS]).expect("an ordinary program compiles");
    for command in ["memcheck", "run"] {
        let (output, report) = run(command, &[], &program, &[]);
        // The exception itself is smaller.
        assert_eq!(found(&report, "sections.cpp", 500), truth(&output), "{command}\n{}", text(&output));
        let lines: Vec<_> =
            report["sections"].as_array().expect("sections").iter().map(|one| &one["line"]).collect();
        assert_eq!(lines, [25, 34], "where the objects are made");
    }
}

#[test]
fn a_program_at_a_fixed_address_finds_the_functions_too() {
    assert_exact(&["-no-pie", "-fno-pie"], &["plain"]);
}

#[test]
fn without_heaplens_a_program_with_sections_runs_as_ever() {
    for flags in [&[][..], &["-no-pie", "-fno-pie"], &["-static"]] {
        let output = std::process::Command::new(sections(flags)).arg("plain").output().expect("it starts");
        assert!(output.status.success() && !truth(&output).is_empty(), "{flags:?}");
    }
}

#[test]
fn passes_of_one_section_are_summed_and_each_says_what_it_left() {
    assert_exact(&[], &["passes", "4"]);
    let (_, report) = run("run", &[], &sections(&[]), &["passes", "8"]);
    let section = &report["sections"][0];
    assert_eq!((section["passes"].as_u64(), section["bytes_per_pass"].as_f64()), (Some(8), Some(336.0)));
    let ends = section["ends"].as_array().expect("ends");
    for (pass, end) in (1..).zip(ends) {
        let number = |field: &str| end[field].as_i64().expect("a number");
        assert_eq!([number("pass"), number("bytes"), number("blocks")], [pass, 336 * pass, 2 * pass]);
        assert_eq!([number("added_bytes"), number("added_blocks")], [336, 2]);
    }
    assert_eq!((ends.len(), &section["checked"]["at"]), (8, &Value::from("pass")));
}

/// The end of pass 7 has no heap snapshot of its own.
#[test]
fn the_last_of_many_passes_is_checked_at_exit_at_the_latest() {
    let (output, report) = run("memcheck", &[], &sections(&[]), &["passes", "7"]);
    assert_eq!(found(&report, "sections.c", 0), truth(&output));
    assert_eq!(report["sections"][0]["checked"]["at"], "exit");
    assert!(text(&output).contains("looked for at exit"), "{}", text(&output));
}

#[test]
fn a_section_that_never_ends_is_checked_at_exit_and_said_to_be_open() {
    for command in ["memcheck", "run"] {
        let (output, report) = run(command, &[], &sections(&[]), &["open"]);
        assert_eq!(found(&report, "sections.c", 0), truth(&output), "{}", text(&output));
        assert_eq!(report["sections"].as_array().map(Vec::len), Some(1), "an end without a begin is none");
        assert_eq!(report["sections"][0]["ended"], false);
        assert!(text(&output).contains("it had not ended when the program did"), "{}", text(&output));
    }
}

#[test]
fn the_line_that_opens_a_section_and_what_holds_its_blocks_are_named() {
    let (output, report) = run("run", &[], &sections(&[]), &["plain"]);
    let section = &report["sections"][0];
    assert!(section["file"].as_str().is_some_and(|file| file.ends_with("sections.c")), "{section}");
    let held = section["held"].as_array().expect("lines");
    let by_kept = |line: &&Value| line["held_by"][0].as_str() == Some("global kept");
    assert_eq!(held.iter().filter(by_kept).count(), held.len(), "{section}");
    assert!(text(&output).contains("held by global kept"), "{}", text(&output));
}

/// `--error-exitcode` follows the section alone, since the program loses blocks before and after it.
#[test]
fn between_two_marks_only_what_was_allocated_there_counts() {
    let program = sections(&[]);
    let options = ["--leak-check-from=warm", "--to=done", "--error-exitcode=9", "--leak-check=full"];
    let (output, report) = run("memcheck", &options, &program, &["marks"]);
    assert_eq!(output.status.code(), Some(9), "{}", text(&output));
    let renamed = |left: Left| -> Left {
        left.into_iter().map(|((_, kind, line), amount)| (("eval".to_owned(), kind, line), amount)).collect()
    };
    assert_eq!(renamed(found(&report, "sections.c", 0)), truth(&output));
    assert_eq!(report["lost"]["definitely"], serde_json::json!({"bytes": 220, "blocks": 1}));
    let (output, _) =
        run("memcheck", &["--leak-check-from=done", "--to=end", "--error-exitcode=9"], &program, &["marks"]);
    assert_eq!(output.status.code(), Some(9), "a block of 14 bytes is lost after the last mark");
    let healthy = ["--leak-check-from=start", "--to=warm", "--error-exitcode=9"];
    let (output, report) = run("memcheck", &healthy, &program, &["marks"]);
    assert_eq!(
        report["lost"]["definitely"],
        serde_json::json!({"bytes": 12, "blocks": 1}),
        "{}",
        text(&output)
    );
    let (output, report) = run("run", &options[..2], &program, &["marks"]);
    assert_eq!(renamed(found(&report, "sections.c", 0)), truth(&output));
}

#[test]
fn a_mark_that_is_never_set_is_said_to_be_missing() {
    let options = ["--leak-check-from=nowhere", "--error-exitcode=9"];
    let (output, report) = run("memcheck", &options, &sections(&[]), &["marks"]);
    assert_eq!(output.status.code(), Some(9), "that nothing was checked is no success");
    assert_eq!(report["lost"]["not_done"], "the mark that begins the section was never set");
    assert!(text(&output).contains("was never set"), "{}", text(&output));
}

/// Bytes and blocks of each section, by kind, of blocks of 1,000 bytes and more.
fn sums(left: &Left) -> BTreeMap<(&str, &str), (u64, u64)> {
    let mut sums = BTreeMap::new();
    for ((name, kind, _), (bytes, blocks)) in left {
        let sum: &mut (u64, u64) = sums.entry((name.as_str(), kind.as_str())).or_default();
        *sum = (sum.0 + bytes, sum.1 + blocks);
    }
    sums
}

/// Garbage counts as held.
fn without_garbage(left: Left) -> Left {
    let mut merged = Left::new();
    for ((name, kind, line), amount) in left {
        let kind = if kind == "garbage" { "held" } else { kind.as_str() };
        add(&mut merged, (&name, kind, line), amount);
    }
    merged
}

fn python(interpreter: &Path, case: &str) -> (Output, Value, Left) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/python_sections.py");
    let (output, report) = run("run", &[], interpreter, &[script, case]);
    assert!(output.status.success(), "{}", text(&output));
    let left = found(&report, "python_sections.py", 1000);
    (output, report, left)
}

#[test]
fn a_with_statement_of_python_is_a_section() {
    let test = "sections::a_with_statement_of_python_is_a_section";
    for interpreter in interpreters::some(test) {
        let (output, report, left) = python(&interpreter.path, "plain");
        // Before 3.11 code objects keep the frames of functions that have returned, with old pointers in them.
        let keeps_frames = ["3.8", "3.9", "3.10"].contains(&interpreter.version.as_str());
        let [left, said] =
            [left, truth(&output)].map(|of| if keeps_frames { without_garbage(of) } else { of });
        assert_eq!(sums(&left), sums(&said), "Python {}\n{}", interpreter.version, text(&output));
        let section = &report["sections"][0];
        assert!(
            section["file"].as_str().is_some_and(|file| file.ends_with("python_sections.py")),
            "{section}"
        );
        let held = section["held"].as_array().expect("lines");
        let kept = held.iter().find(|line| line["bytes"] == 100_033).expect("what keep() left");
        assert_eq!(kept["held_by"][0], "module __main__", "Python {}: {kept}", interpreter.version);
    }
}

/// A section, and the bytes and blocks that are held at its end.
type Held = (&'static str, u64, u64);

#[test]
fn sections_of_python_end_with_exceptions_and_nest_and_overlap() {
    let test = "sections::sections_of_python_end_with_exceptions_and_nest_and_overlap";
    let cases: [(&str, &[Held]); 7] = [
        ("raises", &[("raises", 70_033, 1)]),
        ("nested", &[("outer", 36_099, 3), ("inner", 12_033, 1)]),
        ("passes", &[("pass", 36_132, 4)]),
        ("thread", &[("thread", 15_033, 1)]),
        ("tasks", &[("first", 33_066, 2), ("second", 51_099, 3)]),
        ("fork", &[]),
        ("healthy", &[]),
    ];
    let pythons = interpreters::in_turn(test);
    for (number, (case, expected)) in cases.into_iter().enumerate() {
        let held = |&(name, bytes, blocks): &Held| ((name, "held"), (bytes, blocks));
        let expected: BTreeMap<_, _> = expected.iter().map(held).collect();
        for interpreter in pythons.of(number) {
            let (output, _, left) = python(&interpreter.path, case);
            assert_eq!(sums(&left), expected, "{case} on Python {}\n{}", interpreter.version, text(&output));
        }
    }
}

#[test]
fn the_html_page_has_each_line_that_a_section_left() {
    let run = Heaplens::on(&sections(&[]), &["-q"]).arg("plain").finish().expect_status(0);
    let page = run.folder.file("page.html");
    let written = Heaplens::bare(["report"]).arg(run.recording()).arg("--html").arg(&page).output();
    assert!(written.expect("heaplens starts").status.success());
    let page = std::fs::read_to_string(page).expect("the page");
    let report = run.report().whole();
    let known = report["sections"].as_array().expect("sections");
    let articles: Vec<&str> = page.split("data-section=\"").skip(1).collect();
    assert_eq!(articles.len(), known.len());
    for (section, article) in known.iter().zip(articles) {
        assert!(article.starts_with(section["name"].as_str().expect("a name")), "{article}");
        for line in ["lost", "held"].iter().flat_map(|of| section[of].as_array().expect("lines")) {
            let place = format!("sections.c:{}", line["location"]["line"]);
            let row = article.split("<tr>").find(|row| row.contains(&place) || !line["location"].is_object());
            let row = row.unwrap_or_else(|| panic!("no row for {line}: {article}"));
            assert!(row.contains(&format!("<td>{}</td>", line["blocks"])), "{line}: {row}");
        }
    }
    assert!(page.contains("definitely lost"), "the program loses some");
}
