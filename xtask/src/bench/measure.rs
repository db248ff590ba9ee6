//! Running and keeping the smallest: one run of every tool in turn, so that a slow minute of the machine hits all of them.

use std::process::Output;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use super::rows::{BenchProgram, Row};
use super::tool::{Column, LIMIT_S, Paths, Tool};

/// The status by which timeout(1) says that it has ended a program, and the one of a program that it had to kill.
const OUT_OF_TIME: [i32; 2] = [124, 137];

/// What one run, or the best of several, cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// CPU time of one unit of work inside the program.
    pub cpu_ns: f64,
    /// Its largest resident set.
    pub peak_kib: f64,
    /// Wall time from the program's last words to the end of the command.
    pub after_ns: f64,
}

impl Cost {
    fn least(self, other: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.min(other.cpu_ns),
            peak_kib: self.peak_kib.min(other.peak_kib),
            after_ns: self.after_ns.min(other.after_ns),
        }
    }

    /// Reads the line that bench/measure.h describes.
    fn parse(line: &str, now_ns: f64) -> Option<Self> {
        let mut words = line.strip_prefix("measured ")?.split_whitespace();
        let mut number =
            |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=')?.parse::<f64>().ok();
        let (cpu_ns, peak_kib, ended_ns) = (number("cpu_ns")?, number("peak_kib")?, number("ended_ns")?);
        Some(Self { cpu_ns, peak_kib, after_ns: (now_ns - ended_ns).max(0.0) })
    }
}

/// What stands where a row and a column meet.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing yet, or a tool that is not for this program.
    Empty,
    /// The minima so far.
    Cost(Cost),
    /// Why there is no number.
    None(String),
}

impl Cell {
    /// The cost, where there is one.
    pub fn cost(&self) -> Option<Cost> {
        match self {
            Self::Cost(cost) => Some(*cost),
            Self::Empty | Self::None(_) => None,
        }
    }

    fn take(&mut self, other: Self) {
        *self = match (self.cost(), other) {
            (Some(best), Self::Cost(cost)) => Self::Cost(best.least(cost)),
            (_, other) => other,
        };
    }
}

/// Every cell, by row and column.
#[derive(Debug)]
pub struct Results {
    /// The heads of the columns.
    pub columns: Vec<Column>,
    /// The rows with their cells, one for each column.
    pub rows: Vec<(&'static Row, Vec<Cell>)>,
}

impl Results {
    /// Runs every row under every tool.
    pub fn measure(rows: &[&'static Row], tools: &[Tool], paths: &Paths, runs: usize) -> Result<Self> {
        let mut results = Self { columns: tools.iter().map(|tool| tool.column).collect(), rows: Vec::new() };
        for row in rows {
            let mut cells: Vec<Cell> = tools.iter().map(|tool| results.before(row, tool)).collect();
            for round in 0..runs {
                eprintln!("{}: run {} of {runs}", row.name, round + 1);
                for (tool, cell) in tools.iter().zip(&mut cells) {
                    if tool.column.is_for(row) && wants_a_run(tool, cell, round) {
                        cell.take(once(row, tool, paths)?);
                    }
                }
            }
            results.rows.push((row, cells));
        }
        Ok(results)
    }

    /// The cost of a row under a tool.
    pub fn cost(&self, row: &str, column: &str) -> Option<Cost> {
        let column = self.columns.iter().position(|known| known.name == column)?;
        let (_, cells) = self.rows.iter().find(|(known, _)| known.name == row)?;
        cells[column].cost()
    }

    /// What is known before the first run: a tool that is not there, or one that did not even get TensorFlow loaded in time.
    fn before(&self, row: &Row, tool: &Tool) -> Cell {
        if let (true, Some(reason)) = (tool.column.is_for(row), &tool.missing) {
            return Cell::None(reason.clone());
        }
        let tried = self.rows.iter().find(|(known, _)| known.program == BenchProgram::TensorFlow);
        let column = self.columns.iter().position(|known| known.name == tool.column.name);
        match (row.program, tried, column) {
            (BenchProgram::TensorFlow, Some((_, cells)), Some(column))
                if matches!(cells[column], Cell::None(_)) =>
            {
                cells[column].clone()
            }
            _ => Cell::Empty,
        }
    }
}

fn wants_a_run(tool: &Tool, cell: &Cell, round: usize) -> bool {
    !matches!(cell, Cell::None(_)) && (round == 0 || !tool.is_slow())
}

/// One run. What a peer cannot do is a result; what ours cannot do ends the task.
fn once(row: &Row, tool: &Tool, paths: &Paths) -> Result<Cell> {
    let mut command = tool.command(row, paths);
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let cell = read(&output, now_ns());
    if let (true, Cell::None(reason)) = (tool.ours, &cell) {
        bail!("{} on {}: {reason}\n{command:?}", tool.column.name, row.name);
    }
    Ok(cell)
}

fn read(output: &Output, now_ns: f64) -> Cell {
    let status = output.status;
    if status.code().is_some_and(|code| OUT_OF_TIME.contains(&code)) {
        return Cell::None(format!("more than {LIMIT_S} s"));
    }
    if !status.success() {
        return Cell::None(format!("ended with {status}"));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let cost = text.lines().find_map(|line| Cost::parse(line, now_ns));
    cost.map_or_else(|| Cell::None("said nothing about itself".to_owned()), Cell::Cost)
}

/// The clock that `ended_ns` is of.
fn now_ns() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_nanos() as f64)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    const LINE: &str = "measured cpu_ns=23.5 peak_kib=2712 ended_ns=1000";

    fn ended(status: ExitStatus, stdout: &str) -> Cell {
        read(&Output { status, stdout: stdout.into(), stderr: Vec::new() }, 1500.0)
    }

    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn the_line_is_found_among_what_else_is_printed() {
        let cell = ended(exited(0), &format!("checksum 7\n{LINE}\nbye\n"));
        assert_eq!(cell, Cell::Cost(Cost { cpu_ns: 23.5, peak_kib: 2712.0, after_ns: 500.0 }));
    }

    #[test]
    fn a_run_without_a_number_has_a_reason() {
        assert_eq!(ended(exited(124), LINE), Cell::None(format!("more than {LIMIT_S} s")));
        assert_eq!(ended(exited(0), "checksum 7\n"), Cell::None("said nothing about itself".to_owned()));
        assert!(matches!(ended(exited(3), LINE), Cell::None(reason) if reason.contains('3')));
    }

    #[test]
    fn each_number_keeps_its_own_minimum() {
        let mut cell = Cell::Empty;
        cell.take(Cell::Cost(Cost { cpu_ns: 5.0, peak_kib: 10.0, after_ns: 1.0 }));
        cell.take(Cell::Cost(Cost { cpu_ns: 4.0, peak_kib: 11.0, after_ns: 2.0 }));
        assert_eq!(cell, Cell::Cost(Cost { cpu_ns: 4.0, peak_kib: 10.0, after_ns: 1.0 }));
    }

    #[test]
    fn a_tool_that_failed_once_has_no_number() {
        let mut cell = Cell::Cost(Cost { cpu_ns: 5.0, peak_kib: 10.0, after_ns: 1.0 });
        cell.take(Cell::None("ended with 3".to_owned()));
        assert_eq!(cell.cost(), None);
    }
}
