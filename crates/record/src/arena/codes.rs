//! The Python code objects of an arena, and what a Python frame of its trie becomes in the recording. As with everything
//! in an arena no number is trusted; a code object that was torn keeps its number and has no name.

use std::collections::HashMap;
use std::mem::offset_of;
use std::path::Path;
use std::sync::Arc;

use heaplens_cpython::lines::{LineTable, Lines};
use heaplens_format::CodeId;
use heaplens_format::arena::Pseudo;
use heaplens_format::arena::python::{CODE_SIZE, CodeRecord, NO_INSTRUCTION};
use heaplens_format::python_file::PROBE_FILE;
use heaplens_format::recording::{Code, Frame};

use super::records::{string, word};

/// The code objects; number n is entry n − 1.
#[derive(Default)]
pub(crate) struct Codes<'a> {
    codes: Vec<Code>,
    lines: Vec<Option<Lines<'a>>>,
    /// Thousands of code objects have the same file.
    texts: HashMap<&'a [u8], Arc<str>>,
    /// Lines that were looked up: an instruction is in many stacks.
    known: HashMap<(u32, u32), u32>,
    torn: u64,
}

impl<'a> Codes<'a> {
    /// From CODES and STRINGS; record 0 stands for "none".
    pub(crate) fn new(records: &'a [u8], strings: &'a [u8]) -> Self {
        let mut codes = Self::default();
        records.chunks_exact(CODE_SIZE).skip(1).for_each(|record| codes.push(record, strings));
        codes
    }

    fn push(&mut self, record: &[u8], strings: &'a [u8]) {
        let field = |at: usize| word(record, at);
        if field(offset_of!(CodeRecord, published)) != 1 {
            self.torn += 1;
            self.codes.push(Code::default());
            return self.lines.push(None);
        }
        let first_line = field(offset_of!(CodeRecord, first_line)) as u32;
        let kind = (field(offset_of!(CodeRecord, first_line)) >> 32) as u32;
        let table = string(strings, field(offset_of!(CodeRecord, lines)));
        let name = self.text(string(strings, field(offset_of!(CodeRecord, name))));
        let file = self.text(string(strings, field(offset_of!(CodeRecord, file))));
        self.codes.push(Code { name, file, first_line });
        self.lines.push(LineTable::from_number(kind).map(|kind| Lines { kind, table, first_line }));
    }

    fn text(&mut self, bytes: &'a [u8]) -> Arc<str> {
        self.texts.entry(bytes).or_insert_with(|| String::from_utf8_lossy(bytes).into()).clone()
    }

    /// Whether there is such a code object.
    pub(crate) fn has(&self, code: u32) -> bool {
        (1..=self.codes.len()).contains(&(code as usize))
    }

    /// Whether a code object is one that Heaplens itself runs in the interpreter.
    pub(crate) fn is_probes(&self, code: u32) -> bool {
        let code = (code as usize).checked_sub(1).and_then(|at| self.codes.get(at));
        code.is_some_and(|code| code.file.as_bytes() == PROBE_FILE.to_bytes())
    }

    /// The frame of an instruction; a code object that is not there cuts the stack, as a missing module does.
    pub(crate) fn frame(&mut self, code: u32, instruction: u32) -> Frame {
        let Some(lines) = (code as usize).checked_sub(1).and_then(|at| self.lines.get(at)) else {
            return Frame::Pseudo(Pseudo::NoModule);
        };
        let line = self.known.entry((code, instruction));
        let line = *line.or_insert_with(|| lines.map_or(0, |lines| line_at(&lines, instruction)));
        Frame::Python { code: CodeId::new(code), line }
    }

    /// The code objects, and how many of them were torn.
    pub(crate) fn finish(self) -> (Vec<Code>, u64) {
        (self.codes, self.torn)
    }
}

/// The line of an instruction. A frame that has not begun is at its first line.
fn line_at(lines: &Lines, instruction: u32) -> u32 {
    if instruction == NO_INSTRUCTION { lines.first_line } else { lines.at(instruction) }
}

