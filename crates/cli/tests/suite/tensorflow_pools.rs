//! TensorFlow's pools: what they hand out belongs to the line that asked for it, what they keep to spare is theirs.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Heaplens, skip};
use crate::python::script;

const SOURCE: &str = include_str!("../../../../tests/programs/tf_pools.py");
const MIB: f64 = (1 << 20) as f64;

/// What a run with or without the pool run.
struct PoolRun {
    report: Value,
    /// Bytes and blocks, as the script counts them.
    kept: [u64; 2],
}

impl PoolRun {
    fn of(python: &Path, pool: bool) -> Self {
        let run = Heaplens::on(python, &[])
            .arg(script("tf_pools.py"))
            .env("TF_CPP_MIN_LOG_LEVEL", "3")
            .env("TF_ENABLE_ONEDNN_OPTS", if pool { "1" } else { "0" })
            .finish()
            .expect_status(0);
        let said = run.stdout();
        let words = said.lines().find_map(|line| line.strip_prefix("kept ")).expect("the script counts");
        let kept: Vec<u64> = words.split(' ').map(|word| word.parse().expect("a number")).collect();
        Self { report: run.report().whole(), kept: [kept[0], kept[1]] }
    }

    /// The stack that holds most at the end of the script: its line, bytes, blocks, and bytes in each iteration.
    fn heaviest(&self) -> (u64, [u64; 2], f64) {
        let number = |site: &Value, field: &str| site[field].as_u64().unwrap_or(0);
        let sites = self.report["sites"].as_array().expect("sites");
        let is_script =
            |frame: &&Value| frame["file"].as_str().is_some_and(|file| file.ends_with("tf_pools.py"));
        let of_script = |site: &&Value| {
            site["kind"] == "heap" && {
                site["stack"].as_array().is_some_and(|stack| stack.iter().any(|frame| is_script(&frame)))
            }
        };
        let site =
            sites.iter().filter(of_script).max_by_key(|site| number(site, "held_bytes")).expect("a site");
        let line = site["stack"].as_array().and_then(|stack| stack.iter().find(is_script)).expect("a frame");
        let held = [number(site, "held_bytes"), number(site, "held_blocks")];
        (line["line"].as_u64().expect("a line"), held, site["bytes_per_iteration"].as_f64().unwrap_or(0.0))
    }

    fn unused(&self) -> f64 {
        let rows = self.report["ledger"].as_array().expect("a ledger");
        let row = rows.iter().find(|row| row["layer"] == "pool-unused").expect("a row");
        row["end"].as_f64().expect("a number")
    }
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn what_a_pool_hands_out_belongs_to_the_line_that_asked_for_it() {
    let test = "tensorflow_pools::what_a_pool_hands_out_belongs_to_the_line_that_asked_for_it";
    let Some(python) = std::env::var_os("HEAPLENS_TENSORFLOW_PYTHON").map(PathBuf::from) else {
        return skip(test, "HEAPLENS_TENSORFLOW_PYTHON names no Python with TensorFlow");
    };
    let (with, without) = (PoolRun::of(&python, true), PoolRun::of(&python, false));
    let line = SOURCE.lines().zip(1..).find(|(text, _)| text.ends_with("# kept")).expect("the line").1;
    for run in [&with, &without] {
        let (bytes, blocks) = (run.kept[0], run.kept[1]);
        assert_eq!(run.heaviest(), (line, run.kept, bytes as f64 / blocks as f64));
    }
    // Ten temporaries of 8 MB were there at once, and the pool gives nothing back.
    let (spare, none) = (with.unused(), without.unused());
    assert!(spare - none > 60.0 * MIB, "{spare} B unused with the pool, {none} B without");
}
