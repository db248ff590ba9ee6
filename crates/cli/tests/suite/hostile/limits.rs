//! Limits that were set before the program began.

use crate::harness::{Finished, Folder, Heaplens, program};

/// Runs `plain.c` below a shell that sets a limit first; its output and status must be its own.
fn plain_with(limit: &str) -> Finished {
    let script = format!("{limit}; exec '{}'", program("plain.c").display());
    let run = Heaplens::on("/bin/sh".as_ref(), &[]).arg("-c").arg(script).finish().expect_status(4);
    assert_eq!(run.truth().rows.len(), 2, "the program did its work: {}", run.stdout());
    assert!(run.stderr().contains("plain: a line on stderr\n"), "{}", run.stderr());
    run
}

#[test]
fn a_limit_on_the_size_of_files_does_not_kill_the_program() {
    plain_with("ulimit -f 100");
}

/// No arena for the program, so none that its children could count their loss in.
#[test]
fn children_under_a_file_size_limit_live_as_their_parent_does() {
    for blocks in [100, 3190] {
        let command = format!("ulimit -f {blocks}; exec \"$@\"");
        let run = Heaplens::on("/bin/sh".as_ref(), &[]).arg("-c").arg(command).arg("sh");
        let run = run.arg(program("fork_storm.c")).arg("50").finish().expect_status(0);
        assert!(run.stdout().contains("truth-end"), "{}", run.stdout());
    }
}

#[test]
fn a_limit_on_address_space_does_not_kill_the_program() {
    plain_with("ulimit -v 100000");
}

#[test]
fn no_descriptors_left_do_not_kill_the_program() {
    plain_with("ulimit -n 4");
}

#[test]
fn a_program_that_closes_all_descriptors_keeps_its_own_files() {
    let folder = Folder::new();
    let run = Heaplens::on(&program("closes_all.c"), &[]).arg(folder.file("own")).finish().expect_status(0);
    run.assert_exact();
}
