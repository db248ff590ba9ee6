//! Functions of frameworks that we export, where the framework is not there, or not as it usually is.

use crate::harness::{Heaplens, program, program_with};

#[test]
fn names_of_tensorflow_that_no_library_defines_can_be_called() {
    let run = Heaplens::on(&program("looks_up_tensorflow.c"), &[]).finish().expect_status(13);
    run.assert_exact();
    let said = run.stdout();
    let calls = said.lines().find_map(|line| line.strip_prefix("calls ")).expect("the program speaks");
    assert_eq!(calls, "31", "an export of ours was not found");
    assert_eq!(run.report().loss("calls of functions that no library defines"), 31);
}

#[test]
fn the_same_without_frameworks_changes_nothing_for_the_program() {
    let options = ["--frameworks", "no"];
    Heaplens::on(&program("looks_up_tensorflow.c"), &options).finish().expect_status(13).assert_exact();
}

#[test]
fn a_pool_of_a_library_with_either_hash_table_is_reached() {
    for style in ["gnu", "sysv"] {
        let (name, option) = (format!("libpool_{style}.so"), format!("-Wl,--hash-style={style}"));
        let library = program_with("pool_library.c", &name, &["-shared", "-fPIC", &option]);
        let library = library.expect("an ordinary library compiles");
        let run = Heaplens::on(&program("uses_pool.c"), &[]).arg(&library).finish().expect_status(14);
        assert_eq!(run.report().loss("calls of functions that no library defines"), 0, "{style}");
    }
}
