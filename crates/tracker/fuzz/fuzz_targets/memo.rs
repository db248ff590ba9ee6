//! A stack that changes between captures: what the memo makes of it is what a walk from the start finds.
//!
//! ```text
//!   input   a row of   0 │ index u16 │ value u16                 a word changes
//!                      1 │ index u16 │ count u8 │ values u16     several do
//!                      2 │ index u16 │ rbp u16                   a capture with rsp at the word
//! ```
#![no_main]

use std::sync::{LazyLock, Mutex};

use heaplens_format::Addr;
use heaplens_format::arena::Pseudo;
use heaplens_tracker::Caller;
use heaplens_tracker::process::path::PathBuffer;
use heaplens_tracker::sys::{self, Descriptor};
use heaplens_tracker::tables::arena::Arena;
use heaplens_tracker::tables::trie::{ROOT_HASH, extend_hash};
use heaplens_tracker::unwind::memo::{MAX_DEPTH, Memo};
use heaplens_tracker::unwind::{Unwinder, walk};
use heaplens_tracker_fuzz::shapes;
use heaplens_tracker_fuzz::stack::{Stack, WORDS};
use libfuzzer_sys::fuzz_target;

/// The least words below rsp: the red zone of its frame.
const LOWEST: u16 = 17;

static UNWINDER: Unwinder = Unwinder::new();
static ARENA: LazyLock<Arena> = LazyLock::new(arena);
static THREAD: LazyLock<Mutex<Thread>> =
    LazyLock::new(|| Mutex::new(Thread { memo: memo(), walked: vec![0; MAX_DEPTH] }));

/// What a thread would have, and a scratch buffer for the other walk.
struct Thread {
    memo: &'static mut Memo,
    walked: Vec<u64>,
}

fuzz_target!(|bytes: &[u8]| {
    let mut thread = THREAD.lock().expect("the fuzzer has one thread");
    thread.memo.forget_stack();
    let stack = Stack::get();
    stack.fill(0, std::iter::empty());
    let mut input = bytes;
    while let [operation, low, high, rest @ ..] = input {
        let index = u16::from_le_bytes([*low, *high]) % WORDS as u16;
        let count = match (operation % 3, rest) {
            (1, [count, ..]) => usize::from(*count),
            _ => 1,
        };
        let values = rest.get(usize::from(operation % 3 == 1)..).unwrap_or_default();
        let (values, rest) = values.split_at(values.len().min(2 * count));
        input = rest;
        let mut values = values.as_chunks().0.iter().map(|raw| word(stack, u16::from_le_bytes(*raw)));
        if operation % 3 < 2 {
            (usize::from(index)..).zip(values).for_each(|(at, value)| stack.put(at, value));
        } else {
            let index = index.max(LOWEST);
            stack.put_if_zero(index.into(), shapes::return_address(0));
            let rsp = stack.address(index.into());
            compare(&mut thread, Caller { rsp, rbp: values.next().unwrap_or(0) }, Addr::new(stack.end()));
        }
    }
});

fn compare(Thread { memo, walked }: &mut Thread, caller: Caller, end: Addr) {
    let (count, outcome) = walk::walk(&UNWINDER, &ARENA, caller, end, walked);
    let bottom = walk::cut_reason(outcome);
    if memo.capture(&UNWINDER, &ARENA, caller, end).is_err() {
        assert_eq!(bottom, Some(Pseudo::TooDeep));
        return;
    }
    let frames: Vec<u64> = memo.frames().iter().rev().map(|frame| frame.word).collect();
    assert_eq!((&frames[..], memo.bottom()), (&walked[..count], bottom));
    let mut hash = bottom.map_or(ROOT_HASH, |reason| extend_hash(ROOT_HASH, reason.frame()));
    for frame in memo.frames() {
        hash = extend_hash(hash, frame.word);
        assert_eq!(frame.hash, hash);
    }
}

/// Half of all words are return addresses, a quarter points into or near the stack.
fn word(stack: &Stack, value: u16) -> u64 {
    match value >> 14 {
        0 | 1 => shapes::return_address(value.into()),
        2 => stack.address(i64::from(value & 0x3fff) - 128),
        _ => u64::from(value & 0x3fff),
    }
}

fn arena() -> Arena {
    let path = c"/dev/shm";
    let file = Descriptor::open(path, O_TMPFILE | O_RDWR, 0o600).expect("a file without a name can be made");
    let arena = Arena::new();
    arena.create(file, PathBuffer::EMPTY).expect("an empty arena can be mapped");
    arena.take_pages(1).expect("a page can be taken");
    arena
}

const O_RDWR: i32 = 2;
const O_TMPFILE: i32 = 0o20_200_000;

fn memo() -> &'static mut Memo {
    let pages = sys::private_pages(size_of::<Memo>()).expect("a memo can be mapped");
    // SAFETY: fresh zero pages, which are an empty memo, and nobody else knows them.
    unsafe { &mut *(pages as *mut Memo) }
}
