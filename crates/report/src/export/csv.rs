//! The ledger as a table for spreadsheets: one row for each time that it was read, one column for each layer. The layers of a
//! row add up to its resident bytes. Spaces beside the host's have columns and rows of their own, after those.

use std::io::{self, Write};

use heaplens_analyze::Profile;
use heaplens_analyze::profile::LedgerProfile;
use heaplens_format::Bytes;
use heaplens_format::memory::{Line, Space};
use heaplens_format::recording::Ledger;

use crate::catalogue::ledger::{layers, when};

/// Writes the table.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, ledger: &LedgerProfile, out: &mut dyn Write) -> io::Result<()> {
    let all = [ledger].into_iter().chain(profile.spaces.iter().map(|space| &space.ledger));
    let parts: Vec<Columns<'_>> = all.map(|ledger| Columns::of(profile, ledger)).collect();
    let names: Vec<String> = parts.iter().flat_map(Columns::names).collect();
    writeln!(out, "seconds,moment,{}", names.join(","))?;
    for (own, part) in parts.iter().enumerate() {
        for one in &part.ledger.all {
            writeln!(out, "{}", row(&parts, own, one))?;
        }
    }
    Ok(())
}

/// The columns of one space.
struct Columns<'a> {
    ledger: &'a LedgerProfile,
    /// Prefix of the names of its columns.
    prefix: String,
    layers: Vec<(&'static str, Vec<Line>)>,
}

impl<'a> Columns<'a> {
    fn of(profile: &Profile, ledger: &'a LedgerProfile) -> Self {
        let row = profile.tables.space(ledger.space).filter(|_| ledger.space != Space::HOST);
        let prefix = row.map_or_else(String::new, |row| format!("{} ", row.name_of(ledger.space)));
        Self { ledger, prefix, layers: layers(profile.tables, ledger.space.kind) }
    }

    fn is_host(&self) -> bool {
        self.ledger.space == Space::HOST
    }

    fn names(&self) -> Vec<String> {
        let sums: &[&str] = if self.is_host() { &["rss", "pss", "uss"] } else { &["used"] };
        let layers = self.layers.iter().map(|(layer, _)| layer);
        sums.iter().chain(layers).map(|name| format!("{}{name}", self.prefix)).collect()
    }

    fn values(&self, ledger: &Ledger) -> Vec<String> {
        let of_host = [ledger.rss, ledger.pss, ledger.uss];
        let sums = if self.is_host() { &of_host[..] } else { &of_host[..1] };
        let bytes = |lines: &[Line]| lines.iter().map(|&line| ledger.line(line)).sum::<Bytes>();
        let layers = self.layers.iter().map(|(_, lines)| bytes(lines));
        sums.iter().copied().chain(layers).map(|bytes| bytes.get().to_string()).collect()
    }
}

/// A row has values in the columns of its own space.
fn row(parts: &[Columns<'_>], own: usize, ledger: &Ledger) -> String {
    let of_part = |(at, part): (usize, &Columns<'_>)| match at == own {
        true => part.values(ledger),
        false => vec![String::new(); part.names().len()],
    };
    let values: Vec<String> = parts.iter().enumerate().flat_map(of_part).collect();
    let seconds = ledger.at.get() as f64 / 1e9;
    format!("{seconds:.6},{},{}", when(ledger.moment), values.join(","))
}