/// Gives scripts that were started by a relative name (Python before 3.9 keeps it as it was typed) their whole path, where
/// there is such a file in the folder in which the program was started.
pub(crate) fn complete_paths(codes: &mut [Code], folder: &Path) {
    let mut known = HashMap::<Arc<str>, Arc<str>>::new();
    for code in codes {
        let file = code.file.clone();
        code.file = known.entry(file).or_insert_with_key(|file| complete_path(file, folder)).clone();
    }
}

fn complete_path(file: &Arc<str>, folder: &Path) -> Arc<str> {
    let whole = folder.join(&**file);
    match whole.to_str() {
        Some(path) if Path::new(&**file).is_relative() && whole.is_file() => path.into(),
        _ => file.clone(),
    }
}

// The reader takes both halves of one word.
const _: () = assert!(offset_of!(CodeRecord, table) == offset_of!(CodeRecord, first_line) + 4);

#[cfg(test)]
mod tests {
    use super::*;

    const STRINGS: &[u8] = b"train/home/user/train.py\x02\x01\x02\x01";

    fn record(name: u64, published: u64) -> Vec<u8> {
        let words = [name, 5 << 32 | 19, 24 << 32 | 4, (LineTable::Ranges as u64) << 32 | 40, 0, published];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn frame(code: u32, line: u32) -> Frame {
        Frame::Python { code: CodeId::new(code), line }
    }

    #[test]
    fn an_instruction_becomes_its_line() {
        let records = [vec![0; CODE_SIZE], record(5, 1)].concat();
        let mut codes = Codes::new(&records, STRINGS);
        assert_eq!([codes.frame(1, 0), codes.frame(1, 1)], [frame(1, 41), frame(1, 42)]);
        assert_eq!(codes.frame(1, 1), frame(1, 42), "also when it is asked again");
        let file = "/home/user/train.py";
        let code = Code { name: "train".into(), file: file.into(), first_line: 40 };
        assert_eq!(codes.finish(), (vec![code], 0));
    }

    #[test]
    fn a_frame_that_has_not_begun_is_at_its_first_line() {
        for kind in [LineTable::Deltas, LineTable::Ranges, LineTable::Locations] {
            let lines = Lines { kind, table: &[2, 1, 2, 1], first_line: 41 };
            assert_eq!(line_at(&lines, NO_INSTRUCTION), 41);
        }
    }

    #[test]
    fn a_code_that_does_not_exist_cuts_the_stack() {
        let records = [vec![0; CODE_SIZE], record(5, 1)].concat();
        let mut codes = Codes::new(&records, STRINGS);
        assert_eq!([codes.frame(0, 0), codes.frame(2, 0)], [Frame::Pseudo(Pseudo::NoModule); 2]);
    }

    #[test]
    fn a_torn_code_keeps_its_number_and_is_counted() {
        let records = [vec![0; CODE_SIZE], record(5, 0), record(5, 1)].concat();
        let mut codes = Codes::new(&records, STRINGS);
        assert_eq!([codes.frame(1, 0), codes.frame(2, 0)], [frame(1, 0), frame(2, 41)]);
        assert_eq!(codes.finish().1, 1);
    }

    #[test]
    fn a_name_outside_the_strings_is_empty() {
        let records = [vec![0; CODE_SIZE], record(u64::MAX, 1)].concat();
        assert_eq!(&*Codes::new(&records, STRINGS).finish().0[0].name, "");
    }

    #[test]
    fn a_script_in_the_folder_of_the_run_gets_its_whole_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("train.py"), "").unwrap();
        let files = ["train.py", "gone.py", "<string>", "/usr/lib/python3.8/os.py", ""];
        let code = |file: &&str| Code { name: "f".into(), file: (*file).into(), first_line: 1 };
        let mut codes: Vec<Code> = files.iter().map(code).collect();
        complete_paths(&mut codes, folder.path());
        let whole = folder.path().join("train.py");
        let found: Vec<&str> = codes.iter().map(|code| &*code.file).collect();
        assert_eq!(found, [&[whole.to_str().unwrap()], &files[1..]].concat());
    }
}
