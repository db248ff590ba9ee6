//! The codec of recordings from outside: what goes in comes out, and any bytes give an answer.

#[path = "recording/sample.rs"]
mod sample;
#[path = "recording/strategy.rs"]
mod strategy;

use heaplens_format::arena::Pseudo;
use heaplens_format::recording::{
    CheckedSection, DecodeError, Decoded, Fault, Frame, History, LeakCheck, Mark, MarkKind, Recording,
    Section, SectionCheck, ThreadOf, Version, Violation, decode, encode,
};
use heaplens_format::{CodeId, ModuleId, Nanos, NodeId, Pid};
use proptest::prelude::*;

use sample::{
    sample, sample_of_format_1, sample_of_format_2_0, sample_of_format_2_1, sample_of_format_2_2,
    sample_of_format_2_3, sample_of_format_2_4, sample_of_format_2_5, sample_of_format_2_6,
    sample_of_format_2_7, sample_of_format_2_8, sample_of_format_2_9, sample_of_format_2_10,
    sample_of_format_2_11, sample_of_format_2_13,
};
use strategy::recording;

/// Length of the head of a file; see docs/format.md.
const FILE_HEADER: usize = 16;
/// Length of the head of a chunk.
const CHUNK_HEADER: usize = 24;
/// Sections of a process.
const SECTIONS: usize = 15;

/// The offset of each chunk and what lies after the last.
fn chunk_offsets(bytes: &[u8]) -> Vec<usize> {
    let mut offsets = vec![FILE_HEADER];
    while let Some(at) = offsets.last().copied().filter(|&at| at < bytes.len()) {
        let length = u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap());
        offsets.push(at + CHUNK_HEADER + length as usize);
    }
    offsets
}

fn chunks(bytes: &[u8]) -> Vec<&[u8]> {
    chunk_offsets(bytes).windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

/// The kind of a chunk, as far as the test asks for it.
fn section_of(chunk: &[u8]) -> Section {
    match u16::from_le_bytes([chunk[0], chunk[1]]) {
        17 => Section::Errors,
        9 => Section::End,
        _ => Section::Run,
    }
}

fn missing(decoded: &Decoded) -> Vec<(Option<u32>, &'static str)> {
    let missing = decoded.damage.iter().filter(|damage| damage.fault == Fault::Missing);
    missing.map(|damage| (damage.process, damage.section.map_or("", Section::words))).collect()
}

/// What the model promises of every recording.
fn assert_sound(recording: &Recording) {
    for process in &recording.processes {
        let modules = process.modules.len();
        let in_range = |module: ModuleId| (1..=modules).contains(&usize::from(module.get()));
        for (own, node) in (1..).zip(&process.nodes) {
            assert!(node.parent.get() < own, "a caller comes before its callee");
            match node.frame {
                Frame::Code { module, .. } => assert!(in_range(module), "the module of a frame exists"),
                Frame::Python { code, .. } => {
                    assert!((1..=process.codes.len()).contains(&(code.get() as usize)), "its code exists");
                }
                Frame::Unknown { .. } | Frame::Pseudo(_) => {}
            }
        }
        assert!(process.sites.iter().all(|site| site.node.get() as usize <= process.nodes.len()));
        assert!(process.histories.iter().all(|history| (history.site as usize) < process.sites.len()));
        let last = |history: &History| history.changes.last().map_or(0, |change| change.until as usize);
        assert!(process.histories.iter().all(|history| last(history) <= process.marks.len()));
        assert!(process.symbols.iter().all(|symbol| in_range(symbol.module) && !symbol.functions.is_empty()));
        let keys = process.symbols.iter().map(|symbol| (symbol.module, symbol.offset));
        assert!(keys.clone().zip(keys.skip(1)).all(|(before, after)| before < after));
        let names = process.threads.names.len();
        let is_there = |of: &ThreadOf| !matches!(of, ThreadOf::Named(index) if *index as usize >= names);
        assert!(process.threads.of_sites.iter().all(is_there));
        assert!(process.threads.of_sites.len() <= process.sites.len());
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(recording in recording()) {
        let decoded = decode(&encode(&recording)).unwrap();
        prop_assert_eq!(decoded, Decoded { recording, damage: vec![] });
    }

    #[test]
    fn flipped_bytes_are_noticed_and_never_break_the_model(
        recording in recording(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..4),
    ) {
        let mut bytes = encode(&recording);
        let whole = bytes.clone();
        for (index, flip) in flips {
            let at = index.index(bytes.len());
            bytes[at] ^= flip;
        }
        if let Ok(decoded) = decode(&bytes) {
            prop_assert!(bytes == whole || !decoded.damage.is_empty());
            assert_sound(&decoded.recording);
        }
    }

    #[test]
    fn a_payload_of_any_bytes_under_sound_checksums_never_breaks_the_model(
        kind in 1u16..17,
        payload in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let bytes = with_chunk(&encode(&Recording::default()), kind, &payload);
        assert_sound(&decode(&bytes).unwrap().recording);
    }

    #[test]
    fn any_bytes_give_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(decoded) = decode(&bytes) {
            assert_sound(&decoded.recording);
        }
    }
}

/// Puts a chunk of process 0 before the closing one, its checksums sound.
fn with_chunk(file: &[u8], kind: u16, payload: &[u8]) -> Vec<u8> {
    let offsets = chunk_offsets(file);
    let end = offsets[offsets.len() - 2];
    let mut chunk = Vec::new();
    chunk.extend(u32::from(kind).to_le_bytes());
    chunk.extend(0u32.to_le_bytes());
    chunk.extend((payload.len() as u64).to_le_bytes());
    chunk.extend(crc32c(payload).to_le_bytes());
    chunk.extend(crc32c(&chunk).to_le_bytes());
    [&file[..end], &chunk, payload, &file[end..]].concat()
}

/// Bit by bit, after the definition: the naive counterpart of the table-driven one.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for bit in bytes.iter().flat_map(|byte| (0..8).map(move |at| u32::from(byte >> at & 1))) {
        crc = crc >> 1 ^ if crc & 1 ^ bit == 1 { 0x82f6_3b78 } else { 0 };
    }
    !crc
}

