//! `heaplens report`: the same recording again, in every format, damaged or not, with what names there are.

use std::path::Path;
use std::process::Output;

use crate::harness::{Finished, Heaplens, Report, program, program_with};

fn recorded(source: &str) -> Finished {
    Heaplens::on(&program(source), &[]).finish()
}

fn report(file: &Path, format: &str) -> Output {
    Heaplens::bare(["report", "--format", format]).arg(file).output().expect("heaplens starts")
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

#[test]
fn the_text_names_the_command_its_end_and_its_largest_line() {
    let run = recorded("sampled.c").expect_status(0);
    let text = text(&report(&run.recording(), "text").stdout);
    assert!(text.contains("sampled"), "the command: {text}");
    assert!(text.contains("exit 0"), "the end: {text}");
    assert!(text.contains("sampled.c:14"), "the line with 10 MB live: {text}");
}

#[test]
fn a_recording_can_be_read_where_the_program_is_not() {
    let run = recorded("sampled.c").expect_status(0);
    let moved = run.folder.file("elsewhere.hlr");
    std::fs::rename(run.recording(), &moved).expect("the folder is writable");
    let here = Report::parse(&report(&moved, "json").stdout);
    assert_eq!(here.0, run.report().0);
}

#[test]
fn collapsed_stacks_add_up_to_the_live_bytes() {
    let run = recorded("sampled.c").expect_status(0);
    let collapsed = text(&report(&run.recording(), "collapsed").stdout);
    let of = |name: &str| -> u64 {
        let lines = collapsed.lines().filter(|line| line.contains(name));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    };
    assert_eq!([of("small"), of("middle"), of("large")], [4_788_000, 8_998_000, 10_009_900], "{collapsed}");
}

#[test]
fn without_line_numbers_there_are_names() {
    let path =
        program_with("stacks.cpp", "stacks-without-lines", &["-g0"]).expect("an ordinary program compiles");
    let run = Heaplens::on(&path, &[]).finish().expect_status(0);
    let named = |site: &crate::harness::Site| {
        let first = site.stack.first()?;
        Some((first.function.clone()?, first.file.clone()))
    };
    let names: Vec<_> = run.report().sites().iter().filter_map(named).collect();
    for name in ["leaf_in_catch", "compare", "leaf_after_jump"] {
        assert!(names.contains(&(name.to_owned(), None)), "{name} is not among {names:?}");
    }
}

#[test]
fn a_binary_that_vanished_gives_module_and_offset() {
    let folder = crate::harness::Folder::new();
    let copy = folder.file("vanishing");
    let script = format!("cp '{}' '{1}' && '{1}'; rm '{1}'", program("plain.c").display(), copy.display());
    let run = Heaplens::on("/bin/sh".as_ref(), &[]).arg("-c").arg(script).finish().expect_status(0);
    let report = run.report_on(run.truth().pid());
    let here = |module: &Option<String>| module.as_deref().is_some_and(|path| path.ends_with("/vanishing"));
    let frames = report.sites().into_iter().flat_map(|site| site.stack).filter(|frame| here(&frame.module));
    let frames: Vec<_> = frames.collect();
    assert!(!frames.is_empty(), "the module is named");
    assert!(frames.iter().all(|frame| frame.file.is_none()), "nobody can know lines: {frames:?}");
    let pid = run.truth().pid().to_string();
    let output =
        Heaplens::bare(["report", "--pid", &pid]).arg(run.recording()).output().expect("heaplens starts");
    assert!(text(&output.stdout).contains("vanishing+0x"), "{}", text(&output.stdout));
}

#[test]
fn a_torn_recording_is_read_as_far_as_it_goes_and_says_so() {
    let run = recorded("basic.cpp").expect_status(0);
    let whole = std::fs::read(run.recording()).expect("there is a recording");
    let torn = run.folder.file("torn.hlr");
    std::fs::write(&torn, &whole[..whole.len() * 2 / 3]).expect("the folder is writable");
    let output = report(&torn, "text");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("missing") || said.contains("torn") || said.contains("damaged"), "{said}");
}

#[test]
fn no_damage_to_a_recording_makes_the_report_panic() {
    let run = recorded("plain.c").expect_status(4);
    let whole = std::fs::read(run.recording()).expect("there is a recording");
    let damaged = run.folder.file("damaged.hlr");
    let mut random = 12345u64;
    for _ in 0..200 {
        let mut bytes = whole.clone();
        for _ in 0..3 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (random >> 20) as usize % bytes.len();
            bytes[at] ^= (random >> 50) as u8 | 1;
        }
        std::fs::write(&damaged, &bytes).expect("the folder is writable");
        let output = report(&damaged, "text");
        let stderr = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 125)), "{:?}: {stderr}", output.status);
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}
