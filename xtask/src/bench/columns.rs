//! The columns: bare, Heaplens and its peers, and which rows each of them is for.

use std::ffi::OsString;
use std::path::Path;

use super::family::{BOTH, Family, NATIVE, PYTHON};
use super::python;
use super::tool::{Column, Paths, Tool};

const HEAPTRACK: &str = "/usr/lib/heaptrack/libheaptrack_preload.so";
const GPERFTOOLS: &str = "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4";
const LEAK_SANITIZER: &str = "/usr/lib/x86_64-linux-gnu/liblsan.so.0";
const VALGRIND: &str = "/usr/bin/valgrind";

/// The columns that targets speak of.
pub const BARE: &str = "bare";
pub const EXACT: &str = "Heaplens";
pub const SAMPLED: &str = "Heaplens, 512 KiB samples";
pub const EARLIER: &str = "Heaplens, earlier";
pub const NATIVE_PEER: &str = "heaptrack";
pub const MIXED_PEER: &str = "memray --native";

/// Two versions of Heaplens where an earlier one was given, else Heaplens and its peers.
pub fn chosen(paths: &Paths) -> Vec<Tool> {
    match &paths.earlier {
        Some(earlier) => vec![
            ours(BARE, Vec::new()),
            ours(EARLIER, heaplens(earlier, paths, &[])),
            ours(EXACT, heaplens(&paths.heaplens, paths, &[])),
        ],
        None => all(paths),
    }
}

/// All columns. Those that cannot be had are there too, with the reason.
pub fn all(paths: &Paths) -> Vec<Tool> {
    vec![
        ours(BARE, Vec::new()),
        ours(EXACT, heaplens(&paths.heaplens, paths, &[])),
        ours(SAMPLED, heaplens(&paths.heaplens, paths, &["--sample", "512KiB"])),
        memray("memray", paths, &[]),
        memray(MIXED_PEER, paths, &["--native"]),
        preloaded(NATIVE_PEER, BOTH, HEAPTRACK, 1, vec![("DUMP_HEAPTRACK_OUTPUT", "/dev/null".into())]),
        tracemalloc(),
        scalene(paths),
        preloaded(
            "gperftools HEAPPROFILE",
            NATIVE,
            GPERFTOOLS,
            20,
            vec![("HEAPPROFILE", paths.folder.join("gperftools").into())],
        ),
        // Names for the leaks that it finds at the end are not asked for: nobody reads them here.
        preloaded("LSan", NATIVE, LEAK_SANITIZER, 1, vec![("LSAN_OPTIONS", "exitcode=0:symbolize=0".into())]),
        memcheck(),
    ]
}

fn ours(name: &'static str, prefix: Vec<OsString>) -> Tool {
    Tool { ours: true, prefix, ..Tool::plain(Column { name, families: BOTH }) }
}

fn heaplens(command: &Path, paths: &Paths, options: &[&str]) -> Vec<OsString> {
    let recording = paths.folder.join("bench.hlr");
    let mut words: Vec<OsString> = vec![command.into(), "run".into(), "-q".into()];
    words.extend(options.iter().map(OsString::from));
    words.extend(["-o".into(), recording.into(), "--".into()]);
    words
}

fn memray(name: &'static str, paths: &Paths, options: &[&str]) -> Tool {
    let mut words = words(&["-m", "memray", "run", "--quiet", "--force"]);
    words.extend(options.iter().map(OsString::from));
    words.extend(["-o".into(), paths.folder.join("memray.bin").into()]);
    let missing = python::missing(paths.python.as_deref(), "memray");
    Tool { missing, interpreter: words, ..Tool::plain(Column { name, families: PYTHON }) }
}

fn tracemalloc() -> Tool {
    let column = Column { name: "tracemalloc", families: PYTHON };
    Tool { interpreter: words(&["-X", "tracemalloc"]), ..Tool::plain(column) }
}

