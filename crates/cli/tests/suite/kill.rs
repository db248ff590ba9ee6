//! SIGKILL at any moment: the report is there, and exact up to the one event that each thread was in.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::harness::{Finished, Heaplens, Report, program};

const LANES: usize = 4;
const WORDS_PER_LANE: usize = 14;

/// What one thread of `killme.c` published: bytes and blocks before, between and after its event.
struct Lane {
    line: u64,
    before: [i64; 2],
    between: [i64; 2],
    after: [i64; 2],
}

/// Thirty in `cargo test`; the soak asks for more.
#[test]
fn killed_programs_are_reported_up_to_the_event_in_flight() {
    let runs =
        std::env::var("HEAPLENS_KILL_RUNS").map_or(30, |count| count.parse().expect("a number of runs"));
    let seed =
        std::env::var("HEAPLENS_KILL_SEED").map_or_else(|_| clock(), |seed| seed.parse().expect("a seed"));
    println!("HEAPLENS_KILL_SEED={seed}");
    let mut random = seed;
    for run in 0..runs {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let heartbeats = 1 + (random >> 33) % 2000;
        killed_after(heartbeats, &format!("run {run} of seed {seed}, after {heartbeats} heartbeats"));
    }
}

fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970").subsec_nanos().into()
}

fn killed_after(heartbeats: u64, run: &str) {
    let (folder, mut command) = Heaplens::on(&program("killme.c"), &[]).into_parts();
    let truth = folder.file("truth");
    let mut child =
        command.arg(&truth).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("heaplens starts");
    let mut stdout = child.stdout.take().expect("stdout is a pipe");
    read_heartbeats(&mut stdout, heartbeats, run);
    kill(published(&truth)[0]);
    // The rest of the heartbeats has to be read too, or the program's output would fill the pipe.
    stdout.read_to_end(&mut Vec::new()).expect("stdout can be read");
    let output = child.wait_with_output().expect("heaplens ends");
    let lanes = lanes(&published(&truth));
    let finished = Finished { folder, output }.expect_status(128 + 9);
    let report = finished.report();
    assert_eq!(report.0["exit"]["signal"], 9, "{run}");
    lanes.iter().for_each(|lane| assert_lane(lane, &report, run));
}

fn read_heartbeats(stdout: &mut impl Read, count: u64, run: &str) {
    let mut byte = [0];
    for _ in 0..count {
        stdout
            .read_exact(&mut byte)
            .unwrap_or_else(|error| panic!("{run}: the program fell silent: {error}"));
    }
}

fn kill(pid: u64) {
    // The shell's own `kill`: the one of procps is not on every machine.
    let status = Command::new("sh").args(["-c", &format!("kill -9 {pid}")]).status().expect("`sh` starts");
    assert!(status.success(), "the program was running");
}

fn published(path: &Path) -> Vec<u64> {
    let bytes = std::fs::read(path).expect("the program made its truth file");
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect()
}

fn lanes(words: &[u64]) -> Vec<Lane> {
    let lanes = words[1..].chunks_exact(WORDS_PER_LANE).map(|lane| {
        let slot = 2 + 6 * lane[0] as usize;
        let pair = |at: usize| [lane[slot + at] as i64, lane[slot + at + 1] as i64];
        Lane { line: lane[1], before: pair(0), between: pair(2), after: pair(4) }
    });
    let lanes: Vec<Lane> = lanes.collect();
    assert_eq!(lanes.len(), LANES);
    lanes
}

fn assert_lane(lane: &Lane, report: &Report, run: &str) {
    let here = |file: &Option<String>, line: Option<u64>| {
        file.as_deref() == Some("killme.c") && line == Some(lane.line)
    };
    let sites = report.sites().into_iter();
    let sites = sites.filter(|site| site.stack.iter().any(|frame| here(&frame.file, frame.line)));
    let found = sites.fold([0; 2], |sum, site| [sum[0] + site.amounts[0], sum[1] + site.amounts[1]]);
    for what in 0..2 {
        let possible = [lane.before[what], lane.between[what], lane.after[what]];
        let name = ["bytes", "blocks"][what];
        assert!(
            possible.contains(&found[what]),
            "{run}: line {}: {name} {} not in {possible:?}",
            lane.line,
            found[what]
        );
    }
}
