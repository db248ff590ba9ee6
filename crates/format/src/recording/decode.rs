//! Bytes to recording: any bytes give what is sound in them, with every damage located, or the reason why they are no
//! recording at all.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::checksum::crc32c;
use super::chunk::{CHUNK_HEADER, Chunk, Chunks, FILE_HEADER, MAGIC, NO_PROCESS, u16_at, u32_at};
use super::damage::{Damage, DecodeError, Fault, PayloadFault};
use super::model::{Process, Recording, Run};
use super::section::{self, Outcome, Tally};
use super::soundness::{self, Tallies};
use super::version::{Section, VERSION, Version};
use super::wire::Reader;

/// What was read, and what could not be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The sound part.
    pub recording: Recording,
    /// Empty when the recording is whole.
    pub damage: Vec<Damage>,
}

/// Reads the bytes of a recording.
///
/// # Errors
/// When the bytes are not the beginning of a recording, or of one with a newer major version.
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let mut assembly = Assembly::default();
    assembly.read_file_header(bytes)?;
    let mut chunks = Chunks::new(bytes);
    loop {
        let at = chunks.at();
        match chunks.next() {
            Some(Ok(chunk)) => assembly.take(&chunk),
            Some(Err(fault)) => assembly.stop(at, fault),
            None => break,
        }
    }
    Ok(assembly.finish(bytes.len()))
}

/// A recording that is being read from chunks.
#[derive(Default)]
struct Assembly {
    version: Option<Version>,
    run: Option<Run>,
    /// How many processes the run says it has.
    announced: u64,
    /// By number, so that a number out of nowhere costs one entry.
    processes: BTreeMap<u32, Parts>,
    chunks: u64,
    sealed: bool,
    damage: Vec<Damage>,
}

/// A process that is being read from sections.
#[derive(Default)]
struct Parts {
    process: Process,
    tallies: Tallies,
    /// The sections that were read, with the offset of their payload.
    seen: BTreeMap<Section, usize>,
}

impl Assembly {
    fn read_file_header(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        if bytes.is_empty() {
            return Err(DecodeError::Empty);
        }
        if !bytes.starts_with(&MAGIC) {
            return Err(DecodeError::NotARecording);
        }
        let Some(header) = bytes.get(..FILE_HEADER) else {
            self.note(0, None, None, Fault::torn(FILE_HEADER as u64, bytes.len()));
            return Ok(());
        };
        if crc32c(&header[..12]) != u32_at(header, 12) {
            self.note(8, None, None, Fault::FileHeader);
            return Ok(());
        }
        let found = Version { major: u16_at(header, 8), minor: u16_at(header, 10) };
        self.version = Some(found);
        if found.major > VERSION.major {
            return Err(DecodeError::NewerVersion { found, known: VERSION });
        }
        Ok(())
    }

    fn take(&mut self, chunk: &Chunk<'_>) {
        if self.sealed {
            return self.take_trailing(chunk);
        }
        self.chunks += 1;
        let process = Some(chunk.process).filter(|&process| process != NO_PROCESS);
        let section = Section::from_kind(chunk.kind);
        match (&chunk.payload, section) {
            (_, None) => {
                let version = self.version.unwrap_or(VERSION);
                self.note(chunk.offset, process, None, Fault::UnknownKind { kind: chunk.kind, version });
            }
            (Err(fault), Some(_)) => self.note(chunk.offset, process, section, fault.clone()),
            (Ok(payload), Some(Section::Run)) => self.take_run(chunk, payload),
            (Ok(payload), Some(Section::End)) => self.take_end(chunk, payload),
            (Ok(payload), Some(section)) => self.take_section(chunk, section, payload),
        }
    }

    fn take_run(&mut self, chunk: &Chunk<'_>, payload: &[u8]) {
        if self.run.is_some() {
            return self.note(chunk.offset, None, Some(Section::Run), Fault::Repeated);
        }
        let mut run = Run::default();
        let mut from = Reader::new(payload);
        let outcome = section::run::read(&mut run, &mut self.announced, &mut from);
        self.run = Some(run);
        self.note_outcome(chunk, Section::Run, outcome, &from);
    }

    fn take_end(&mut self, chunk: &Chunk<'_>, payload: &[u8]) {
        self.sealed = true;
        let mut from = Reader::new(payload);
        match from.number() {
            Ok(expected) if expected.checked_add(1) == Some(self.chunks) => {}
            Ok(expected) => {
                let fault = Fault::WrongCount { expected, found: self.chunks - 1 };
                self.note(chunk.offset, None, Some(Section::End), fault);
            }
            Err(fault) => self.note_outcome(chunk, Section::End, Err(fault), &from),
        }
    }

    fn take_section(&mut self, chunk: &Chunk<'_>, section: Section, payload: &[u8]) {
        let parts = self.processes.entry(chunk.process).or_default();
        if parts.seen.contains_key(&section) {
            return self.note(chunk.offset, Some(chunk.process), Some(section), Fault::Repeated);
        }
        parts.seen.insert(section, chunk.payload_offset());
        let mut from = Reader::new(payload);
        let outcome = parts.read(section, &mut from);
        self.note_outcome(chunk, section, outcome, &from);
    }

