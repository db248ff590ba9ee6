//! The interpreter against gimli's, row by row, on real libraries of the machine.

use super::*;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EndianSlice, LittleEndian, RegisterRule, UnwindContext, UnwindSection,
};
use object::{Object, ObjectSection, ObjectSegment};
use std::vec::Vec;

/// The rule that gimli's row stands for, by the definitions of `Kind`; `None` where we say "not understood", too.
fn rule_of_row(
    row: &gimli::UnwindTableRow<usize>,
    frames: &EhFrame<EndianSlice<'_, LittleEndian>>,
) -> Option<Rule> {
    let bytes_of =
        |expression: &gimli::UnwindExpression<usize>| expression.get(frames).unwrap().0.slice().to_vec();
    match row.register(gimli::Register(16)) {
        None | Some(RegisterRule::Undefined) => return Some(Rule::plain(Kind::End)),
        Some(RegisterRule::Offset(-8)) => {}
        _ => return None,
    }
    let (kind, cfa) = match row.cfa() {
        CfaRule::RegisterAndOffset { register: gimli::Register(7), offset } => (Kind::Rsp, *offset),
        CfaRule::RegisterAndOffset { register: gimli::Register(6), offset } => (Kind::Rbp, *offset),
        CfaRule::RegisterAndOffset { register, offset } => {
            (Kind::Register, Rule::register_offset(u64::from(register.0), *offset)?)
        }
        CfaRule::Expression(expression) => expression_rule(&bytes_of(expression))?,
    };
    let (rbp, slot) = match row.register(gimli::Register(6)) {
        Some(RegisterRule::Offset(offset)) => (RbpRule::AtCfa, offset),
        None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => (RbpRule::Same, 0),
        Some(RegisterRule::Expression(expression)) => (RbpRule::AtRbp, rbp_plus(&bytes_of(&expression))?),
        _ => return None,
    };
    Rule::new(kind, cfa, rbp, slot)
}

/// Compares every row of every FDE of a file; the number of rows.
fn compare_file(path: &str) -> usize {
    let data = std::fs::read(path).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let section = file.section_by_name(".eh_frame").unwrap();
    let header = file.section_by_name(".eh_frame_hdr").unwrap().address();
    let segment = file.segments().find(|s| (s.address()..s.address() + s.size()).contains(&header)).unwrap();
    let segment = Segment { bytes: segment.data().unwrap(), start: Addr::new(segment.address()) };
    let bytes = section.data().unwrap();
    let mut frames = EhFrame::new(bytes, LittleEndian);
    frames.set_address_size(8);
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let mut entries = frames.entries(&bases);
    let mut rows = 0;
    while let Some(entry) = entries.next().unwrap() {
        let gimli::CieOrFde::Fde(partial) = entry else { continue };
        let fde = partial.parse(EhFrame::cie_from_offset).unwrap();
        if fde.len() == 0 {
            continue;
        }
        let mut context = UnwindContext::new();
        let mut table = fde.rows(&frames, &bases, &mut context).unwrap();
        while let Some(row) = table.next_row().unwrap() {
            let expected = if fde.is_signal_trampoline() {
                Some(Rule::plain(Kind::Signal))
            } else {
                rule_of_row(row, &frames)
            };
            for pc in [row.start_address(), row.end_address() - 1] {
                assert_eq!(rule_at(segment, Addr::new(header), Addr::new(pc)), expected, "{path} at {pc:#x}");
            }
            rows += 1;
        }
    }
    rows
}

#[test]
fn every_row_of_the_systems_libraries_equals_that_of_gimli() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut files: Vec<&str> = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).collect();
    files.retain(|path| path.contains(".so"));
    files.sort_unstable();
    files.dedup();
    assert!(files.iter().any(|path| path.contains("libc.so")), "this test reads the libraries it runs with");
    let rows: usize = files.iter().map(|path| compare_file(path)).sum();
    let own = compare_file(std::env::current_exe().unwrap().to_str().unwrap());
    assert!(rows > 10_000 && own > 1_000, "{rows} rows of libraries, {own} of this test");
}

#[test]
fn damaged_bytes_give_no_rule_and_no_panic() {
    let data = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let header = file.section_by_name(".eh_frame_hdr").unwrap().address();
    let text = file.section_by_name(".text").unwrap();
    let whole = file.segments().find(|s| (s.address()..s.address() + s.size()).contains(&header)).unwrap();
    let (clean, start) = (whole.data().unwrap(), whole.address());
    let offset = (header - start) as usize;
    let mut state = 0x1234_5678_9abc_def0u64;
    for _ in 0..300 {
        let mut bytes = clean.to_vec();
        for _ in 0..2000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = offset + (state >> 33) as usize % (bytes.len() - offset);
            bytes[at] ^= (state >> 20) as u8;
        }
        for step in 0..200 {
            let segment = Segment { bytes: &bytes, start: Addr::new(start) };
            rule_at(segment, Addr::new(header), Addr::new(text.address() + step * 97));
        }
    }
}
