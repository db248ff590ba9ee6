//! Whether an instruction writes to memory or reads from it, for those that programs access memory with most: moves, arithmetic, comparisons,
//! and what vectors have of these. Asked where the processor does not say what it refused.

/// No instruction has more bytes.
pub const LONGEST: usize = 15;

/// Whether the instruction at the begin of these bytes writes; `None` for one that may do both at different addresses, does neither, or is not known.
pub fn writes(bytes: &[u8]) -> Option<bool> {
    let (prefix, rest) = split_prefixes(bytes);
    let (&first, rest) = rest.split_first()?;
    match first {
        0x0f => match rest.split_first()? {
            (&map @ (0x38 | 0x3a), rest) => of_three_bytes(map == 0x3a, *rest.first()?),
            (&code, rest) => of_two_bytes(code, prefix, rest),
        },
        // VEX: the map is the one of two bytes in the short form; the long one says which.
        0xc5 => of_two_bytes(*rest.get(1)?, repeat_of_vex(*rest.first()?), rest.get(2..)?),
        0xc4 => of_vex_map(rest.first()? & 0x1f, repeat_of_vex(*rest.get(1)?), rest.get(2..)?),
        0x62 => of_vex_map(rest.first()? & 0x07, repeat_of_vex(*rest.get(1)?), rest.get(3..)?),
        code => of_one_byte(code, rest),
    }
}

/// The prefix that tells instructions of two bytes apart: 0, 0x66, 0xf2 or 0xf3; and what follows all prefixes.
fn split_prefixes(bytes: &[u8]) -> (u8, &[u8]) {
    const SEGMENTS: [u8; 8] = [0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf0];
    let (mut last, mut rest) = (0, bytes);
    while let Some((&byte, more)) = rest.split_first() {
        match byte {
            0x66 | 0xf2 | 0xf3 => last = byte,
            _ if SEGMENTS.contains(&byte) => {}
            _ => break,
        }
        rest = more;
    }
    match rest.split_first() {
        Some((0x40..=0x4f, more)) => (last, more),
        _ => (last, rest),
    }
}

fn repeat_of_vex(byte: u8) -> u8 {
    [0, 0x66, 0xf3, 0xf2][usize::from(byte & 3)]
}

fn of_vex_map(map: u8, prefix: u8, rest: &[u8]) -> Option<bool> {
    let (&code, rest) = rest.split_first()?;
    match map {
        1 => of_two_bytes(code, prefix, rest),
        2 | 3 => of_three_bytes(map == 3, code),
        _ => None,
    }
}

/// Whether the operand of an instruction is memory.
fn is_memory(rest: &[u8]) -> Option<u8> {
    rest.first().copied().filter(|operands| operands >> 6 != 3)
}

/// The part of the operands that belongs to the instruction.
fn number(operands: u8) -> u8 {
    operands >> 3 & 7
}

fn of_one_byte(code: u8, rest: &[u8]) -> Option<bool> {
    match code {
        0xaa | 0xab => return Some(true),
        0xac..=0xaf => return Some(false),
        _ => {}
    }
    let operands = is_memory(rest)?;
    match code {
        0x00..=0x3f if code & 7 < 4 => Some(code & 2 == 0 && code < 0x38),
        0x63 | 0x69 | 0x6b | 0x84 | 0x85 | 0x8a | 0x8b => Some(false),
        0x86..=0x89 | 0xc0 | 0xc1 | 0xc6 | 0xc7 | 0xd0..=0xd3 => Some(true),
        0x80 | 0x81 | 0x83 => Some(number(operands) != 7),
        0xf6 | 0xf7 => Some(matches!(number(operands), 2 | 3)),
        0xfe | 0xff => Some(number(operands) < 2),
        _ => None,
    }
}

