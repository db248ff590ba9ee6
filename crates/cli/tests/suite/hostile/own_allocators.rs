//! Programs that bring allocation functions of their own.

use crate::harness::{Heaplens, program, program_with, rust_program, shared_library};

#[test]
fn a_program_with_its_own_malloc_keeps_it() {
    let run = Heaplens::on(&program("own_malloc.c"), &[]).finish().expect_status(11);
    assert!(run.stdout().contains("own malloc served all\n"), "{}", run.stdout());
}

#[test]
fn a_program_with_its_own_malloc_is_not_called_complete() {
    let run = Heaplens::on(&program("own_malloc.c"), &[]).finish().expect_status(11);
    assert!(
        !run.stderr().contains("No allocation events lost"),
        "none of its blocks was seen: {}",
        run.stderr()
    );
    assert!(run.stderr().contains("malloc of its own"), "one sentence says why: {}", run.stderr());
}

#[test]
fn a_library_with_its_own_operators_keeps_both_halves() {
    let library = shared_library("own_operators_library.cpp");
    let folder = library.parent().expect("a library lies in a folder").display().to_string();
    let flags = [
        &format!("-L{folder}"),
        "-Wl,--no-as-needed",
        "-lown_operators_library",
        &format!("-Wl,-rpath,{folder}"),
    ];
    let path = program_with("own_operators.cpp", "own_operators", &flags).expect("it links");
    Heaplens::on(&path, &[]).finish().expect_status(0).assert_exact();
}

#[test]
fn panics_that_unwind_and_are_caught_are_exact() {
    Heaplens::on(&rust_program("caught_panics.rs"), &[]).finish().expect_status(0).assert_exact();
}
