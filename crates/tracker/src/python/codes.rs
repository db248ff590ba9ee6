//! Code objects are numbered when they are first seen, and what is to be said about them is copied then.

use core::sync::atomic::Ordering::{Relaxed, Release};

use heaplens_cpython::bytecode::{CodeLoop, Loops};
use heaplens_cpython::code::Bytes;
use heaplens_cpython::fixed;
use heaplens_cpython::lines::LineTable;
use heaplens_cpython::unicode::Text;
use heaplens_format::arena::Region;
use heaplens_format::arena::frame::{frame_word, split_frame};
use heaplens_format::arena::python::{CODE_SIZE, CodeRecord, FRAME_INTERN_MODULE, MAX_CODE};
use heaplens_format::library_loops::LibraryLoop;
use heaplens_format::python_file::{IMPORT_FILE, Owner, WITHOUT_FILE, is_rewritten, module_of};

use crate::modules::interpreter::Known;
use crate::modules::memory::{Live, half, word};
use crate::tables::arena::Arena;
use crate::tables::trie::{Trie, extend_hash};

/// Where the paths of interned things begin, apart from those of stacks.
const CODES: u64 = 0x7c0d_e000_0000_0001;
const TEXTS: u64 = 0x7e87_0000_0000_0001;
const LINES: u64 = 0x714e_0000_0000_0001;
const IMPORTS: u64 = 0x1a90_0000_0000_0001;

/// Longer names and tables are cut: a table of this length describes thousands of lines.
const LONGEST_TEXT: u64 = 4096;
const LONGEST_TABLE: u64 = 1 << 16;
/// Of a name that is not ASCII so many bytes are copied to the stack.
const LONGEST_COPY: usize = 1024;
/// Of a longer code only the beginning is searched for loops.
const LONGEST_CODE: u64 = 1 << 18;

/// log2 of the numbers in the per-thread cache.
const BITS: u32 = 12;

/// A line of the user's.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The file.
    pub file: &'a [u8],
    /// The function that it is in.
    pub function: &'a [u8],
    /// Its number.
    pub number: u32,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct CachedNumber {
    hash: u64,
    number: u32,
}

/// The numbers of code objects that a thread met lately.
#[repr(C)]
pub struct Codes {
    kept: [CachedNumber; 1 << BITS],
    /// Those of them that have loops.
    pub looping: Looping,
    /// Whether one was added.
    is_new: bool,
}

/// log2 of the sets of code objects with loops that a thread knows.
const LOOPING_BITS: u32 = 8;
/// Code objects in one set: of more the newest.
const LOOPING_WAYS: usize = 4;

/// Code objects that have loops of the user's, by their addresses. One that died may be taken for another: reading the
/// loops of a frame finds out.
#[repr(C)]
pub struct Looping([[u64; LOOPING_WAYS]; 1 << LOOPING_BITS]);

impl Looping {
    /// Whether a code object is among them.
    #[inline(always)]
    pub fn has(&self, code: u64) -> bool {
        self.0[Self::index(code)].contains(&code)
    }

    fn add(&mut self, code: u64) {
        let set = &mut self.0[Self::index(code)];
        if !set.contains(&code) {
            set.copy_within(..LOOPING_WAYS - 1, 1);
            set[0] = code;
        }
    }

    #[inline(always)]
    fn index(code: u64) -> usize {
        (code >> 4 ^ code >> 12) as usize & ((1 << LOOPING_BITS) - 1)
    }
}

impl Codes {
    /// Forgets everything: the arena was replaced.
    pub fn clear(&mut self) {
        self.kept.fill(CachedNumber { hash: 0, number: 0 });
        self.looping.0.fill([0; LOOPING_WAYS]);
    }

    /// Whether code with loops was met for the first time since this was last asked.
    pub fn met_loops(&mut self) -> bool {
        core::mem::take(&mut self.is_new)
    }

    /// The number of a code object. `None`: the arena is full.
    pub fn number(&mut self, known: &Known, arena: &Arena, trie: &Trie, code: u64) -> Option<u32> {
        let hash = extend_hash(CODES, known.identity(code));
        let kept = &mut self.kept[(hash >> 20) as usize & ((1 << BITS) - 1)];
        if kept.hash != hash {
            *kept = CachedNumber { hash, number: number(known, arena, trie, code, hash)? };
            if record(arena, kept.number).loops.load(Relaxed) != 0 {
                self.looping.add(code);
                self.is_new = true;
            }
        }
        Some(kept.number)
    }
}

fn number(known: &Known, arena: &Arena, trie: &Trie, code: u64, hash: u64) -> Option<u32> {
    if let Some(node) = trie.find(arena, hash) {
        return Some(split_frame(trie.frame(arena, node)).1 as u32);
    }
    let number = copy(known, arena, trie, code)?;
    trie.intern(arena, frame_word(FRAME_INTERN_MODULE, u64::from(number)), hash)?;
    Some(number)
}

