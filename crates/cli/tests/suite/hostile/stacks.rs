//! Stacks that are large, deep, many, or go through code that is unloaded without our notice.

use std::process::Command;

use crate::harness::{Heaplens, Report, program, program_with, shared_library, skip};

#[test]
fn stacks_beyond_the_first_limit_and_of_a_gibibyte_are_exact() {
    Heaplens::on(&program("huge_stacks.c"), &[]).finish().expect_status(0).assert_exact();
}

#[test]
fn ten_thousand_frames_are_all_there() {
    let run = Heaplens::on(&program("stacks.cpp"), &[]).arg("10000").finish().expect_status(0);
    run.assert_exact();
    let sites = run.report().sites();
    let deepest = sites.iter().max_by_key(|site| site.stack.len()).expect("there are sites");
    let named = |name: &str| deepest.stack.iter().filter(|f| f.function.as_deref() == Some(name)).count();
    assert_eq!((named("recurse"), named("main")), (10_001, 1));
}

#[test]
fn a_thousand_coroutines_are_exact() {
    Heaplens::on(&program("many_coroutines.c"), &[]).arg("1000").finish().expect_status(0).assert_exact();
}

/// Forty rounds open a converter of each character set once, and its module allocates once.
#[test]
fn modules_that_libc_unloads_silently_keep_their_own_blocks() {
    let (first, second) = (shared_library("plugin_first.c"), shared_library("plugin_second.c"));
    let run =
        Heaplens::on(&program("unload_inside.c"), &[]).arg(&first).arg(&second).finish().expect_status(0);
    if !run.stdout().contains("note converters 320\n") {
        let test = "hostile::stacks::modules_that_libc_unloads_silently_keep_their_own_blocks";
        return skip(test, "this system has not all character sets");
    }
    run.assert_exact();
    let report = run.report();
    for module in ["UTF-7.so", "UTF-16.so", "UTF-32.so", "ISO-2022-JP.so"] {
        assert_eq!(allocated_by(&report, module), 40, "blocks of {module}");
    }
}

/// Blocks whose innermost frame is in this module.
fn allocated_by(report: &Report, module: &str) -> i64 {
    let sites = report.sites().into_iter().filter(|site| {
        let innermost = site.stack.first().and_then(|frame| frame.module.as_deref());
        innermost.is_some_and(|path| path.ends_with(&format!("/{module}")))
    });
    sites.map(|site| site.amounts[3]).sum()
}

/// `stack NAME BYTES`.
fn stack_needs(output: &str) -> Vec<(&str, u64)> {
    let lines = output.lines().filter_map(|line| line.strip_prefix("stack ")?.split_once(' '));
    lines.map(|(name, bytes)| (name, bytes.parse().expect("a number"))).collect()
}

/// What each call of a program needs beyond what it needs alone is at most so much, under each of these.
fn needs_at_most(source: &str, calls: usize, modes: &[(&[&str], u64)]) {
    let name = source.strip_suffix(".c").expect("a C program");
    let program = program_with(source, name, &["-Wl,-z,now"]).expect("an ordinary program");
    let alone = Command::new(&program).output().expect("it starts");
    let alone = String::from_utf8(alone.stdout).expect("a text");
    let alone = stack_needs(&alone);
    for (options, most) in modes {
        let run = Heaplens::on(&program, &[&["-q"], *options].concat()).finish().expect_status(0);
        let said = run.stdout();
        let with = stack_needs(&said);
        assert_eq!((alone.len(), with.len()), (calls, calls), "{options:?}: {said}");
        for ((name, alone), (also, with)) in alone.iter().zip(with) {
            assert!(*name == also && with <= alone + most, "{options:?} {name}: {alone} B alone, {with} B");
        }
    }
}

#[test]
fn starting_a_program_takes_a_kibibyte_of_stack_at_most() {
    needs_at_most("starts_programs.c", 8, &[(&[], 1024)]);
}

/// Memory checks keep the stack of each free, too.
#[test]
fn allocating_on_a_coroutines_stack_takes_a_kibibyte_of_it_at_most() {
    let modes: [(&[&str], u64); 3] = [(&[], 1024), (&["--sample", "64"], 1024), (&["--guard=all"], 1536)];
    needs_at_most("allocates_on_stacks.c", 11, &modes);
}

/// The C library unmaps a large block by itself; what is above the coroutine's stack is gone then.
#[test]
fn a_coroutine_goes_on_when_the_block_above_its_stack_was_freed() {
    let flags = ["-O1", "-falign-functions=1", "-fno-toplevel-reorder"];
    let program = program_with("coroutine_below_a_block.c", "coroutine_below_a_block", &flags);
    let program = program.expect("an ordinary program");
    for options in [&[][..], &["--sample", "64"]] {
        let run = Heaplens::on(&program, options).finish().expect_status(0);
        assert_eq!(run.stdout(), "adjacent\nalive\n", "{options:?}");
    }
}
