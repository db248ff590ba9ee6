//! Truth against report, exactly.
//!
//! A site belongs to the row of its innermost frame whose file and line are those of a row of the same layer. A site whose
//! very innermost frame is in the program's source, but on no row, is a block that the program knows nothing about.

use std::fmt::Write;

use super::report::{Report, Site};
use super::truth::{Claim, Row, Truth};

const NAMES: [&str; 6] = [
    "live bytes",
    "live blocks",
    "allocated bytes",
    "allocated blocks",
    "bytes at the peak",
    "blocks at the peak",
];

/// Panics with every difference between what the process said and what was recorded of it.
pub fn assert_exact(truth: &Truth, pid: u32, report: &Report) {
    let rows: Vec<&Row> = truth.rows.iter().filter(|row| row.pid == pid).collect();
    assert!(!rows.is_empty(), "process {pid} said nothing about itself");
    let mut sums = vec![[0i64; 6]; rows.len()];
    let mut differences = String::new();
    for site in report.sites() {
        match row_of(&site, &rows) {
            Some(row) => add(&mut sums[row], &site.amounts),
            None if truth.is_partial => {}
            None => note_stranger(&site, &rows, &mut differences),
        }
    }
    for (row, sum) in rows.iter().zip(&sums) {
        compare(row, sum, &mut differences);
    }
    assert!(differences.is_empty(), "process {pid}:\n{differences}losses: {}", report.0["losses"]);
}

/// Panics when a stack is not the one that the program gives for its line.
pub fn assert_chains(truth: &Truth, report: &Report) {
    let sites = report.sites();
    assert!(!truth.chains.is_empty(), "the program gave no stacks");
    for chain in &truth.chains {
        let at = |site: &&Site| {
            site.layer == "native"
                && own_frames(site, &chain.file).next().is_some_and(|(_, line)| line == Some(chain.line))
        };
        let found: Vec<&Site> = sites.iter().filter(at).collect();
        assert!(!found.is_empty(), "no site at {}:{}", chain.file, chain.line);
        for site in found {
            let names: Vec<&str> = own_frames(site, &chain.file).map(|(name, _)| name).collect();
            assert_eq!(names, chain.functions, "the stack of {}:{}", chain.file, chain.line);
        }
    }
}

fn own_frames<'a>(site: &'a Site, file: &'a str) -> impl Iterator<Item = (&'a str, Option<u64>)> {
    let own = site.stack.iter().filter(move |frame| frame.file.as_deref() == Some(file));
    own.map(|frame| (frame.function.as_deref().unwrap_or("?"), frame.line))
}

fn row_of(site: &Site, rows: &[&Row]) -> Option<usize> {
    site.stack.iter().find_map(|frame| {
        rows.iter().position(|row| {
            row.layer == site.layer
                && frame.file.as_deref() == Some(&row.file)
                && frame.line == Some(row.line)
        })
    })
}

fn add(sum: &mut [i64; 6], amounts: &[i64; 6]) {
    for (sum, amount) in sum.iter_mut().zip(amounts) {
        *sum += amount;
    }
}

fn compare(row: &Row, sum: &[i64; 6], differences: &mut String) {
    for ((claim, found), name) in row.claims.iter().zip(sum).zip(NAMES) {
        if differs(*claim, *found) {
            let said = claim.unwrap_or_default();
            writeln!(
                differences,
                "{}:{} {} {name}: said {said}, found {found}",
                row.file, row.line, row.layer
            )
            .expect("a string takes all");
        }
    }
}

fn differs(claim: Claim, found: i64) -> bool {
    claim.is_some_and(|said| said != found)
}

fn note_stranger(site: &Site, rows: &[&Row], differences: &mut String) {
    let Some(frame) = site.stack.first() else { return };
    let known = |row: &&Row| row.layer == site.layer && Some(row.file.as_str()) == frame.file.as_deref();
    if site.amounts[0] != 0 && rows.iter().any(known) {
        writeln!(differences, "a site that the program does not know: {site:?}").expect("a string takes all");
    }
}