    fn take_trailing(&mut self, chunk: &Chunk<'_>) {
        let bytes = CHUNK_HEADER as u64 + chunk.payload.as_ref().map_or(0, |payload| payload.len() as u64);
        match self.damage.last_mut() {
            Some(Damage { fault: Fault::Trailing { bytes: before }, .. }) => *before += bytes,
            _ => self.note(chunk.offset, None, None, Fault::Trailing { bytes }),
        }
    }

    /// A position after which nothing can be found.
    fn stop(&mut self, at: usize, fault: Fault) {
        let (process, section) = match fault {
            Fault::Torn { process, section, .. } => (process, section),
            _ => (None, None),
        };
        self.note(at, process, section, fault);
    }

    fn note(&mut self, offset: usize, process: Option<u32>, section: Option<Section>, fault: Fault) {
        self.damage.push(Damage { offset: offset as u64, process, section, fault });
    }

    fn note_outcome(&mut self, chunk: &Chunk<'_>, section: Section, outcome: Outcome, from: &Reader<'_>) {
        let newer = self.version.is_some_and(|version| version > VERSION);
        let outcome = match outcome {
            // A newer minor version may add fields at the end of a payload.
            Ok(()) if from.left() > 0 && !newer => Err(PayloadFault::LeftOver(from.left() as u64)),
            outcome => outcome,
        };
        if let Err(fault) = outcome {
            let process = Some(chunk.process).filter(|&process| process != NO_PROCESS);
            self.note(chunk.payload_offset() + from.at(), process, Some(section), Fault::Payload(fault));
        }
    }

    fn finish(mut self, length: usize) -> Decoded {
        if self.run.is_none() {
            self.note(length, None, Some(Section::Run), Fault::Missing);
        }
        let missing = self.announced.saturating_sub(self.processes.len() as u64);
        if missing > 0 {
            self.note(length, None, None, Fault::MissingProcesses { count: missing });
        }
        if !self.sealed {
            self.note(length, None, None, Fault::NotSealed);
        }
        let mut processes = Vec::with_capacity(self.processes.len());
        for (number, parts) in core::mem::take(&mut self.processes) {
            processes.push(self.finish_process(number, parts, length));
        }
        Decoded { recording: Recording { run: self.run.unwrap_or_default(), processes }, damage: self.damage }
    }

    fn finish_process(&mut self, number: u32, mut parts: Parts, length: usize) -> Process {
        let version = self.version.unwrap_or(VERSION);
        for section in Section::OF_A_PROCESS {
            if section.is_in(version) && !parts.seen.contains_key(&section) {
                self.note(length, Some(number), Some(section), Fault::Missing);
            }
        }
        soundness::uphold(&mut parts.process, &mut parts.tallies);
        let Tallies {
            stacks,
            sites,
            losses,
            symbols,
            marks,
            ledger,
            leaks,
            heap,
            counters,
            threads,
            errors,
            sections: checked,
        } = parts.tallies;
        let sections = [
            (Section::Stacks, stacks),
            (Section::Sites, sites),
            (Section::Losses, losses),
            (Section::Symbols, symbols),
            (Section::Marks, marks),
            (Section::Ledger, ledger),
            (Section::Leaks, leaks),
            (Section::Heap, heap),
            (Section::Counters, counters),
            (Section::Threads, threads),
            (Section::Errors, errors),
            (Section::Sections, checked),
        ];
        for (section, tally) in sections {
            let offset = parts.seen.get(&section).copied().unwrap_or(length);
            self.note_tally(offset, number, section, tally);
        }
        parts.process
    }

    fn note_tally(&mut self, offset: usize, number: u32, section: Section, tally: Tally) {
        for (violation, count) in tally.into_counts() {
            self.note(offset, Some(number), Some(section), Fault::Dropped { violation, count });
        }
    }
}

impl Parts {
    fn read(&mut self, section: Section, from: &mut Reader<'_>) -> Outcome {
        let process = &mut self.process;
        match section {
            Section::Identity => section::identity::read(process, from),
            Section::Modules => section::modules::read(&mut process.modules, from),
            Section::Codes => section::codes::read(&mut process.codes, from),
            Section::Stacks => section::stacks::read(&mut process.nodes, &mut self.tallies.stacks, from),
            Section::Sites => section::sites::read(&mut process.sites, from),
            Section::Timeline => section::timeline::read(&mut process.timeline, from),
            Section::Losses => section::losses::read(&mut process.losses, &mut self.tallies.losses, from),
            Section::Symbols => section::symbols::read(&mut process.symbols, from),
            Section::Marks => section::marks::read(process, from),
            Section::Ledger => section::ledger::read(&mut process.ledgers, &mut process.spaces, from),
            Section::Leaks => section::leaks::read(&mut process.leaks, from),
            Section::Heap => section::heap::read(&mut process.heap, from),
            Section::Counters => {
                section::counters::read(&mut process.counters, &mut self.tallies.counters, from)
            }
            Section::Threads => section::threads::read(&mut process.threads, from),
            Section::Errors => section::errors::read(process, from),
            Section::Sections => section::sections::read(&mut process.sections, from),
            Section::Run | Section::End => Ok(()),
        }
    }
}
