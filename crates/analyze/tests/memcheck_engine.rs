//! Reading Memcheck's XML as it comes: what is the user's, what is folded, what is kept of a document that breaks off, and how much memory
//! a long one takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{self, Read};
use std::path::Path;

use heaplens_analyze::memcheck_engine::{EngineFindings, Incomplete, UserCode, read};

/// Live bytes of the current thread, and their peak.
struct Counting;

thread_local! {
    static LIVE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

fn count(change: isize) {
    LIVE.with(|cell| {
        let live = cell.get().0.saturating_add_signed(change);
        cell.set((live, cell.get().1.max(live)));
    });
}

// SAFETY: every call is passed to the system's allocator unchanged; counting touches a thread-local word that has no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PYTHON: &str = "/usr/bin/python3.11";
const TENSORFLOW: &str = "/v/lib/python3.11/site-packages/tensorflow/libtensorflow_cc.so.2";
const HEAD: &str = "<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n<protocolversion>4</protocolversion>\n<preamble>\n  \
    <line>Memcheck, a memory error detector</line>\n  <line>Using Valgrind-3.19.0 and LibVEX; rerun with -h</line>\n</preamble>\n\
    <args><argv><exe>./a&amp;b</exe></argv></args>\n<status><state>RUNNING</state><time>00:00:00:00.172 </time></status>\n";
const TAIL: &str = "</valgrindoutput>\n";

/// A frame of this object file: with a line of `a.c` unless that is 0.
fn frame(module: &str, function: &str, line: u32) -> String {
    let source = match line {
        0 => String::new(),
        _ => format!("<dir>/home/u/app</dir><file>a.c</file><line>{line}</line>"),
    };
    format!("<frame><ip>0x10917C</ip><obj>{module}</obj><fn>{function}</fn>{source}</frame>")
}

fn error(unique: u32, kind: &str, stacks: &[(&str, Vec<String>)]) -> String {
    let mut text = format!("<error><unique>{unique:#x}</unique><tid>1</tid><kind>{kind}</kind>");
    for (number, (what, frames)) in stacks.iter().enumerate() {
        let name = if number == 0 { "what" } else { "auxwhat" };
        text += &format!("<{name}>{what}</{name}><stack>{}</stack>", frames.concat());
    }
    text + "</error>\n"
}

fn counts(pairs: &[(u64, u32)]) -> String {
    let pair = |(count, unique): &(u64, u32)| {
        format!("<pair><count>{count}</count><unique>{unique:#x}</unique></pair>")
    };
    format!("<errorcounts>{}</errorcounts>\n", pairs.iter().map(pair).collect::<String>())
}

fn found(xml: &str) -> EngineFindings {
    read(&mut xml.as_bytes(), &UserCode::of(Path::new(PYTHON)))
}

fn unset(unique: u32, line: u32) -> String {
    let own =
        vec![frame("/home/u/app/op.so", "use&lt;int&gt;(a &amp; b)", line), frame(TENSORFLOW, "run", 0)];
    let origin = vec![
        frame("/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so", "malloc", 0),
        frame("/home/u/app/op.so", "make", 3),
    ];
    error(
        unique,
        "UninitCondition",
        &[("Conditional jump", own), ("Uninitialised value was created by a heap allocation", origin)],
    )
}

#[test]
fn what_touches_the_users_code_is_kept_with_its_origin_and_all_else_is_one_line_each() {
    let library = |unique| {
        error(unique, "UninitValue", &[("Use of", vec![frame(TENSORFLOW, "f", 0), frame(PYTHON, "g", 0)])])
    };
    let interpreter = error(
        8,
        "InvalidRead",
        &[("Invalid read", vec![frame("/usr/lib/libc.so.6", "read", 0), frame(PYTHON, "g", 0)])],
    );
    let xml = [
        HEAD,
        &library(1),
        &unset(2, 7),
        &library(3),
        &interpreter,
        &counts(&[(40, 1), (5, 2), (2, 8)]),
        TAIL,
    ]
    .concat();
    let found = found(&xml);
    assert_eq!((found.version.as_deref(), &found.incomplete), (Some("3.19.0"), &None));
    let [record] = &found.records[..] else { panic!("{found:?}") };
    assert_eq!((record.kind.as_str(), record.count, record.records), ("UninitCondition", 5, 1));
    let own = &record.stack[0];
    assert_eq!(own.function.as_deref(), Some("use<int>(a & b)"));
    assert_eq!((own.file.as_deref(), own.line), (Some("/home/u/app/a.c"), Some(7)));
    assert_eq!(record.auxiliary[0].what, "Uninitialised value was created by a heap allocation");
    assert_eq!(record.auxiliary[0].stack[1].line, Some(3));
    let folded: Vec<_> =
        found.folded.iter().map(|one| (one.module.as_str(), one.records(), one.count)).collect();
    assert_eq!(folded, [("libtensorflow_cc.so.2", 2, 41), ("python3.11", 1, 2)]);
}

#[test]
fn two_instructions_of_a_line_are_one_error_and_two_lines_are_two() {
    let found = found(
        &[HEAD, &unset(1, 7), &unset(2, 7), &unset(3, 9), &counts(&[(4, 1), (6, 2), (1, 3)]), TAIL].concat(),
    );
    let rows: Vec<_> = found.records.iter().map(|one| (one.stack[0].line, one.records, one.count)).collect();
    assert_eq!(rows, [(Some(7), 2, 10), (Some(9), 1, 1)]);
}

#[test]
fn what_was_suppressed_is_counted_by_name_and_the_signal_that_ended_the_program_is_named() {
    let rest = "<fatal_signal><tid>1</tid><signo>11</signo><signame>SIGSEGV</signame><stack></stack></fatal_signal>\
        <suppcounts><pair><count>67</count><name>CPython: a &lt;reason&gt;</name></pair></suppcounts>";
    let found = found(&[HEAD, rest, TAIL].concat());
    assert_eq!(found.suppressed, [("CPython: a <reason>".to_owned(), 67)]);
    assert_eq!(found.signal.as_deref(), Some("SIGSEGV"));
}

#[test]
fn a_document_that_breaks_off_anywhere_gives_what_was_whole() {
    let whole = [HEAD, &unset(1, 7), &unset(2, 9), TAIL].concat();
    let ends: Vec<usize> = whole.match_indices("</error>").map(|(at, text)| at + text.len()).collect();
    for length in (0..whole.len() - TAIL.len()).filter(|&at| whole.is_char_boundary(at)) {
        let found = found(&whole[..length]);
        assert_eq!(found.records.len(), ends.iter().filter(|end| **end <= length).count(), "{length}");
        let expected =
            if length < whole.find("<protocolversion>").unwrap() { None } else { Some(Incomplete::CutOff) };
        assert!(found.incomplete.is_some(), "{length}");
        assert!(expected.is_none() || found.incomplete == expected, "{length}: {:?}", found.incomplete);
    }
}

#[test]
fn without_a_document_there_is_nothing_and_that_is_said() {
    assert_eq!(found("").incomplete, Some(Incomplete::Empty));
    assert!(matches!(found("valgrind: no").incomplete, Some(Incomplete::Malformed { .. })));
}

#[test]
fn a_malformed_document_gives_what_came_before() {
    for broken in ["</stack>", "<error></stack>", "<error><kind>x</what>"] {
        let found = found(&[HEAD, &unset(1, 7), broken, &unset(2, 9), TAIL].concat());
        assert_eq!(found.records.len(), 1, "{broken}");
        assert!(
            matches!(found.incomplete, Some(Incomplete::Malformed { at, .. }) if at > 500),
            "{broken}: {found:?}"
        );
    }
}

#[test]
fn names_that_are_no_text_are_read_all_the_same() {
    let xml = [HEAD, &unset(1, 7), TAIL].concat().replace("a.c", "\u{e9}.c");
    let bytes: Vec<u8> = xml.chars().map(|character| u8::try_from(u32::from(character)).unwrap()).collect();
    let found = read(&mut bytes.as_slice(), &UserCode::of(Path::new(PYTHON)));
    assert_eq!(found.records[0].stack[0].file.as_deref(), Some("/home/u/app/?.c"));
    assert_eq!(found.incomplete, None);
}

/// So many records, made while they are read: every hundredth is the user's, at one of seven lines.
struct Generated {
    next: u32,
    records: u32,
    /// A record of a library's.
    other: String,
    bytes: Vec<u8>,
    given: usize,
    total: u64,
}

impl Generated {
    fn new(records: u32) -> Self {
        let stack = || (0..30).map(|_| frame(TENSORFLOW, &"tensorflow::Function".repeat(6), 0)).collect();
        let other = error(0x7777, "UninitValue", &[("Use of", stack()), ("Address", stack())]);
        Self { next: 0, records, other, bytes: Vec::new(), given: 0, total: 0 }
    }

    fn refill(&mut self) {
        let text = match self.next {
            0 => HEAD.to_owned(),
            at if at > self.records + 1 => String::new(),
            at if at > self.records => TAIL.to_owned(),
            at if at % 100 == 0 => unset(at, at / 100 % 7 + 1),
            at => self.other.replacen("0x7777", &format!("{at:#x}"), 1),
        };
        self.next += 1;
        (self.bytes, self.given) = (text.into_bytes(), 0);
        self.total += self.bytes.len() as u64;
    }
}

impl Read for Generated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.bytes.len() {
            self.refill();
        }
        let read = (&self.bytes[self.given..]).read(buffer)?;
        self.given += read;
        Ok(read)
    }
}

#[test]
fn a_hundred_megabytes_are_read_in_the_memory_of_a_page() {
    let records = 8_000;
    let mut xml = Generated::new(records);
    let code = UserCode::of(Path::new(PYTHON));
    let before = LIVE.get().0;
    LIVE.set((before, before));
    let found = read(&mut xml, &code);
    let peak = LIVE.get().1 - before;
    assert!(xml.total > 100 << 20, "{} bytes", xml.total);
    assert_eq!(found.incomplete, None);
    assert_eq!(found.records.len(), 7);
    assert_eq!(found.records.iter().map(|one| one.count).sum::<u64>(), u64::from(records / 100));
    assert_eq!(found.folded[0].count, u64::from(records - records / 100));
    assert!(peak < 2 << 20, "{peak} bytes at once");
}
