//! The results as Markdown, printed and kept in `docs/benchmarks.md`.

use std::fmt::Write;

use anyhow::{Context, Result};

use super::family::Family;
use super::measure::{Cell, Cost, Results};
use super::rows::Row;
use super::targets::{Verdict, verdicts};
use crate::workspace::{commit, root};

/// The marks around what is written: of the tables, or of a section.
fn marks(section: Option<&str>) -> [String; 2] {
    let only = section.map_or_else(String::new, |name| format!(" --only {name}"));
    ["begin", "end"].map(|word| format!("<!-- cargo xtask bench{only} --write: {word} -->\n"))
}

/// How a cost is shown in one table, beside that of the bare program.
type Show = fn(&Row, Cost, Cost) -> String;

/// All tables, with the facts that they were made under.
pub fn tables(results: &Results, runs: usize, versions: Option<&str>) -> String {
    let cores = cores();
    let versions = versions.map_or_else(String::new, |versions| format!(" {versions}."));
    let mut text = format!("{cores}, minima of {runs} runs.{versions}\n");
    section(&mut text, "CPU time inside the program", &grids(results, cpu));
    section(&mut text, "Resident memory of the program, tool included", &grids(results, memory));
    section(&mut text, "After the program ends: wall time until the command is done", &grids(results, after));
    section(&mut text, "Targets", &judged(&verdicts(results)));
    section(&mut text, "Not measured", &reasons(results));
    text
}

/// `2 cores`.
pub fn cores() -> String {
    format!("{} cores", std::thread::available_parallelism().map_or(1, usize::from))
}

/// Puts the tables, or that of a section, between their two marks in `docs/benchmarks.md`; what stands around them is written by
/// hand.
pub fn write(section: Option<&str>, tables: &str, words: &[&str]) -> Result<()> {
    let path = root().join("docs/benchmarks.md");
    let text = std::fs::read_to_string(&path).context("cannot read docs/benchmarks.md")?;
    let facts = format!("`cargo xtask bench {}` at {}, ", without_paths(words).join(" "), commit()?);
    let text = replaced(&text, section, &(facts + tables))?;
    std::fs::write(&path, text).context("cannot write docs/benchmarks.md")
}

fn replaced(text: &str, section: Option<&str>, body: &str) -> Result<String> {
    let [begin, end] = marks(section);
    let (before, rest) = text.split_once(&begin).context("docs/benchmarks.md has lost its first mark")?;
    let (_, after) = rest.split_once(&end).context("docs/benchmarks.md has lost its second mark")?;
    Ok(format!("{before}{begin}{body}{end}{after}"))
}

/// A path of this machine says nothing to a reader on another.
fn without_paths(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| if word.contains('/') { "PATH".to_owned() } else { (*word).to_owned() }).collect()
}

fn section(text: &mut String, title: &str, body: &str) {
    if !body.is_empty() {
        write!(text, "\n### {title}\n\n{body}").expect("a string takes all");
    }
}

/// One table for each family that has rows.
fn grids(results: &Results, show: Show) -> String {
    let grids = Family::ALL.map(|family| grid(results, family, show));
    grids.iter().filter(|grid| !grid.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n")
}

fn grid(results: &Results, family: Family, show: Show) -> String {
    let heads = results.columns.iter().filter(|column| column.families.contains(&family));
    let heads: Vec<&str> = std::iter::once("").chain(heads.map(|column| column.name)).collect();
    let rows: Vec<String> = results
        .rows
        .iter()
        .filter(|(row, _)| row.program.families().contains(&family))
        .map(|(row, cells)| {
            let cells = results.columns.iter().zip(cells);
            let shown = cells.filter(|(column, _)| column.families.contains(&family)).map(|(_, cell)| cell);
            grid_line(row, &shown.collect::<Vec<_>>(), show)
        })
        .collect();
    if rows.is_empty() { String::new() } else { line(&heads) + &rule(heads.len()) + &rows.concat() }
}

/// The bare program is the first of every family.
fn grid_line(row: &Row, cells: &[&Cell], show: Show) -> String {
    let bare = cells.first().and_then(|cell| cell.cost());
    let shown = cells.iter().map(|cell| match (cell.cost(), bare) {
        (Some(cost), Some(bare)) => show(row, cost, bare),
        _ => "–".to_owned(),
    });
    line(std::iter::once(row.title.to_owned()).chain(shown))
}

fn cpu(row: &Row, cost: Cost, bare: Cost) -> String {
    format!("{} ({:.2}x)", row.unit.show(cost.cpu_ns), cost.cpu_ns / bare.cpu_ns)
}

fn memory(_: &Row, cost: Cost, bare: Cost) -> String {
    format!("{:.1} MiB ({:.2}x)", cost.peak_kib / 1024.0, cost.peak_kib / bare.peak_kib)
}

fn after(_: &Row, cost: Cost, _: Cost) -> String {
    format!("{:.2} s", cost.after_ns / 1e9)
}

fn judged(verdicts: &[Verdict]) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let mut text = line(["row", "what", "at most", "measured", ""]) + &rule(5);
    for verdict in verdicts {
        let found = verdict.found.map_or_else(|| "–".to_owned(), |found| format!("{found:.3}"));
        let at_most = format!("{:.2}", verdict.at_most);
        text += &line([verdict.row, &verdict.what, &at_most, &found, verdict.word()]);
    }
    text
}

