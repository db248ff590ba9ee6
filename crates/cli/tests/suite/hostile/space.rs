//! No room for the tables: a full disk, a directory that cannot be written, a memory cgroup at its end.
//!
//! The session's directory is chosen by the recorder, so here the agent is preloaded without one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::{Folder, Heaplens, Report, Truth, program, skip};

/// Where the command keeps the agent.
fn agent() -> String {
    let run = Heaplens::on("/bin/sh".as_ref(), &[]);
    let run = run.arg("-c").arg("echo agent $HEAPLENS_AGENT").finish().expect_status(0);
    let line = run.stdout().lines().find_map(|line| line.strip_prefix("agent ").map(str::to_owned));
    line.expect("the shell knows the agent")
}

/// Runs a script in a mount namespace of its own; `None` where that is not allowed.
fn with_own_mounts(script: &str) -> Option<Output> {
    [&["-m"][..], &["-r", "-m"]].into_iter().find_map(|rights| {
        let possible =
            Command::new("unshare").args(rights).args(["sh", "-c", "mount -t tmpfs none /mnt"]).output();
        possible.is_ok_and(|output| output.status.success()).then(|| {
            Command::new("unshare").args(rights).args(["sh", "-c", script]).output().expect("unshare starts")
        })
    })
}

/// `many_small.c` with its arena on a file system of this size; what it printed, and the report where there is one.
fn on_disk_of(size: &str) -> Option<(Truth, Option<Report>)> {
    let folder = Folder::new();
    let (disk, json) = (folder.file("disk"), folder.file("run.json"));
    std::fs::create_dir(&disk).expect("the folder is writable");
    let script = format!(
        "mount -t tmpfs -o size={size} none {disk} || exit 97
        HEAPLENS_DIR={disk} LD_PRELOAD={agent} {program} || exit $?
        {heaplens} report {disk} --format json >{json} 2>/dev/null || rm {json}",
        disk = disk.display(),
        agent = agent(),
        program = program("many_small.c").display(),
        heaplens = env!("CARGO_BIN_EXE_heaplens"),
        json = json.display(),
    );
    let output = with_own_mounts(&script)?;
    assert_eq!(output.status.code(), Some(0), "{size}: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{size}: the program says nothing on stderr");
    let report = std::fs::read(&json).ok().map(|text| Report::parse(&text));
    Some((Truth::parse(&String::from_utf8_lossy(&output.stdout)), report))
}

#[test]
fn a_full_disk_is_counted_to_the_last_block() {
    let test = "hostile::space::a_full_disk_is_counted_to_the_last_block";
    let Some((_, Some(whole))) = on_disk_of("64m") else { return skip(test, "this user may not mount") };
    let made = blocks(&whole);
    for size in ["64k", "600k", "1m", "3m", "6m"] {
        let Some((truth, report)) = on_disk_of(size) else { return skip(test, "this user may not mount") };
        let said: i64 = truth.rows.iter().filter_map(|row| row.claims[3]).sum();
        assert_eq!(said, 1_000_000, "{size}: the program did its work");
        let Some(report) = report else {
            assert!(size == "64k" || size == "600k", "there is room for an arena in {size}");
            continue;
        };
        let (found, lost) = (blocks(&report), report.loss("arena could not grow") as i64);
        assert!(lost > 0, "{size} cannot hold a million blocks");
        assert_eq!(found + lost, made, "{size}: {found} recorded and {lost} lost");
        assert_eq!(
            report.whole()["errors"],
            serde_json::json!([]),
            "{size}: what was lost was freed as it should be"
        );
    }
}

/// Blocks of all sites in the whole run.
fn blocks(report: &crate::harness::Report) -> i64 {
    report.sites().iter().map(|site| site.amounts[3]).sum()
}

/// Each child needs an arena of its own, so the disk fills while the program maps memory.
#[test]
fn mappings_on_a_full_disk_do_not_kill_the_program() {
    let test = "hostile::space::mappings_on_a_full_disk_do_not_kill_the_program";
    let folder = Folder::new();
    let disk = folder.file("disk");
    std::fs::create_dir(&disk).expect("the folder is writable");
    for kib in [700, 1233, 1500, 2239, 4000] {
        let script = format!(
            "mount -t tmpfs -o size={kib}k none {disk} || exit 97
            HEAPLENS_DIR={disk} LD_PRELOAD={agent} exec {program}",
            disk = disk.display(),
            agent = agent(),
            program = program("raw_clone.c").display(),
        );
        let Some(output) = with_own_mounts(&script) else { return skip(test, "this user may not mount") };
        assert_eq!(output.status.code(), Some(0), "{kib} KiB: {:?}", output.status);
        assert_eq!(Truth::parse(&String::from_utf8_lossy(&output.stdout)).pids.len(), 21);
    }
}

