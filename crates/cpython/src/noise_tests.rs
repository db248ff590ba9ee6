//! Every reader on memory of any bytes: whatever lies there, it gives an answer.

use proptest::prelude::*;

use crate::dicts::Tables;
use crate::iterators::Types;
use crate::layout::Layout;
use crate::memory::ReadMemory;
use crate::recognise::recognise;
use crate::type_objects::{Member, TypeObject};
use crate::unicode::Text;
use crate::version::Version;

/// Words drawn by chance: small numbers, addresses, and anything else.
struct Noise(u64);

impl ReadMemory for Noise {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        for (at, byte) in (address..).zip(into.iter_mut()) {
            *byte = self.word_at(at / 8).to_le_bytes()[(at % 8) as usize];
        }
        // Now and then a page ends.
        if self.word_at(address / 4096).is_multiple_of(16) { into.len() / 2 } else { into.len() }
    }
}

impl Noise {
    fn word_at(&self, number: u64) -> u64 {
        let mixed = (number ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let mixed = mixed.wrapping_mul(self.0 | 1);
        match mixed >> 61 {
            0 | 1 => mixed & 0xff,
            2 => mixed & 0xffff_ffff,
            3 => mixed,
            _ => 0x7f00_0000_0000 | (mixed & 0xff_fff8),
        }
    }
}

fn ask_frames(memory: &Noise, layout: &Layout, at: u64) {
    let frame = layout.innermost_frame(memory, at);
    let code = layout.code_of_frame(memory, at);
    let position = layout.frame.position_of(memory, at).unwrap_or(u64::MAX);
    let _ = (frame, code, layout.instruction(at, position), layout.stack_of_frame(memory, at, 1 << 32));
    let _ = (layout.frame_of_object(memory, at), layout.frame_of_generator(memory, at));
    let _ = (layout.finished_frame(memory, at), layout.frame.object(position));
    let _ = (layout.frame.is_of_c(memory, at), layout.frame.ends_run(memory, at));
    let _ = (layout.instructions(memory, at), layout.is_of_a_call(memory, at));
}

fn ask_objects(memory: &Noise, layout: &Layout, at: u64) {
    let word = memory.word(at).unwrap_or(0);
    let _ = (Text::of(memory, &layout.unicode, at), layout.integer.value(memory, at));
    let _ = (Tables::of(memory, at), layout.keys.entries(memory, at), Member::read(memory, at));
    let _ = (layout.references(word), layout.is_constant(word), layout.lead(word));
    if let Some(of) = TypeObject::read(memory, at) {
        let _ = (layout.dict_word(memory, at, &of), layout.has_weak_references_first(of.flags));
        let _ = layout.attributes.values_of(memory, at, of.flags, of.basicsize);
    }
    let _ = layout.attributes.order_of(memory, at);
    let types = Types::of(|_| Some(memory.word(at + 8).unwrap_or(1)), layout);
    let _ = types.kind(memory, at);
}

proptest! {
    #[test]
    fn memory_of_any_bytes_gives_an_answer(seed: u64, minor in 8u8..16, at in 0x2000u64..1 << 44, size in 0u64..4096) {
        let (memory, at) = (Noise(seed), 8 * at);
        let _ = recognise(&memory, |name| (name.count_bytes() % 2 == 0).then_some(at));
        if let Some(layout) = Layout::of(Version::new(3, minor)) {
            ask_frames(&memory, layout, at);
            ask_objects(&memory, layout, at + 8 * size);
        }
    }
}
