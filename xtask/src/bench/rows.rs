//! What is measured: one row is one program with its arguments, and the unit of its cost.

use anyhow::{Result, bail};

use super::family::Family;

/// Where a program comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchProgram {
    /// `bench/NAME.cpp`.
    Cpp(&'static str),
    /// `bench/NAME.py`.
    Python(&'static str),
    /// `bench/tensorflow_steps.py`.
    TensorFlow,
}

impl BenchProgram {
    /// The name of its source in `bench/`, without what comes after the dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpp(name) | Self::Python(name) => name,
            Self::TensorFlow => "tensorflow_steps",
        }
    }

    /// Whether an interpreter runs it.
    pub fn is_python(self) -> bool {
        !matches!(self, Self::Cpp(_))
    }

    /// What it imports that Python does not bring.
    pub fn module(self) -> Option<&'static str> {
        match self {
            Self::TensorFlow => Some("tensorflow"),
            Self::Python("numpy_loop") => Some("numpy"),
            Self::Cpp(_) | Self::Python(_) => None,
        }
    }

    /// The tables that it stands in. TensorFlow is as much a C++ program as a Python one.
    pub fn families(self) -> &'static [Family] {
        match self {
            Self::Cpp(_) => &[Family::Native],
            Self::Python(_) => &[Family::Python],
            Self::TensorFlow => &[Family::Native, Family::Python],
        }
    }
}

/// What one unit of cost is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds of one malloc/free pair.
    Pair,
    /// Milliseconds of one round of work.
    Round,
    /// Seconds of the whole program.
    Whole,
    /// Microseconds of one step, or one iteration of a loop.
    Step,
}

impl Unit {
    /// A number of nanoseconds in this unit.
    pub fn show(self, nanos: f64) -> String {
        match self {
            Self::Pair => format!("{nanos:.0} ns"),
            Self::Round => format!("{:.1} ms", nanos / 1e6),
            Self::Whole => format!("{:.2} s", nanos / 1e9),
            Self::Step => format!("{:.0} µs", nanos / 1e3),
        }
    }
}

/// How the amount of work is given to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many units: the cost is that of one, and slow tools may do fewer.
    Units(u32),
    /// The work is a whole that cannot be cut.
    Fixed(u32),
}

/// One line of the tables.
#[derive(Debug)]
pub struct Row {
    /// The name on the command line.
    pub name: &'static str,
    /// What the table says.
    pub title: &'static str,
    /// What runs.
    pub program: BenchProgram,
    /// Its arguments, without the last one, which is the amount.
    pub arguments: &'static [&'static str],
    /// The last argument.
    pub amount: Amount,
    /// What a cost is counted in.
    pub unit: Unit,
}

const fn pairs(
    name: &'static str,
    title: &'static str,
    arguments: &'static [&'static str],
    each: u32,
) -> Row {
    Row {
        name,
        title,
        program: BenchProgram::Cpp("pairs"),
        arguments,
        amount: Amount::Units(each),
        unit: Unit::Pair,
    }
}

const fn cpp(name: &'static str, title: &'static str, amount: Amount, unit: Unit) -> Row {
    Row { name, title, program: BenchProgram::Cpp(name), arguments: &[], amount, unit }
}

const fn python(
    name: &'static str,
    title: &'static str,
    script: &'static str,
    amount: Amount,
    unit: Unit,
) -> Row {
    Row { name, title, program: BenchProgram::Python(script), arguments: &[], amount, unit }
}

const fn tensorflow(
    name: &'static str,
    title: &'static str,
    arguments: &'static [&'static str],
    amount: Amount,
    unit: Unit,
) -> Row {
    Row { name, title, program: BenchProgram::TensorFlow, arguments, amount, unit }
}

/// All rows, in the order of the tables. Amounts are such that a bare run takes some tenths of a second at least.
pub const ROWS: &[Row] = &[
    pairs("pairs-10", "malloc/free pair, depth 10", &["10", "0"], 3_000_000),
    pairs("pairs-30", "malloc/free pair, depth 30", &["30", "0"], 3_000_000),
    pairs("pairs-80", "malloc/free pair, depth 80", &["80", "0"], 3_000_000),
    // One thread beside the main one: malloc takes its locks as soon as there is a second thread.
    pairs("threads-1", "pair at depth 30, 1 thread", &["30", "1"], 2_000_000),
    pairs("threads-4", "pair at depth 30, 4 threads", &["30", "4"], 2_000_000),
    pairs("threads-16", "pair at depth 30, 16 threads", &["30", "16"], 2_000_000),
    cpp("mixed", "mixed C++ program, one round", Amount::Units(120), Unit::Round),
    cpp("containers", "containers and no work between, one round", Amount::Units(120), Unit::Round),
    cpp("nodes", "heap of 6 million small nodes", Amount::Fixed(3), Unit::Whole),
    python(
        "py-objects",
        "Python objects and work between, one round",
        "python_objects",
        Amount::Units(120),
        Unit::Round,
    ),
    python("py-json", "json: written and read, one round", "python_json", Amount::Units(300), Unit::Round),
    python("py-numpy", "NumPy loop, one iteration", "numpy_loop", Amount::Units(8000), Unit::Step),
    tensorflow("tf-import", "import tensorflow", &["import"], Amount::Fixed(1), Unit::Whole),
    tensorflow("tf-eager", "TensorFlow, eager step", &["eager"], Amount::Units(1500), Unit::Step),
    tensorflow("tf-function", "TensorFlow, tf.function step", &["function"], Amount::Units(4000), Unit::Step),
    tensorflow("tf-session", "TensorFlow, Session.run step", &["session"], Amount::Units(6000), Unit::Step),
];

/// The rows whose names begin with one of these words; all when there is none.
pub fn chosen(only: &[String]) -> Result<Vec<&'static Row>> {
    let begins = |row: &Row, word: &String| row.name.starts_with(word.as_str());
    if let Some(unknown) = only.iter().find(|word| !ROWS.iter().any(|row| begins(row, word))) {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        bail!("no row `{unknown}`; there are: {}", names.join(", "));
    }
    let wanted = |row: &&Row| only.is_empty() || only.iter().any(|word| begins(row, word));
    Ok(ROWS.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: &[&str]) -> Vec<&'static str> {
        let only: Vec<String> = only.iter().map(|word| (*word).to_owned()).collect();
        chosen(&only).unwrap().iter().map(|row| row.name).collect()
    }

    #[test]
    fn a_beginning_names_all_rows_that_share_it() {
        assert_eq!(names(&["pairs"]), ["pairs-10", "pairs-30", "pairs-80"]);
        assert_eq!(names(&["mixed", "tf-i"]), ["mixed", "tf-import"]);
        assert_eq!(names(&["py"]), ["py-objects", "py-json", "py-numpy"]);
        assert_eq!(names(&[]).len(), ROWS.len());
    }

    #[test]
    fn an_unknown_row_is_answered_with_the_known_ones() {
        let error = chosen(&["pears".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("pears") && error.contains("pairs-10"), "{error}");
    }

    #[test]
    fn names_of_rows_are_unique() {
        let mut names = names(&[]);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
    }

    #[test]
    fn every_program_has_its_source() {
        let folder = crate::workspace::root().join("bench");
        for row in ROWS {
            let ending = if row.program.is_python() { "py" } else { "cpp" };
            let source = format!("{}.{ending}", row.program.name());
            assert!(folder.join(&source).exists(), "{source}");
        }
    }
}
