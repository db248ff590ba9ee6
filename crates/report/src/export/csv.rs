//! The ledger as a table for spreadsheets: one row for each time that it was read, one column for each layer. The layers of a
//! row add up to its resident bytes.

use std::io::{self, Write};

use heaplens_analyze::Profile;
use heaplens_analyze::profile::LedgerProfile;
use heaplens_format::Bytes;
use heaplens_format::memory::{Line, SpaceKind};
use heaplens_format::recording::Ledger;

use crate::json::ledger::{layers, when};

/// Writes the table.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, ledger: &LedgerProfile, out: &mut dyn Write) -> io::Result<()> {
    let layers = layers(profile.tables, SpaceKind::HOST);
    let names: Vec<&str> = layers.iter().map(|(layer, _)| *layer).collect();
    writeln!(out, "seconds,moment,rss,pss,uss,{}", names.join(","))?;
    ledger.all.iter().try_for_each(|one| writeln!(out, "{}", row(one, &layers)))
}

fn row(ledger: &Ledger, layers: &[(&str, Vec<Line>)]) -> String {
    let bytes = |lines: &[Line]| lines.iter().map(|&line| ledger.line(line)).sum::<Bytes>().get().to_string();
    let layers: Vec<String> = layers.iter().map(|(_, lines)| bytes(lines)).collect();
    let seconds = ledger.at.get() as f64 / 1e9;
    let [rss, pss, uss] = [ledger.rss, ledger.pss, ledger.uss].map(Bytes::get);
    format!("{seconds:.6},{},{rss},{pss},{uss},{}", when(ledger.moment), layers.join(","))
}