fn scalene(paths: &Paths) -> Tool {
    let mut words = words(&["-m", "scalene", "run", "--memory", "-o"]);
    words.push(paths.folder.join("scalene.json").into());
    let missing = python::missing(paths.python.as_deref(), "scalene");
    let column = Column { name: "Scalene", families: PYTHON };
    Tool { missing, interpreter: words, before_arguments: Some("---"), ..Tool::plain(column) }
}

fn preloaded(
    name: &'static str,
    families: &'static [Family],
    library: &'static str,
    divisor: u32,
    mut environment: Vec<(&'static str, OsString)>,
) -> Tool {
    environment.push(("LD_PRELOAD", library.into()));
    Tool { missing: missing(library), divisor, environment, ..Tool::plain(Column { name, families }) }
}

/// Leaks are searched for after the program's end, which is not what is measured here.
fn memcheck() -> Tool {
    let prefix = words(&[VALGRIND, "-q", "--leak-check=no"]);
    let column = Column { name: "Memcheck", families: NATIVE };
    Tool { missing: missing(VALGRIND), divisor: 10, prefix, ..Tool::plain(column) }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn missing(file: &str) -> Option<String> {
    (!Path::new(file).exists()).then(|| format!("{file} is not there"))
}

#[cfg(test)]
mod tests {
    use super::super::rows::ROWS;
    use super::*;

    fn columns(family: Family) -> Vec<&'static str> {
        let paths =
            Paths { heaplens: "/b/heaplens".into(), earlier: None, python: None, folder: "/b/bench".into() };
        let heads = all(&paths).into_iter().map(|tool| tool.column);
        heads.filter(|column| column.families.contains(&family)).map(|column| column.name).collect()
    }

    #[test]
    fn each_family_has_bare_first_and_its_own_peers() {
        let native = [BARE, EXACT, SAMPLED, NATIVE_PEER, "gperftools HEAPPROFILE", "LSan", "Memcheck"];
        let python = [BARE, EXACT, SAMPLED, "memray", MIXED_PEER, NATIVE_PEER, "tracemalloc", "Scalene"];
        assert_eq!(columns(Family::Native), native);
        assert_eq!(columns(Family::Python), python);
    }

    #[test]
    fn an_earlier_version_takes_the_place_of_the_peers() {
        let earlier = Some("/old/heaplens".into());
        let paths =
            Paths { heaplens: "/b/heaplens".into(), earlier, python: None, folder: "/b/bench".into() };
        let tools = chosen(&paths);
        let names: Vec<&str> = tools.iter().map(|tool| tool.column.name).collect();
        assert_eq!(names, [BARE, EARLIER, EXACT]);
        let commands: Vec<_> = tools.iter().filter_map(|tool| tool.prefix.first()).collect();
        assert_eq!(commands, ["/old/heaplens", "/b/heaplens"]);
    }

    #[test]
    fn a_tool_for_python_is_not_asked_about_other_programs() {
        let row = |name: &str| ROWS.iter().find(|row| row.name == name).unwrap();
        let (memray, lsan) =
            (Column { name: "memray", families: PYTHON }, Column { name: "LSan", families: NATIVE });
        assert_eq!([memray.is_for(row("mixed")), lsan.is_for(row("mixed"))], [false, true]);
        assert_eq!([memray.is_for(row("py-json")), lsan.is_for(row("py-json"))], [true, false]);
        assert_eq!([memray.is_for(row("tf-eager")), lsan.is_for(row("tf-eager"))], [true, true]);
    }

    #[test]
    fn a_peer_without_a_python_to_run_in_says_so() {
        let paths =
            Paths { heaplens: "/b/heaplens".into(), earlier: None, python: None, folder: "/b/bench".into() };
        let tools = all(&paths);
        let memray = tools.iter().find(|tool| tool.column.name == MIXED_PEER).unwrap();
        assert_eq!(memray.missing.as_deref(), Some("not run: the Python has no memray"));
    }
}