/// The number of a code object that is not there: one line of a file, in location of the code that was made of it.
pub fn line_of_file(arena: &Arena, trie: &Trie, line: Line<'_>) -> Option<u32> {
    let texts = [line.file, line.function].map(|text| &text[..text.len().min(LONGEST_TEXT as usize)]);
    let bytes = texts.iter().flat_map(|text| text.iter().chain(&[0]));
    let hash = bytes
        .fold(extend_hash(LINES, u64::from(line.number)), |hash, &byte| extend_hash(hash, u64::from(byte)));
    if let Some(node) = trie.find(arena, hash) {
        return Some(split_frame(trie.frame(arena, node)).1 as u32);
    }
    let [file, function] = texts.map(|text| put(arena, text.len(), |target| target.copy_from_slice(text)));
    let number = take_record(arena)?;
    let record = record(arena, number);
    record.name.store(function, Relaxed);
    record.file.store(file, Relaxed);
    record.first_line.store(line.number, Relaxed);
    record.table.store(LineTable::Deltas as u32, Relaxed); // an empty one: all of it is on the first line
    // Release: a reader that sees 1 sees a whole record.
    record.published.store(1, Release);
    trie.intern(arena, frame_word(FRAME_INTERN_MODULE, u64::from(number)), hash)?;
    Some(number)
}

/// The number of the code object that stands for the import of a module, by the `str` that is its name.
pub fn import_of_name(known: &Known, arena: &Arena, trie: &Trie, name: u64) -> Option<u32> {
    import_of(arena, trie, characters(known, name)?)
}

/// The same by a frame of the module's own code.
pub fn import_of_file(known: &Known, arena: &Arena, trie: &Trie, frame: u64) -> Option<u32> {
    let file = word(known.code(frame)?, known.layout.code.filename);
    with_text(known, file, |file| {
        let dotted = module_of(file).chars().map(|character| if character == '/' { '.' } else { character });
        import_of(arena, trie, dotted)
    })
}

/// Its file is `<import NAME>`, and its name is what stands in between.
fn import_of(arena: &Arena, trie: &Trie, module: impl Iterator<Item = char> + Clone) -> Option<u32> {
    let hash =
        module.clone().fold(IMPORTS, |hash, character| extend_hash(hash, u64::from(u32::from(character))));
    if let Some(node) = trie.find(arena, hash) {
        return Some(split_frame(trie.frame(arena, node)).1 as u32);
    }
    let text = || IMPORT_FILE.chars().chain(module.clone()).chain(['>']);
    let length = text().map(char::len_utf8).sum();
    let file = put(arena, length, |target| encode(text(), target));
    let number = take_record(arena)?;
    let record = record(arena, number);
    record.file.store(file, Relaxed);
    if file != 0 {
        record.name.store(file.wrapping_add(1 << 32) - 2, Relaxed); // without its first and its last byte
    }
    record.table.store(LineTable::Deltas as u32, Relaxed); // an empty one
    // Release: a reader that sees 1 sees a whole record.
    record.published.store(1, Release);
    arena.header().imports.fetch_add(1, Relaxed);
    trie.intern(arena, frame_word(FRAME_INTERN_MODULE, u64::from(number)), hash)?;
    Some(number)
}

fn encode(characters: impl Iterator<Item = char>, target: &mut [u8]) {
    let mut at = 0;
    for character in characters {
        at += character.encode_utf8(&mut target[at..]).len();
    }
}

/// A number for a `str`; `None` where an object is none, which the type of a name of the code shows.
pub fn name_hash(known: &Known, code: u64, object: u64) -> Option<u64> {
    let of_name = word(word(code, known.layout.code.name), fixed::object::TYPE);
    if object == 0 || object & 7 != 0 || word(object, fixed::object::TYPE) != of_name {
        return None;
    }
    match word(object, fixed::unicode::HASH) {
        // Nobody has asked for it yet.
        u64::MAX => Some(
            characters(known, object)?.fold(IMPORTS, |hash, at| extend_hash(hash, u64::from(u32::from(at)))),
        ),
        hash => Some(hash),
    }
}

/// Hands a `str` as UTF-8 to a function; an empty one where it is no compact string. One that is not ASCII is copied, and cut where it is long.
pub fn with_text<R>(known: &Known, object: u64, then: impl FnOnce(&str) -> R) -> R {
    let Some(characters) = characters(known, object) else { return then("") };
    let text = Text::of(&Live, &known.layout.unicode, object)
        .filter(|text| text.start == object + known.layout.unicode.ascii);
    if let Some(Text { start, length, .. }) = text {
        // SAFETY: the code object keeps its names alive, and these are as long as they say.
        let bytes = unsafe { bytes_at(Bytes { start, length }, LONGEST_TEXT) };
        return then(core::str::from_utf8(bytes).unwrap_or_default());
    }
    let (mut copy, mut length) = ([0; LONGEST_COPY], 0);
    for character in characters {
        let Some(room) = copy.get_mut(length..length + character.len_utf8()) else { break };
        length += character.encode_utf8(room).len();
    }
    then(core::str::from_utf8(&copy[..length]).unwrap_or_default())
}

