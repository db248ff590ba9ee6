//! The ledger as a table for spreadsheets: one row for each time that it was read, one column for each layer. The layers of a
//! row add up to its resident bytes.

use std::io::{self, Write};

use heaplens_analyze::profile::LedgerProfile;
use heaplens_format::Bytes;
use heaplens_format::recording::{Ledger, Line};

use crate::json::ledger::{LAYERS, when};

/// Writes the table.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(ledger: &LedgerProfile, out: &mut dyn Write) -> io::Result<()> {
    let layers: Vec<&str> = LAYERS.iter().map(|(layer, _)| *layer).collect();
    writeln!(out, "seconds,moment,rss,pss,uss,{}", layers.join(","))?;
    ledger.all.iter().try_for_each(|one| writeln!(out, "{}", row(one)))
}

fn row(ledger: &Ledger) -> String {
    let bytes = |lines: &[Line]| lines.iter().map(|&line| ledger.line(line)).sum::<Bytes>().get().to_string();
    let layers: Vec<String> = LAYERS.iter().map(|(_, lines)| bytes(lines)).collect();
    let seconds = ledger.at.get() as f64 / 1e9;
    let [rss, pss, uss] = [ledger.rss, ledger.pss, ledger.uss].map(Bytes::get);
    format!("{seconds:.6},{},{rss},{pss},{uss},{}", when(ledger.moment), layers.join(","))
}
