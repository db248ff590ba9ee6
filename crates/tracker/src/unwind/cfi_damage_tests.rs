//! Entries that no compiler writes, reduced from what the fuzzer found.

use super::*;
use std::vec::Vec;

const START: u64 = 0x1000;
/// Where the code of the entry is.
const BEGIN: u64 = 0x9000;

/// A search table with one row, a CIE and an FDE for 256 bytes of code at `BEGIN`, with these instructions.
fn table(common: &[u8], own: &[u8]) -> Vec<u8> {
    const HEADER: u32 = 20;
    let mut cie = std::vec![0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1];
    cie.extend(common);
    let back = 4 + cie.len() as u32 + 4;
    let fde = [&back.to_le_bytes()[..], &BEGIN.to_le_bytes(), &256u64.to_le_bytes(), own].concat();
    let first = (BEGIN - START) as u32;
    let words = [0, 1, first, HEADER + 4 + cie.len() as u32].map(u32::to_le_bytes).concat();
    let sized = |entry: &[u8]| [&(entry.len() as u32).to_le_bytes(), entry].concat();
    [&[1, 0x1b, 0x03, 0x3b][..], &words, &sized(&cie), &sized(&fde)].concat()
}

fn rule(common: &[u8], own: &[u8], offset: u64) -> Option<Rule> {
    let start = Addr::new(START);
    rule_at(Segment { bytes: &table(common, own), start }, start, Addr::new(BEGIN + offset))
}

fn rsp_plus(offset: i64) -> Option<Rule> {
    Rule::new(Kind::Rsp, offset, RbpRule::Same, 0)
}

#[test]
fn a_sound_entry_has_its_rule_before_and_after_an_instruction() {
    assert_eq!(rule(&[], &[0x44, 0x0e, 16], 3), rsp_plus(8));
    assert_eq!(rule(&[], &[0x44, 0x0e, 16], 4), rsp_plus(16));
}

#[test]
fn a_common_entry_that_moves_the_location_is_not_understood() {
    assert_eq!(rule(&[0x72], &[0x44, 0x0e, 16], 8), None);
}