/// One line for each tool and reason, with the rows that it left empty.
fn reasons(results: &Results) -> String {
    let mut found: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for (row, cells) in &results.rows {
        for (column, cell) in results.columns.iter().zip(cells) {
            let Cell::None(reason) = cell else { continue };
            match found.iter_mut().find(|(tool, why, _)| *tool == column.name && why == reason) {
                Some((_, _, rows)) => rows.push(row.name),
                None => found.push((column.name, reason, vec![row.name])),
            }
        }
    }
    found.iter().map(|(tool, why, rows)| format!("- {tool}: {why} ({})\n", rows.join(", "))).collect()
}

/// One line of a table.
pub fn line<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let mut text = String::from("|");
    for cell in cells {
        write!(text, " {} |", cell.as_ref()).expect("a string takes all");
    }
    text + "\n"
}

/// What stands below the head of a table.
pub fn rule(columns: usize) -> String {
    format!("|{}\n", "---|".repeat(columns))
}

#[cfg(test)]
mod tests {
    use super::super::rows::ROWS;
    use super::super::tool::Column;
    use super::*;

    const BARE: Cell = Cell::Cost(Cost { cpu_ns: 25.0, peak_kib: 2048.0, after_ns: 0.0 });

    fn row(name: &str) -> &'static Row {
        ROWS.iter().find(|row| row.name == name).unwrap()
    }

    fn results(peer: Cell) -> Results {
        let both = |name| Column { name, families: &Family::ALL };
        let columns = vec![both("bare"), both("heaptrack")];
        Results { columns, rows: vec![(row("pairs-30"), vec![BARE, peer])] }
    }

    /// A tool for Python and one for the rest, and the rows that have one, the other or both.
    fn two_families() -> Results {
        let columns = vec![
            Column { name: "bare", families: &Family::ALL },
            Column { name: "memray", families: &[Family::Python] },
            Column { name: "LSan", families: &[Family::Native] },
        ];
        let cells = |memray, lsan| vec![BARE, memray, lsan];
        let rows = vec![
            (row("pairs-30"), cells(Cell::Empty, BARE)),
            (row("py-json"), cells(BARE, Cell::Empty)),
            (row("tf-import"), cells(BARE, BARE)),
        ];
        Results { columns, rows }
    }

    #[test]
    fn a_number_stands_beside_its_ratio_to_bare() {
        let peer = Cell::Cost(Cost { cpu_ns: 554.0, peak_kib: 4096.0, after_ns: 2e9 });
        let text = tables(&results(peer), 3, None);
        assert!(text.contains("| malloc/free pair, depth 30 | 25 ns (1.00x) | 554 ns (22.16x) |"), "{text}");
        assert!(text.contains("| 2.0 MiB (1.00x) | 4.0 MiB (2.00x) |"), "{text}");
        assert!(text.contains("| 0.00 s | 2.00 s |"), "{text}");
    }

    #[test]
    fn an_empty_cell_has_its_reason_below() {
        let text = tables(&results(Cell::None("more than 180 s".to_owned())), 3, None);
        assert!(text.contains("| 25 ns (1.00x) | – |"), "{text}");
        assert!(text.contains("- heaptrack: more than 180 s (pairs-30)"), "{text}");
    }

    #[test]
    fn tools_stand_in_the_tables_of_their_own_family() {
        let grids = grids(&two_families(), after);
        let (native, python) = grids.split_once("\n\n").unwrap();
        assert_eq!(native.lines().next(), Some("|  | bare | LSan |"), "{native}");
        assert_eq!(python.lines().next(), Some("|  | bare | memray |"), "{python}");
        let titles = |grid: &str| grid.lines().skip(2).map(|line| line[2..8].to_owned()).collect::<Vec<_>>();
        assert_eq!(titles(native), ["malloc", "import"]);
        assert_eq!(titles(python), ["json: ", "import"]);
        assert!(!grids.contains('–'), "no tool is asked for what is not its own: {grids}");
    }

    #[test]
    fn versions_are_told_where_a_python_ran() {
        assert!(tables(&results(BARE), 3, Some("CPython 3.11.7")).contains("runs. CPython 3.11.7.\n"));
    }

    #[test]
    fn what_stands_around_the_tables_stays() {
        for section in [None, Some("readings")] {
            let [begin, end] = marks(section);
            let text = format!("above\n{begin}old\n{end}below\n");
            let new = replaced(&text, section, "new\n").unwrap();
            assert_eq!(new, format!("above\n{begin}new\n{end}below\n"));
            assert!(replaced(&text, Some("another"), "new\n").is_err());
        }
    }

    #[test]
    fn paths_of_this_machine_are_not_written_down() {
        assert_eq!(without_paths(&["--python", "/a/b", "--write"]), ["--python", "PATH", "--write"]);
    }
}