fn copy(known: &Known, arena: &Arena, trie: &Trie, code: u64) -> Option<u32> {
    let number = take_record(arena)?;
    let record = record(arena, number);
    // Fields of a code object that a frame of this thread keeps alive.
    let layout = &known.layout.code;
    record.name.store(text(known, arena, trie, word(code, layout.qualname)), Relaxed);
    record.file.store(text(known, arena, trie, word(code, layout.filename)), Relaxed);
    record.lines.store(table(arena, word(code, layout.lines)), Relaxed);
    record.first_line.store(half(code, layout.firstlineno), Relaxed);
    record.table.store(layout.line_table as u32, Relaxed);
    let (name, file) = (stored(arena, record.name.load(Relaxed)), stored(arena, record.file.load(Relaxed)));
    if is_users(file) || is_step(name, file) {
        record.loops.store(loops(known, arena, code), Relaxed);
    }
    if is_import(name, file) {
        arena.header().imports.fetch_add(1, Relaxed);
    }
    // Release: a reader that sees 1 sees a whole record.
    record.published.store(1, Release);
    Some(number)
}

/// The record of a code object.
pub fn record(arena: &Arena, number: u32) -> &CodeRecord {
    // SAFETY: numbers come from `take_record`, or from the trie, which holds only such numbers.
    unsafe { arena.record(Region::Codes, number as usize * CODE_SIZE) }
}

fn take_record(arena: &Arena) -> Option<u32> {
    if arena.extent(Region::Codes).used.load(Relaxed) == 0 {
        arena.take(Region::Codes, CODE_SIZE as u64)?; // record 0 stands for "none"
    }
    let number = arena.take(Region::Codes, CODE_SIZE as u64)? / CODE_SIZE;
    u32::try_from(number).ok().filter(|&number| number <= MAX_CODE && number > 0)
}

/// Copies a `bytes` object; its location in STRINGS, 0 when it is empty or does not fit.
fn table(arena: &Arena, object: u64) -> u64 {
    if object == 0 {
        return 0;
    }
    let Some(bytes) = Bytes::of_object(&Live, object) else { return 0 };
    // SAFETY: the code object keeps its table alive.
    let bytes = unsafe { bytes_at(bytes, LONGEST_TABLE) };
    put(arena, bytes.len(), |target| target.copy_from_slice(bytes))
}

/// The loops of a code object; their location in STRINGS, 0 where there are none.
fn loops(known: &Known, arena: &Arena, code: u64) -> u64 {
    let Some(instructions) = known.layout.instructions(&Live, code) else { return 0 };
    // SAFETY: the instructions of a code object that a frame of this thread keeps alive.
    let loops = Loops::read(known.opcodes, unsafe { bytes_at(instructions, LONGEST_CODE) });
    put(arena, size_of_val(loops.all()), |target| {
        for (one, target) in loops.all().iter().zip(target.chunks_exact_mut(size_of::<CodeLoop>())) {
            let words = [one.first, one.begin, one.end, one.item_units, one.yields];
            words
                .iter()
                .zip(target.chunks_exact_mut(4))
                .for_each(|(word, target)| target.copy_from_slice(&word.to_le_bytes()));
        }
    })
}

/// Whose code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The user.
    User,
    /// A tool that wrote it after what the user has written.
    Tool,
    /// A library's.
    Library,
}

/// Who wrote a code object that has this number.
pub fn writer(arena: &Arena, number: u32) -> Writer {
    let file = stored(arena, record(arena, number).file.load(Relaxed));
    match core::str::from_utf8(file) {
        _ if is_users(file) => Writer::User,
        Ok(file) if is_rewritten(file) => Writer::Tool,
        _ => Writer::Library,
    }
}

/// References to the iterator of a comprehension besides its loop's by which nobody takes items: it is also the argument, which
/// the caller keeps, too, until it returns (before 3.11). Of any other code none.
pub fn references_of_argument(known: &Known, arena: &Arena, number: u32) -> u32 {
    let name = stored(arena, record(arena, number).name.load(Relaxed));
    let caller_keeps = known.layout.frame.stack.is_some();
    match name {
        b"<genexpr>" => 1,
        _ if name.ends_with(b"comp>") => 1 + u32::from(caller_keeps),
        _ => 0,
    }
}

