//! The columns: bare, Heaplens and its peers, and which rows each of them is for.

use std::ffi::OsString;
use std::path::Path;

use super::python;
use super::rows::Row;
use super::ways::{Places, Way};

const HEAPTRACK: &str = "/usr/lib/heaptrack/libheaptrack_preload.so";
const GPERFTOOLS: &str = "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4";
const LEAK_SANITIZER: &str = "/usr/lib/x86_64-linux-gnu/liblsan.so.0";
const VALGRIND: &str = "/usr/bin/valgrind";

/// The columns that targets speak of.
pub const BARE: &str = "bare";
pub const EXACT: &str = "Heaplens";
pub const SAMPLED: &str = "Heaplens, 512 KiB samples";
pub const NATIVE_PEER: &str = "heaptrack";
pub const MIXED_PEER: &str = "memray --native";

/// Tools that are compared with each other: each family has its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// They see the program's C and C++.
    Native,
    /// They see its Python, or stand beside those that do.
    Python,
}

impl Family {
    /// In the order of the tables.
    pub const ALL: [Self; 2] = [Self::Native, Self::Python];
}

const BOTH: &[Family] = &Family::ALL;
const NATIVE: &[Family] = &[Family::Native];
const PYTHON: &[Family] = &[Family::Python];

/// The head of a column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// What the table says.
    pub name: &'static str,
    /// The tables that it stands in.
    pub families: &'static [Family],
}

impl Column {
    /// Whether a row and this column meet in some table.
    pub fn is_for(self, row: &Row) -> bool {
        self.families.iter().any(|family| row.program.families().contains(family))
    }
}

/// All columns. Those that cannot be had are there too, with the reason.
pub fn all(places: &Places) -> Vec<Way> {
    vec![
        ours(BARE, Vec::new()),
        ours(EXACT, heaplens(places, &[])),
        ours(SAMPLED, heaplens(places, &["--sample", "512KiB"])),
        memray("memray", places, &[]),
        memray(MIXED_PEER, places, &["--native"]),
        preloaded(NATIVE_PEER, BOTH, HEAPTRACK, 1, vec![("DUMP_HEAPTRACK_OUTPUT", "/dev/null".into())]),
        tracemalloc(),
        scalene(places),
        preloaded(
            "gperftools HEAPPROFILE",
            NATIVE,
            GPERFTOOLS,
            20,
            vec![("HEAPPROFILE", places.folder.join("gperftools").into())],
        ),
        // Names for the leaks that it finds at the end are not asked for: nobody reads them here.
        preloaded("LSan", NATIVE, LEAK_SANITIZER, 1, vec![("LSAN_OPTIONS", "exitcode=0:symbolize=0".into())]),
        memcheck(),
    ]
}

fn ours(name: &'static str, prefix: Vec<OsString>) -> Way {
    Way { ours: true, prefix, ..Way::plain(Column { name, families: BOTH }) }
}

fn heaplens(places: &Places, options: &[&str]) -> Vec<OsString> {
    let recording = places.folder.join("bench.hlr");
    let mut words: Vec<OsString> = vec![places.heaplens.clone().into(), "run".into(), "-q".into()];
    words.extend(options.iter().map(OsString::from));
    words.extend(["-o".into(), recording.into(), "--".into()]);
    words
}

fn memray(name: &'static str, places: &Places, options: &[&str]) -> Way {
    let mut words = words(&["-m", "memray", "run", "--quiet", "--force"]);
    words.extend(options.iter().map(OsString::from));
    words.extend(["-o".into(), places.folder.join("memray.bin").into()]);
    let missing = python::missing(places.python.as_deref(), "memray");
    Way { missing, interpreter: words, ..Way::plain(Column { name, families: PYTHON }) }
}

fn tracemalloc() -> Way {
    let column = Column { name: "tracemalloc", families: PYTHON };
    Way { interpreter: words(&["-X", "tracemalloc"]), ..Way::plain(column) }
}

fn scalene(places: &Places) -> Way {
    let mut words = words(&["-m", "scalene", "run", "--memory", "-o"]);
    words.push(places.folder.join("scalene.json").into());
    let missing = python::missing(places.python.as_deref(), "scalene");
    let column = Column { name: "Scalene", families: PYTHON };
    Way { missing, interpreter: words, before_arguments: Some("---"), ..Way::plain(column) }
}

fn preloaded(
    name: &'static str,
    families: &'static [Family],
    library: &'static str,
    divisor: u32,
    mut environment: Vec<(&'static str, OsString)>,
) -> Way {
    environment.push(("LD_PRELOAD", library.into()));
    Way { missing: missing(library), divisor, environment, ..Way::plain(Column { name, families }) }
}

/// Leaks are looked for after the program's end, which is not what is measured here.
fn memcheck() -> Way {
    let prefix = words(&[VALGRIND, "-q", "--leak-check=no"]);
    let column = Column { name: "Memcheck", families: NATIVE };
    Way { missing: missing(VALGRIND), divisor: 10, prefix, ..Way::plain(column) }
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
        let places = Places { heaplens: "/b/heaplens".into(), python: None, folder: "/b/bench".into() };
        let heads = all(&places).into_iter().map(|way| way.column);
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
        let places = Places { heaplens: "/b/heaplens".into(), python: None, folder: "/b/bench".into() };
        let ways = all(&places);
        let memray = ways.iter().find(|way| way.column.name == MIXED_PEER).unwrap();
        assert_eq!(memray.missing.as_deref(), Some("not run: the Python has no memray"));
    }
}