#[test]
fn a_session_that_cannot_be_written_does_not_disturb_the_program() {
    let test = "hostile::space::a_session_that_cannot_be_written_does_not_disturb_the_program";
    let folder = Folder::new();
    let disk = folder.file("disk");
    std::fs::create_dir(&disk).expect("the folder is writable");
    let script = format!(
        "mount -t tmpfs -o ro none {disk} || exit 97; HEAPLENS_DIR={disk} LD_PRELOAD={agent} exec {program}",
        disk = disk.display(),
        agent = agent(),
        program = program("plain.c").display(),
    );
    let Some(output) = with_own_mounts(&script) else { return skip(test, "this user may not mount") };
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "plain: a line on stderr\n");
}

#[test]
fn a_working_directory_that_cannot_be_written_does_not_matter() {
    let test = "hostile::space::a_working_directory_that_cannot_be_written_does_not_matter";
    let folder = Folder::new();
    let (disk, recording) = (folder.file("disk"), folder.file("run.hlr"));
    std::fs::create_dir(&disk).expect("the folder is writable");
    let script = format!(
        "mount -t tmpfs -o ro none {disk} || exit 97; cd {disk}; exec {heaplens} run -o {recording} -- {program}",
        disk = disk.display(),
        heaplens = env!("CARGO_BIN_EXE_heaplens"),
        recording = recording.display(),
        program = program("plain.c").display(),
    );
    let Some(output) = with_own_mounts(&script) else { return skip(test, "this user may not mount") };
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(recording.exists());
}

/// A memory cgroup of a test's own, gone when the test ends.
struct Cgroup(PathBuf);

impl Cgroup {
    /// One with a limit, under either version of the interface; `None` where there is none to write to.
    fn new(name: &str, limit: &str) -> Option<Self> {
        let controllers =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        controllers.iter().find_map(|(parent, file)| {
            let path = Path::new(parent).join(format!("{name}-{}", std::process::id()));
            std::fs::create_dir(&path).ok()?;
            let cgroup = Self(path);
            std::fs::write(cgroup.0.join(file), limit).is_ok().then_some(cgroup)
        })
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // An empty cgroup can be removed; one that cannot is left to the system.
        drop(std::fs::remove_dir(&self.0));
    }
}

/// The kernel kills the program, as it would alone; the recorder stands outside and reports what was live.
#[test]
fn a_program_that_its_cgroup_kills_is_reported() {
    let test = "hostile::space::a_program_that_its_cgroup_kills_is_reported";
    let Some(cgroup) = Cgroup::new("heaplens-test", "67108864") else {
        return skip(test, "no memory cgroup that this user may make");
    };
    let script = format!(
        "echo $$ >{}/cgroup.procs && exec {} 10000000",
        cgroup.0.display(),
        program("ten_million.c").display()
    );
    let run = Heaplens::on("/bin/sh".as_ref(), &[]).arg("-c").arg(script).finish().expect_status(128 + 9);
    let report = run.report();
    assert_eq!(report.0["exit"]["signal"], 9);
    let live: i64 = report.sites().iter().map(|site| site.amounts[1]).sum();
    assert!(live > 100_000, "{live} blocks were live");
}

/// `mlockall` makes every page of every mapping exist: our address range is far larger than the memory behind it. The cgroup
/// keeps the machine out of it.
#[test]
fn a_program_that_locks_all_its_memory_does_not_get_ours_filled() {
    let test = "hostile::space::a_program_that_locks_all_its_memory_does_not_get_ours_filled";
    let Some(cgroup) = Cgroup::new("heaplens-locked", "268435456") else {
        return skip(test, "no memory cgroup that this user may make");
    };
    let path = program("changes_itself.c");
    if !Command::new(&path).arg("all-locked").output().is_ok_and(|output| output.status.code() == Some(6)) {
        return skip(test, "this user may not lock memory");
    }
    let script =
        format!("echo $$ >{}/cgroup.procs && exec {} all-locked", cgroup.0.display(), path.display());
    let run = Heaplens::on("/bin/sh".as_ref(), &[]).arg("-c").arg(script).finish().expect_status(6);
    run.assert_exact();
}
