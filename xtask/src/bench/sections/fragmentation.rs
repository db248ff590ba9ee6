//! What helps a program whose heap is fragmented: `bench/fragmentation.cpp` as it is, trimmed at its end, with one arena, and with
//! other allocators. The advice of a report names only what helps here.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::super::options::BenchOptions;
use super::super::text::{line, rule};
use super::said::said;
use crate::workspace::{compile, printed};

const FOLDER: &str = "/usr/lib/x86_64-linux-gnu";

/// A variant to run the program.
struct Variant {
    title: &'static str,
    variable: Option<(&'static str, &'static str)>,
    is_trimmed: bool,
}

const VARIANTS: [Variant; 5] = [
    Variant { title: "glibc", variable: None, is_trimmed: false },
    Variant { title: "glibc, `malloc_trim(0)` at the end", variable: None, is_trimmed: true },
    Variant {
        title: "glibc, `MALLOC_ARENA_MAX=1`",
        variable: Some(("MALLOC_ARENA_MAX", "1")),
        is_trimmed: false,
    },
    Variant {
        title: "tcmalloc",
        variable: Some(("LD_PRELOAD", "libtcmalloc_minimal.so.4")),
        is_trimmed: false,
    },
    Variant { title: "jemalloc", variable: Some(("LD_PRELOAD", "libjemalloc.so.2")), is_trimmed: false },
];

/// Resident bytes of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Resident {
    peak: f64,
    end: f64,
    live: f64,
}

/// Runs each variant so often, without Heaplens; how threads meet differs from run to run, so the table has the least and the most.
pub fn measure(options: &BenchOptions) -> Result<String> {
    let program = compile("bench/fragmentation.cpp", "bench")?;
    let mut text = line(["", "live", "resident at the end", "at the peak"]) + &rule(4);
    for variant in VARIANTS {
        if let Some(library) = variant.library().filter(|path| !path.exists()) {
            text += &line([variant.title, &format!("not run: no {}", library.display()), "", ""]);
            continue;
        }
        let runs: Result<Vec<Resident>> = (0..options.runs).map(|_| variant.run(&program)).collect();
        text += &row(variant.title, &runs?);
    }
    Ok(text)
}

impl Variant {
    /// The library that it preloads.
    fn library(&self) -> Option<PathBuf> {
        self.variable.filter(|(name, _)| *name == "LD_PRELOAD").map(|(_, file)| Path::new(FOLDER).join(file))
    }

    fn run(&self, program: &Path) -> Result<Resident> {
        let mut command = Command::new(program);
        match (self.library(), self.variable) {
            (Some(library), _) => drop(command.env("LD_PRELOAD", library)),
            (None, Some((name, value))) => drop(command.env(name, value)),
            (None, None) => {}
        }
        let said = said(&printed(command.args(self.is_trimmed.then_some("trim")))?, "fragmentation")?;
        let of = |name: &str| said.get(name).copied().with_context(|| format!("no {name} among {said:?}"));
        Ok(Resident { peak: of("peak_bytes")?, end: of("end_bytes")?, live: of("live_bytes")? })
    }
}

fn row(title: &str, runs: &[Resident]) -> String {
    let range = |field: fn(&Resident) -> f64| {
        let mib = |bytes: f64| format!("{:.0}", bytes / f64::from(1 << 20));
        let (least, most) = (
            mib(runs.iter().map(field).fold(f64::MAX, f64::min)),
            mib(runs.iter().map(field).fold(0.0, f64::max)),
        );
        if least == most { format!("{least} MiB") } else { format!("{least} to {most} MiB") }
    };
    line([title, &range(|one| one.live), &range(|one| one.end), &range(|one| one.peak)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_least_and_the_most() {
        let mib = f64::from(1 << 20);
        let run = |end: f64| Resident { peak: 450.0 * mib, end: end * mib, live: 115.0 * mib };
        let text = row("jemalloc", &[run(200.0), run(190.0)]);
        assert_eq!(text, "| jemalloc | 115 MiB | 190 to 200 MiB | 450 MiB |\n");
    }

    #[test]
    fn only_a_preloaded_way_has_a_library() {
        assert_eq!(VARIANTS[0].library(), None);
        assert_eq!(VARIANTS[2].library(), None);
        assert!(VARIANTS[4].library().is_some_and(|path| path.ends_with("libjemalloc.so.2")));
    }
}
