//! The tools that exports are meant for, and what they say of a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::skip;

/// What a reader prints; `None`, with a word about it, when it is not installed.
pub fn read(test: &str, command: &mut Command) -> Option<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.output() {
        Err(_) => {
            skip(test, &format!("{name} is not installed"));
            None
        }
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{name} refuses the file: {stderr}");
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
    }
}

/// A script of `tests/readers` on a file.
pub fn node(test: &str, script: &str, file: &Path) -> Option<String> {
    let Some(modules) = std::env::var_os("HEAPLENS_NODE_READERS").map(PathBuf::from) else {
        skip(test, "HEAPLENS_NODE_READERS names no folder with speedscope and the schema of SARIF");
        return None;
    };
    let script = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/readers")).join(script);
    read(test, Command::new("node").arg(script).arg(modules.join("node_modules")).arg(file))
}

/// The total of each profile that speedscope finds.
pub fn speedscope(test: &str, file: &Path) -> Option<BTreeMap<String, u64>> {
    let said: Value = serde_json::from_str(&node(test, "speedscope.js", file)?).expect("JSON");
    let profiles = said["profiles"].as_array().expect("profiles").iter();
    let row = |profile: &Value| {
        let name = profile["name"].as_str().expect("a name").to_owned();
        (name, profile["total"].as_u64().expect("a whole number"))
    };
    Some(profiles.map(row).collect())
}

/// A profile as `go tool pprof` reads it.
pub struct Pprof {
    /// Its stacks.
    pub samples: Vec<Sample>,
    /// The whole text.
    pub text: String,
}

/// A stack of it.
#[derive(Default)]
pub struct Sample {
    /// Blocks and bytes in use, blocks and bytes allocated.
    values: [i64; 4],
    /// Innermost frame first.
    stack: Vec<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

impl Pprof {
    /// Reads what `pprof -raw` prints.
    pub fn read(test: &str, file: &Path) -> Option<Self> {
        let text = read(test, Command::new("go").args(["tool", "pprof", "-raw"]).arg(file))?;
        let (samples, rest) = text.split_once("Samples:\n")?.1.split_once("Locations\n")?;
        let (locations, _) = rest.split_once("Mappings\n")?;
        let locations: BTreeMap<&str, &str> =
            locations.lines().filter_map(|line| line.trim().split_once(": ")).collect();
        let mut found: Vec<Sample> = Vec::new();
        for line in samples.lines().skip(1) {
            match line.split_once(": ") {
                Some((values, ids)) => found.push(sample(values, ids, &locations)),
                None => found.last_mut().expect("labels follow a sample").labels.extend(labels(line)),
            }
        }
        Some(Self { samples: found, text })
    }

    /// Blocks and bytes in use by the label of the thread, of samples that have a frame of this function.
    pub fn by_thread(&self, function: &str) -> BTreeMap<Option<&str>, [i64; 2]> {
        let mut threads = BTreeMap::new();
        let is_own = |frame: &String| frame.split_whitespace().any(|word| word == function);
        for one in self.samples.iter().filter(|one| one.stack.iter().any(is_own)) {
            let sum = threads.entry(one.labels.get("thread").map(String::as_str)).or_insert([0; 2]);
            *sum = [sum[0] + one.values[0], sum[1] + one.values[1]];
        }
        threads
    }

    /// The sum of all samples that have a frame with these words; empty ones are in each.
    pub fn sum(&self, words: &str) -> [i64; 4] {
        let own = self.samples.iter().filter(|one| one.stack.iter().any(|frame| frame.contains(words)));
        own.fold([0; 4], |sum, one| std::array::from_fn(|at| sum[at] + one.values[at]))
    }
}

fn sample(values: &str, ids: &str, locations: &BTreeMap<&str, &str>) -> Sample {
    let values: Vec<i64> = values.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let stack = ids.split_whitespace().map(|id| locations[id].to_owned()).collect();
    Sample { values: values.try_into().expect("four values"), stack, ..Sample::default() }
}

fn labels(line: &str) -> impl Iterator<Item = (String, String)> {
    let words = line.split_whitespace().filter_map(|word| word.split_once(":["));
    words.map(|(key, value)| (key.to_owned(), value.trim_end_matches(']').to_owned()))
}

/// Bytes of each function by google-pprof: its own, and with all that it called. The total is under "Total".
pub fn google_pprof(test: &str, words: &[&str]) -> Option<BTreeMap<String, (i64, i64)>> {
    let text = read(test, Command::new("google-pprof").args(["--text", "--show_bytes"]).args(words))?;
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| word.parse::<i64>().unwrap_or_else(|_| panic!("{line}"));
        match words[..] {
            ["Total:", total, _] => _ = rows.insert("Total".to_owned(), (number(total), number(total))),
            [own, _, _, all, _, ..] => _ = rows.insert(words[5..].join(" "), (number(own), number(all))),
            _ => {}
        }
    }
    Some(rows)
}
