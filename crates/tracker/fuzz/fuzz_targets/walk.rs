//! Any rules over any stack: the walker stays inside, ends, and reports every word that it depends on.
//!
//! ```text
//!   input   rsp u8 │ rbp (word) │ rules u8 │ rules × u64 │ words from rsp on      word: kind u8, value i16
//! ```
#![no_main]

use heaplens_format::Addr;
use heaplens_tracker::Caller;
use heaplens_tracker::unwind::rule::{Kind, Rule};
use heaplens_tracker::unwind::walk::{COMPLETE, CUT, Cursor, NEXT};
use heaplens_tracker_fuzz::stack::Stack;
use libfuzzer_sys::fuzz_target;

/// Words below rsp that a step may read: the red zone.
const LOWEST: usize = 16;
/// Signal contexts may lead in a circle; whoever walks gives up at some depth.
const MOST_STEPS: usize = 100;

fuzz_target!(|bytes: &[u8]| {
    let Some(([rsp, kind, low, high, count], rest)) = bytes.split_first_chunk() else { return };
    let Some((rules, words)) = rest.split_at_checked(usize::from(*count) * 8) else { return };
    let rules: Vec<Rule> =
        rules.as_chunks().0.iter().map(|raw| Rule::from_raw(u64::from_le_bytes(*raw))).collect();
    let stack = Stack::get();
    let start = LOWEST + usize::from(*rsp);
    stack.fill(start, words.as_chunks().0.iter().map(|raw| word(stack, *raw)));
    let caller = Caller { rsp: stack.address(start as i64), rbp: word(stack, [*kind, *low, *high]) };
    let mut cursor = Cursor::new(caller, Addr::new(stack.end()));
    for _ in 0..MOST_STEPS {
        let rule = rules.get(cursor.lookup as usize % rules.len().max(1)).copied().unwrap_or(Rule::UNKNOWN);
        if !step(stack, &mut cursor, rule) {
            break;
        }
    }
});

/// One step; whether there may be another.
fn step(stack: &Stack, cursor: &mut Cursor, rule: Rule) -> bool {
    let before = *cursor;
    let outcome = cursor.step(rule, |address, _| assert!(stack.holds(address), "{address:#x} is outside"));
    if outcome & NEXT == 0 {
        assert!(outcome & (COMPLETE | CUT) != 0, "a walk ends for a reason");
        return false;
    }
    assert_eq!(cursor.end, stack.end());
    if rule.kind() != Kind::Signal {
        assert!(cursor.slot > before.slot && stack.holds(cursor.slot), "a step goes up and stays inside");
    }
    true
}

/// A code address, an address near the stack, a number that leads nowhere.
fn word(stack: &Stack, [kind, low, high]: [u8; 3]) -> u64 {
    let value = i64::from(i16::from_le_bytes([low, high]));
    match kind & 3 {
        0 => value as u16 as u64,
        1 => stack.address(value >> 3),
        2 => stack.address(0).wrapping_add_signed(value),
        _ => (value as u64) << 48 | value as u16 as u64,
    }
}