#[test]
fn every_truncation_gives_the_whole_chunks_before_it() {
    let bytes = encode(&sample());
    let offsets = chunk_offsets(&bytes);
    for length in 0..bytes.len() {
        let decoded = match decode(&bytes[..length]) {
            Ok(decoded) => decoded,
            Err(error) => {
                assert_eq!(error, if length == 0 { DecodeError::Empty } else { DecodeError::NotARecording });
                assert!(length < 8, "a file with its magic is a recording");
                continue;
            }
        };
        assert!(decoded.damage.iter().any(|damage| damage.fault == Fault::NotSealed));
        let whole = offsets.iter().skip(1).filter(|&&end| end <= length).count();
        assert_eq!(decoded.recording.run.command.is_empty(), whole < 1, "the run is there after its chunk");
        let sections = whole.saturating_sub(1);
        assert_eq!(decoded.recording.processes.len(), sections.div_ceil(SECTIONS));
        let expected = sections.next_multiple_of(SECTIONS) - sections;
        let missing = missing(&decoded).iter().filter(|(process, _)| process.is_some()).count();
        assert_eq!(missing, expected, "at length {length}");
    }
}

#[test]
fn a_torn_file_names_the_missing_sections_of_each_process() {
    let bytes = encode(&sample());
    let offsets = chunk_offsets(&bytes);
    // Run, then identity, modules, codes and stacks of the first process, and a part of its sites.
    let decoded = decode(&bytes[..offsets[5] + 30]).unwrap();
    let sections = [
        "sites",
        "time-line",
        "losses",
        "symbols",
        "marks",
        "ledger",
        "leaks",
        "heap",
        "counters",
        "threads",
        "errors",
    ]
    .map(|section| (Some(0), section));
    assert_eq!(missing(&decoded), sections);
    assert!(decoded.damage.iter().any(|damage| damage.fault == Fault::MissingProcesses { count: 1 }));
    let torn = &decoded.damage[0];
    assert_eq!((torn.offset, torn.section, torn.process), (offsets[5] as u64, Some(Section::Sites), Some(0)));
    assert_eq!(decoded.recording.processes[0].nodes, sample().processes[0].nodes);
}