fn of_two_bytes(code: u8, prefix: u8, rest: &[u8]) -> Option<bool> {
    is_memory(rest)?;
    match code {
        0x11
        | 0x13
        | 0x17
        | 0x29
        | 0x2b
        | 0x7f
        | 0x90..=0x9f
        | 0xb0
        | 0xb1
        | 0xc0
        | 0xc1
        | 0xc3
        | 0xd6
        | 0xe7 => Some(true),
        0x7e => Some(prefix != 0xf3),
        0x10
        | 0x12
        | 0x14..=0x16
        | 0x28
        | 0x2a
        | 0x2c..=0x2f
        | 0x40..=0x76
        | 0xaf
        | 0xb6..=0xb8
        | 0xbc..=0xbf => Some(false),
        0xc2 | 0xc4 | 0xc6 | 0xd0..=0xff => Some(false),
        _ => None,
    }
}

/// Parts of vectors are stored by those with a number, masked and scattered stores are among the others.
fn of_three_bytes(has_number: bool, code: u8) -> Option<bool> {
    match (has_number, code) {
        (true, 0x14..=0x17 | 0x19 | 0x1b | 0x1d | 0x39 | 0x3b) => Some(true),
        (false, 0x2e | 0x2f | 0x8e | 0xa0..=0xa3 | 0xf0..) => None,
        _ => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_write_and_loads_read() {
        let stores: [&[u8]; 14] = [
            &[0x89, 0x08],                         // mov %ecx, (%rax)
            &[0x48, 0x89, 0x4c, 0x24, 0x08],       // mov %rcx, 8(%rsp)
            &[0xc7, 0x00, 1, 0, 0, 0],             // movl $1, (%rax)
            &[0xc6, 0x45, 0xff, 0x41],             // movb $0x41, -1(%rbp)
            &[0x48, 0x01, 0x08],                   // add %rcx, (%rax)
            &[0x83, 0x00, 0x01],                   // addl $1, (%rax)
            &[0xff, 0x00],                         // incl (%rax)
            &[0xf3, 0x48, 0xab],                   // rep stos %rax, (%rdi)
            &[0x0f, 0x11, 0x07],                   // movups %xmm0, (%rdi)
            &[0x66, 0x48, 0x0f, 0x7e, 0x00],       // movq %xmm0, (%rax)
            &[0xc5, 0xfe, 0x7f, 0x07],             // vmovdqu %ymm0, (%rdi)
            &[0x62, 0xe1, 0xfe, 0x28, 0x7f, 0x07], // vmovdqu64 %ymm16, (%rdi)
            &[0xc4, 0xe3, 0x7d, 0x39, 0x07, 0x01], // vextracti128 $1, %ymm0, (%rdi)
            &[0xf0, 0x0f, 0xb1, 0x0a],             // lock cmpxchg %ecx, (%rdx)
        ];
        let loads: [&[u8]; 11] = [
            &[0x8b, 0x00],                               // mov (%rax), %eax
            &[0x0f, 0xb6, 0x00],                         // movzbl (%rax), %eax
            &[0x48, 0x3b, 0x08],                         // cmp (%rax), %rcx
            &[0x38, 0x08],                               // cmp %cl, (%rax)
            &[0x80, 0x38, 0x00],                         // cmpb $0, (%rax)
            &[0x03, 0x08],                               // add (%rax), %ecx
            &[0xf2, 0xae],                               // repne scas (%rdi), %al
            &[0xf3, 0x0f, 0x7e, 0x00],                   // movq (%rax), %xmm0
            &[0x66, 0x0f, 0x74, 0x07],                   // pcmpeqb (%rdi), %xmm0
            &[0xc5, 0xf5, 0x74, 0x07],                   // vpcmpeqb (%rdi), %ymm1, %ymm0
            &[0x62, 0xa3, 0x7d, 0x20, 0x3f, 0x07, 0x00], // vpcmpeqb (%rdi), %ymm16, %k0
        ];
        assert!(stores.iter().all(|bytes| writes(bytes) == Some(true)), "{stores:x?}");
        assert!(loads.iter().all(|bytes| writes(bytes) == Some(false)), "{loads:x?}");
    }

    #[test]
    fn of_others_nothing_is_claimed() {
        let others: [&[u8]; 6] = [&[], &[0x48], &[0x89, 0xc8], &[0xf3, 0xa4], &[0xf4], &[0x0f, 0x0b]];
        assert!(others.iter().all(|bytes| writes(bytes).is_none()), "registers, two operands, hlt, ud2");
    }
}