/// The text at a location in STRINGS, or an empty one.
fn stored(arena: &Arena, location: u64) -> &[u8] {
    let (address, length) =
        (arena.address(Region::Strings, (location >> 32) as usize), location as u32 as usize);
    // SAFETY: `put` gave the location of a text that never changes, or it is 0.
    unsafe { core::slice::from_raw_parts(address as *const u8, length) }
}

/// Whether its loops are those of the user. What `python -c` runs has no file, and is the user's here.
fn is_users(file: &[u8]) -> bool {
    core::str::from_utf8(file).is_ok_and(|file| Owner::of(file) == Owner::User || file == WITHOUT_FILE)
}

/// Whether it is a library's, and its iterations are steps of the user's work.
fn is_step(name: &[u8], file: &[u8]) -> bool {
    let texts = (core::str::from_utf8(file), core::str::from_utf8(name));
    matches!(texts, (Ok(file), Ok(name)) if LibraryLoop::of(file, name).is_some())
}

/// Whether it is a module of a package, which runs once, when it is imported. What `exec` runs has the same name.
fn is_import(name: &[u8], file: &[u8]) -> bool {
    name == b"<module>"
        && core::str::from_utf8(file).is_ok_and(|file| matches!(Owner::of(file), Owner::Package(_)))
}

/// Bytes of the program, as many as are wanted at most.
///
/// # Safety
/// They must lie in an object that stays alive while they are used.
unsafe fn bytes_at<'a>(bytes: Bytes, most: u64) -> &'a [u8] {
    // SAFETY: as the caller says.
    unsafe { core::slice::from_raw_parts(bytes.start as *const u8, bytes.length.min(most) as usize) }
}

/// Copies a `str` object as UTF-8, each text once; its location in STRINGS, 0 when it is empty or does not fit.
fn text(known: &Known, arena: &Arena, trie: &Trie, object: u64) -> u64 {
    let Some(characters) = characters(known, object) else { return 0 };
    let hash =
        characters.clone().fold(TEXTS, |hash, character| extend_hash(hash, u64::from(u32::from(character))));
    if let Some(node) = trie.find(arena, hash) {
        let word = split_frame(trie.frame(arena, node)).1;
        return word >> 16 << 32 | word & 0xffff;
    }
    let length = characters.clone().map(char::len_utf8).sum();
    let location = put(arena, length, |target| encode(characters, target));
    // 32 bits of location and 16 of length fit the 48 of a frame; what does not is copied again next time.
    if location != 0 && location as u32 >> 16 == 0 {
        let word = location >> 32 << 16 | location & 0xffff;
        trie.intern(arena, frame_word(FRAME_INTERN_MODULE, word), hash);
    }
    location
}

fn put(arena: &Arena, length: usize, fill: impl FnOnce(&mut [u8])) -> u64 {
    if length == 0 {
        return 0;
    }
    let Some(offset) = arena.take(Region::Strings, length as u64) else { return 0 };
    let target = arena.address(Region::Strings, offset) as *mut u8;
    // SAFETY: `take` handed out exactly this range to us alone, zeroed.
    fill(unsafe { core::slice::from_raw_parts_mut(target, length) });
    (offset as u64) << 32 | length as u64
}

/// The characters of a `str` object. `None` for what is no compact string: the interpreter makes no others for names.
fn characters(known: &Known, object: u64) -> Option<impl Iterator<Item = char> + Clone> {
    if object == 0 || object & 7 != 0 {
        return None;
    }
    let Text { start, length, width, .. } =
        Text::of(&Live, &known.layout.unicode, object).filter(|text| text.is_compact)?;
    let length = length.min(LONGEST_TEXT) * width as u64;
    // SAFETY: the code object keeps its names alive, and these are as long as they say.
    Some(width.decode(unsafe { bytes_at(Bytes { start, length }, length) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_packages_are_imports_and_scripts_functions_and_made_up_code_are_not() {
        let numpy = b"/opt/venv/lib/python3.12/site-packages/numpy/__init__.py";
        assert!(is_import(b"<module>", numpy) && is_import(b"<module>", b"<frozen runpy>"));
        assert!(!is_import(b"array", numpy));
        assert!(!is_import(b"<module>", b"/home/user/train.py") && !is_import(b"<module>", b"<string>"));
    }

    /// Addresses of code objects are random: else a program would have its loops in one run and not in the next.
    #[test]
    fn code_objects_with_the_same_index_are_known_side_by_side() {
        let mut looping = Looping([[0; LOOPING_WAYS]; 1 << LOOPING_BITS]);
        let codes = [0x7f00_0000_0010u64, 0x7f00_0100_0010, 0x7f00_0200_0010, 0x7f00_0300_0010];
        assert!(codes.iter().all(|&code| Looping::index(code) == Looping::index(codes[0])));
        codes.iter().chain(&codes).for_each(|&code| looping.add(code));
        assert!(codes.iter().all(|&code| looping.has(code)));
    }
}