#[test]
fn a_damaged_payload_costs_its_own_section_alone() {
    let mut bytes = encode(&sample());
    let modules = chunk_offsets(&bytes)[2];
    bytes[modules + CHUNK_HEADER] ^= 1;
    let decoded = decode(&bytes).unwrap();
    assert!(matches!(decoded.damage[0].fault, Fault::Checksum { .. }));
    assert_eq!(missing(&decoded), [(Some(0), "modules")]);
    let (found, whole) = (&decoded.recording.processes[0], &sample().processes[0]);
    assert_eq!(found.sites, whole.sites, "sizes outlive the names of modules");
    assert_eq!(decoded.recording.processes[1], sample().processes[1]);
    assert_sound(&decoded.recording);
}

#[test]
fn sites_without_their_stacks_keep_their_sizes() {
    let mut bytes = encode(&sample());
    let stacks = chunk_offsets(&bytes)[4];
    bytes[stacks + CHUNK_HEADER] ^= 1;
    let decoded = decode(&bytes).unwrap();
    let sites = &decoded.recording.processes[0].sites;
    assert!(sites.iter().all(|site| site.node == NodeId::default()));
    assert_eq!(sites[0].live, sample().processes[0].sites[0].live);
    let count = sites.len() as u64;
    let dropped = Fault::Dropped { violation: Violation::SiteWithoutStack, count };
    assert!(decoded.damage.iter().any(|damage| damage.fault == dropped));
}

#[test]
fn an_unknown_chunk_is_skipped_and_named() {
    let bytes = with_chunk(&encode(&sample()), 77, b"what a later version adds");
    let decoded = decode(&bytes).unwrap();
    assert_eq!(decoded.recording, sample());
    let version = Version { major: 2, minor: 16 };
    assert_eq!(decoded.damage[0].fault, Fault::UnknownKind { kind: 77, version });
}

#[test]
fn a_second_chunk_for_a_section_is_skipped_and_named() {
    let bytes = with_chunk(&encode(&sample()), Section::Sites as u16, &[0]);
    let decoded = decode(&bytes).unwrap();
    assert_eq!(decoded.recording, sample());
    assert_eq!(decoded.damage[0].fault, Fault::Repeated);
}

#[test]
fn a_seal_that_counts_other_chunks_is_named() {
    let largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let decoded = decode(&with_chunk(&encode(&sample()), Section::End as u16, &largest)).unwrap();
    assert_eq!(decoded.damage[0].fault, Fault::WrongCount { expected: u64::MAX, found: 31 });
}

#[test]
fn bytes_after_the_seal_are_reported() {
    let bytes = [encode(&sample()), b"more".to_vec()].concat();
    let decoded = decode(&bytes).unwrap();
    assert_eq!(decoded.recording, sample());
    assert_eq!(decoded.damage.len(), 1);
}

#[test]
fn a_newer_major_version_is_refused_with_both_versions() {
    let error = decode(&with_version(&encode(&sample()), 3, 1)).unwrap_err();
    let (found, known) = (Version { major: 3, minor: 1 }, Version { major: 2, minor: 16 });
    assert_eq!(error, DecodeError::NewerVersion { found, known });
    assert_eq!(error.to_string(), "it has format 3.1, and this heaplens reads formats up to 2.16");
}

#[test]
fn a_newer_minor_version_is_read() {
    let decoded = decode(&with_version(&encode(&sample()), 2, 15)).unwrap();
    assert_eq!(decoded, Decoded { recording: sample(), damage: vec![] });
}

fn with_version(file: &[u8], major: u16, minor: u16) -> Vec<u8> {
    let mut file = file.to_vec();
    file[8..10].copy_from_slice(&major.to_le_bytes());
    file[10..12].copy_from_slice(&minor.to_le_bytes());
    let checksum = crc32c(&file[..12]);
    file[12..16].copy_from_slice(&checksum.to_le_bytes());
    file
}

