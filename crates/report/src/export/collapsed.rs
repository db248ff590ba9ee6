//! Collapsed stacks of any value: `outermost;…;innermost bytes`. A difference has both numbers, before and after, as
//! differential flame graphs want them.

use std::io::{self, Write};

use super::samples::StackRow;
use super::{Samples, What};
use crate::collapsed::joined;

/// Writes one line for each stack that has any of it.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(samples: &Samples<'_>, what: What, out: &mut dyn Write) -> io::Result<()> {
    for row in &samples.rows {
        let [before, after] = row.sides(what).map(|bytes| bytes.max(0));
        match samples.is_difference {
            true if before > 0 || after > 0 => writeln!(out, "{} {before} {after}", line(row))?,
            false if after > 0 => writeln!(out, "{} {after}", line(row))?,
            _ => {}
        }
    }
    Ok(())
}

fn line(row: &StackRow<'_>) -> String {
    joined(row.frames.iter().copied(), row.is_cut)
}
