//! Recording to bytes. It cannot fail: whatever the model holds can be written.

use alloc::vec::Vec;

use super::chunk::{NO_PROCESS, put_chunk, put_file_header};
use super::model::{Process, Recording};
use super::section;
use super::version::{Section, VERSION};
use super::wire::Writer;

/// The bytes of a sealed recording.
pub fn encode(recording: &Recording) -> Vec<u8> {
    let mut file = Vec::new();
    put_file_header(&mut file, VERSION);
    put(&mut file, Section::Run, NO_PROCESS, |to| section::run::write(recording, to));
    for (number, process) in (0..NO_PROCESS).zip(&recording.processes) {
        put_process(&mut file, number, process);
    }
    let of_sections = recording.processes.iter().filter(|process| has_sections(process)).count();
    let chunks = 1 + Section::OF_A_PROCESS.len() * recording.processes.len() + of_sections;
    put(&mut file, Section::End, NO_PROCESS, |to| to.count(chunks));
    file
}

/// Programs whose leaks are checked in parts are few: the others have no such chunk.
fn has_sections(process: &Process) -> bool {
    !process.sections.is_empty()
}

fn put_process(file: &mut Vec<u8>, number: u32, process: &Process) {
    put(file, Section::Identity, number, |to| section::identity::write(process, to));
    put(file, Section::Modules, number, |to| section::modules::write(&process.modules, to));
    put(file, Section::Codes, number, |to| section::codes::write(&process.codes, to));
    put(file, Section::Stacks, number, |to| section::stacks::write(&process.nodes, to));
    put(file, Section::Sites, number, |to| section::sites::write(&process.sites, to));
    put(file, Section::Timeline, number, |to| section::timeline::write(&process.timeline, to));
    put(file, Section::Losses, number, |to| section::losses::write(&process.losses, to));
    put(file, Section::Symbols, number, |to| section::symbols::write(&process.symbols, to));
    put(file, Section::Marks, number, |to| section::marks::write(process, to));
    put(file, Section::Ledger, number, |to| section::ledger::write(&process.ledgers, &process.spaces, to));
    put(file, Section::Leaks, number, |to| section::leaks::write(process.leaks.as_ref(), to));
    put(file, Section::Heap, number, |to| section::heap::write(&process.heap, to));
    put(file, Section::Counters, number, |to| section::counters::write(&process.counters, to));
    put(file, Section::Threads, number, |to| section::threads::write(&process.threads, to));
    put(file, Section::Errors, number, |to| section::errors::write(process, to));
    if has_sections(process) {
        put(file, Section::Sections, number, |to| section::sections::write(&process.sections, to));
    }
}

fn put(file: &mut Vec<u8>, section: Section, process: u32, write: impl FnOnce(&mut Writer)) {
    let mut payload = Writer::default();
    write(&mut payload);
    put_chunk(file, section as u16, process, &payload.finish());
}