#[test]
fn foreign_bytes_are_refused() {
    assert_eq!(decode(b""), Err(DecodeError::Empty));
    assert_eq!(decode(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"), Err(DecodeError::NotARecording));
}

#[test]
fn every_seed_of_the_fuzzer_gives_an_answer() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/decode");
    let seeds: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|seed| seed.unwrap().path()).collect();
    assert!(seeds.len() >= 5, "the corpus is committed");
    for seed in seeds {
        if let Ok(decoded) = decode(&std::fs::read(&seed).unwrap()) {
            assert_sound(&decoded.recording);
        }
    }
}

/// Never regenerate it: a recording that was once written must stay readable for ever.
#[test]
fn the_recording_that_format_1_0_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-1.0.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_1(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_0_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.0.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_0(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_1_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.1.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_1(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_2_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.2.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_2(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_3_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.3.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_3(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_4_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.4.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_4(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_5_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.5.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_5(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_6_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.6.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_6(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_7_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.7.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_7(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_8_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.8.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_8(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_9_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.9.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_9(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_10_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.10.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_10(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_11_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.11.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_11(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_13_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.13.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample_of_format_2_13(), damage: vec![] });
}

#[test]
fn the_recording_that_format_2_16_wrote_is_still_read() {
    let decoded = decode(include_bytes!("fixtures/format-2.16.recording")).unwrap();
    assert_eq!(decoded, Decoded { recording: sample(), damage: vec![] });
}

#[test]
fn a_damaged_block_of_a_site_that_is_not_there_is_left_out() {
    let mut broken = sample();
    broken.processes[0].canary_checks[1].damaged[0].site = 77;
    let decoded = decode(&encode(&broken)).unwrap();
    assert_eq!(decoded.recording.processes[0].canary_checks[1].damaged, []);
    let dropped = Fault::Dropped { violation: Violation::ErrorWithoutStack, count: 1 };
    assert_eq!(decoded.damage.iter().map(|damage| damage.fault.clone()).collect::<Vec<_>>(), [dropped]);
}

#[test]
fn a_recording_of_the_host_alone_has_the_chunks_that_format_2_7_wrote() {
    let written = include_bytes!("fixtures/format-2.7.recording");
    // Sections that it did not have follow in each process, and are counted at the end.
    let is_new = |chunk: &&[u8]| [Section::Errors, Section::End].contains(&section_of(chunk));
    let encoded = encode(&sample_of_format_2_7());
    let now: Vec<&[u8]> = chunks(&encoded).into_iter().filter(|chunk| !is_new(chunk)).collect();
    let then: Vec<&[u8]> = chunks(written).into_iter().filter(|chunk| !is_new(chunk)).collect();
    assert_eq!(now, then);
}

#[test]
fn a_site_of_a_thread_that_is_not_there_is_of_an_unknown_one() {
    let mut broken = sample();
    let process = &mut broken.processes[0];
    process.threads.of_sites = vec![ThreadOf::Several; process.sites.len() + 1];
    process.threads.of_sites[0] = ThreadOf::Named(77);
    let mut sound = vec![ThreadOf::Several; process.sites.len()];
    sound[0] = ThreadOf::Unknown;
    let decoded = decode(&encode(&broken)).unwrap();
    assert_eq!(decoded.recording.processes[0].threads.of_sites, sound);
    let dropped = Fault::Dropped { violation: Violation::ThreadWithoutName, count: 2 };
    assert_eq!(decoded.damage.iter().map(|damage| damage.fault.clone()).collect::<Vec<_>>(), [dropped]);
}

#[test]
fn counts_stay_true_without_their_stack_and_without_values_that_make_no_sense() {
    let mut broken = sample();
    let rows = &mut broken.processes[0].counters.rows;
    rows[0].changes[0].until = 77;
    rows[1].node = NodeId::new(77);
    let decoded = decode(&encode(&broken)).unwrap();
    let rows = &decoded.recording.processes[0].counters.rows;
    assert_eq!((rows[0].count, rows[0].changes.len()), (60, 0));
    assert_eq!((rows[1].count, rows[1].node), (1, NodeId::new(0)));
    let dropped = |violation| Fault::Dropped { violation, count: 1 };
    assert_eq!(
        decoded.damage.iter().map(|damage| damage.fault.clone()).collect::<Vec<_>>(),
        [dropped(Violation::HistoryOrder), dropped(Violation::CounterWithoutStack)]
    );
}

#[test]
fn unreachable_blocks_of_a_missing_site_are_left_out() {
    let mut broken = sample();
    broken.processes[0].heap.views[0].unreachable.as_mut().unwrap()[0].site = 77;
    let decoded = decode(&encode(&broken)).unwrap();
    assert_eq!(decoded.recording.processes[0].heap.views[0].unreachable, Some(Vec::new()));
    let dropped = Fault::Dropped { violation: Violation::LeakWithoutSite, count: 1 };
    assert_eq!(decoded.damage.iter().map(|damage| damage.fault.clone()).collect::<Vec<_>>(), [dropped]);
}

#[test]
fn paths_that_lead_nowhere_are_left_out_and_a_step_before_its_holder_begins_one() {
    let mut broken = sample();
    let view = &mut broken.processes[0].heap.views[0];
    view.nodes[1].parent = Some(2);
    view.holders[0].site = 77;
    view.retainers[0] = 77;
    view.growing[0].node = 77;
    let decoded = decode(&encode(&broken)).unwrap();
    let view = &decoded.recording.processes[0].heap.views[0];
    assert_eq!((view.nodes[1].parent, view.nodes[2].parent), (None, Some(1)));
    assert!(view.holders.is_empty() && view.retainers.is_empty() && view.growing.is_empty());
    let dropped = |violation, count| Fault::Dropped { violation, count };
    assert_eq!(
        decoded.damage.iter().map(|damage| damage.fault.clone()).collect::<Vec<_>>(),
        [dropped(Violation::PathOrder, 1), dropped(Violation::PathWithoutEnd, 3)]
    );
}

fn with_sections() -> Recording {
    let mut recording = sample();
    let process = &mut recording.processes[0];
    let check = SectionCheck {
        pass: 3,
        at: Nanos::new(800),
        is_at_exit: false,
        leaks: process.leaks.clone(),
        view: process.heap.views.first().cloned(),
    };
    let begun = NodeId::new(1);
    let eval = CheckedSection {
        number: 0,
        name: "eval".into(),
        begun,
        passes: 3,
        is_open: true,
        sites: vec![0, 1],
        check: Some(check),
    };
    let ended = CheckedSection { number: 1, name: "io".into(), passes: 1, ..CheckedSection::default() };
    process.sections = vec![eval, ended];
    let mark = |number, pass, is_end| Mark {
        at: Nanos::new(900),
        kind: MarkKind::Section { number, pass, is_end },
        ..process.marks[0].clone()
    };
    let marks = [mark(0, 1, false), mark(1, 300, true)];
    process.marks.extend(marks);
    recording
}

#[test]
fn sections_and_their_marks_are_read_as_they_were_written() {
    let decoded = decode(&encode(&with_sections())).unwrap();
    assert_eq!(decoded, Decoded { recording: with_sections(), damage: vec![] });
}

#[test]
fn what_a_section_says_of_missing_sites_and_stacks_is_left_out() {
    let mut broken = with_sections();
    let section = &mut broken.processes[0].sections[0];
    (section.begun, section.sites) = (NodeId::new(77), vec![0, 78]);
    let check = section.check.as_mut().expect("it was checked");
    let Some(LeakCheck::Done(lost)) = &mut check.leaks else { panic!("leaks were checked") };
    lost[0].site = 79;
    check.view.as_mut().expect("it has a view").holders[0].node = 80;
    let decoded = decode(&encode(&broken)).unwrap();
    let found = &decoded.recording.processes[0].sections[0];
    assert_eq!((found.begun, &found.sites), (NodeId::default(), &vec![0]));
    let check = found.check.as_ref().expect("it is still there");
    assert!(matches!(&check.leaks, Some(LeakCheck::Done(lost)) if lost.len() == 1));
    assert_eq!(check.view.as_ref().expect("a view").holders.len(), 0);
    assert_sound(&decoded.recording);
    assert_eq!(decoded.damage.len(), 3, "{:?}", decoded.damage);
}

#[test]
fn a_memory_error_whose_stack_is_missing_is_kept_without_it() {
    let mut broken = sample();
    let errors = &mut broken.processes[0].errors;
    (errors[0].stack, errors[0].allocated, errors[0].freed) =
        (NodeId::new(77), Some(NodeId::new(1)), Some(NodeId::new(78)));
    let decoded = decode(&encode(&broken)).unwrap();
    let found = decoded.recording.processes[0].errors[0];
    assert_eq!((found.stack, found.allocated, found.freed), (NodeId::default(), Some(NodeId::new(1)), None));
    assert_eq!(found.block, sample().processes[0].errors[0].block);
    let dropped = Fault::Dropped { violation: Violation::ErrorWithoutStack, count: 1 };
    assert_eq!(decoded.damage.iter().map(|damage| &damage.fault).collect::<Vec<_>>(), [&dropped]);
}

#[test]
fn lost_blocks_whose_site_is_missing_are_left_out() {
    let mut broken = sample();
    let Some(LeakCheck::Done(lost)) = &mut broken.processes[0].leaks else { panic!("leaks were checked") };
    lost[0].site = 77;
    let decoded = decode(&encode(&broken)).unwrap();
    let Some(LeakCheck::Done(lost)) = &decoded.recording.processes[0].leaks else {
        panic!("it is still there")
    };
    assert_eq!(lost.len(), 1);
    let dropped = Fault::Dropped { violation: Violation::LeakWithoutSite, count: 1 };
    assert_eq!(decoded.damage.iter().map(|damage| &damage.fault).collect::<Vec<_>>(), [&dropped]);
}

#[test]
fn a_mapping_whose_maker_is_missing_keeps_its_bytes() {
    let mut broken = sample();
    broken.processes[0].ledgers[1].mappings[0].site = Some(77);
    let decoded = decode(&encode(&broken)).unwrap();
    let mapping = &decoded.recording.processes[0].ledgers[1].mappings[0];
    assert_eq!((mapping.site, mapping.bytes), (None, sample().processes[0].ledgers[1].mappings[0].bytes));
    let dropped = Fault::Dropped { violation: Violation::MappingWithoutSite, count: 1 };
    assert_eq!(decoded.damage.iter().map(|damage| &damage.fault).collect::<Vec<_>>(), [&dropped]);
}

/// What the recorder writes where an arena lost the code of a loop.
#[test]
fn a_loop_without_code_is_no_damage_and_one_of_a_code_that_is_not_there_is() {
    let mut recording = sample();
    let last = recording.processes.iter().position(|process| !process.loops.is_empty()).unwrap();
    let codes = recording.processes[last].codes.len() as u32;
    (recording.processes[last].loops[0].code, recording.processes[last].loops[0].line) = (CodeId::new(0), 0);
    let decoded = decode(&encode(&recording)).unwrap();
    assert_eq!((decoded.recording, decoded.damage), (recording.clone(), vec![]));
    recording.processes[last].loops[0].code = CodeId::new(codes + 1);
    let decoded = decode(&encode(&recording)).unwrap();
    let fault = Fault::Dropped { violation: Violation::LoopWithoutLocation, count: 1 };
    assert_eq!(decoded.damage.iter().map(|damage| &damage.fault).collect::<Vec<_>>(), [&fault]);
}

#[test]
fn a_recording_without_its_codes_keeps_native_frames_and_cuts_at_python_ones() {
    let mut bytes = encode(&sample());
    let codes = chunk_offsets(&bytes)[3];
    bytes[codes + CHUNK_HEADER] ^= 1;
    let decoded = decode(&bytes).unwrap();
    assert_eq!(missing(&decoded), [(Some(0), "codes")]);
    let (found, whole) = (&decoded.recording.processes[0], &sample().processes[0]);
    assert_eq!(found.nodes[..4], whole.nodes[..4]);
    assert!(found.nodes[4..].iter().all(|node| node.frame == Frame::Pseudo(Pseudo::NoModule)));
    let dropped = Fault::Dropped { violation: Violation::FrameWithoutCode, count: 2 };
    assert!(decoded.damage.iter().any(|damage| damage.fault == dropped));
}

#[test]
fn the_sample_stands_for_a_real_tree() {
    let pids: Vec<Pid> = sample().processes.iter().map(|process| process.pid).collect();
    assert_eq!(pids, [Pid::new(4711), Pid::new(4712)]);
}
