//! The tables that samples refer to, each thing once: texts, functions, code locations, object files.

use std::collections::HashMap;
use std::sync::Arc;

use heaplens_analyze::profile::StackFrame;
use heaplens_analyze::{Profile, code_segments};

use super::message::{self, Function, Line, Location, Mapping};
use crate::catalogue::stack::label::{CUT, NO_STACK, label};
use crate::export::samples::{FrameKey, StackRow, frame_key};

pub(super) struct Tables<'a> {
    profile: &'a Profile,
    texts: HashMap<String, i64>,
    strings: Vec<String>,
    functions: Vec<Function>,
    known_functions: HashMap<(i64, i64), u64>,
    locations: Vec<Location>,
    known_locations: HashMap<(FrameKey<'a>, u64), u64>,
    mappings: Vec<Mapping>,
    /// The mapping of each path, and what is added to addresses of its file.
    known_mappings: HashMap<Arc<str>, Option<(u64, u64)>>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        let mut tables = Self {
            profile,
            texts: HashMap::new(),
            strings: Vec::new(),
            functions: Vec::new(),
            known_functions: HashMap::new(),
            locations: Vec::new(),
            known_locations: HashMap::new(),
            mappings: Vec::new(),
            known_mappings: HashMap::new(),
        };
        tables.text("");
        // A reader takes the first object file for the program.
        if let Some(program) = profile.modules.first() {
            tables.mapping(&Arc::from(program.path.as_str()));
        }
        tables
    }

    pub(super) fn put_into(self, profile: &mut message::Profile) {
        profile.string_table = self.strings;
        profile.function = self.functions;
        profile.location = self.locations;
        profile.mapping = self.mappings;
    }

    /// The number of a text.
    pub(super) fn text(&mut self, text: &str) -> i64 {
        if let Some(&known) = self.texts.get(text) {
            return known;
        }
        let number = self.strings.len() as i64;
        self.strings.push(text.to_owned());
        self.texts.insert(text.to_owned(), number);
        number
    }

    /// The locations of a stack, innermost first.
    pub(super) fn stack(&mut self, row: &StackRow<'a>) -> Vec<u64> {
        let mut places: Vec<u64> = row.frames.iter().map(|frame| self.frame(frame)).collect();
        if row.is_cut {
            places.push(self.word(CUT));
        }
        if places.is_empty() {
            places.push(self.word(NO_STACK));
        }
        places
    }

    fn frame(&mut self, frame: &'a StackFrame) -> u64 {
        let key = (frame_key(frame), frame.offset);
        if let Some(&known) = self.known_locations.get(&key) {
            return known;
        }
        let (mapping_id, bias) =
            frame.module.as_ref().and_then(|path| self.mapping(path)).unwrap_or_default();
        let name = frame.function.as_deref().map_or_else(|| label(frame), str::to_owned);
        let function_id = self.function(&name, frame.file.as_deref().unwrap_or_default());
        // The call, not the instruction that it returns to.
        let address = frame.offset.checked_sub(1).map_or(0, |offset| offset.wrapping_add(bias));
        self.location(key, mapping_id, address, Line { function_id, line: frame.line.unwrap_or(0).into() })
    }

    /// Stands for a missing frame.
    fn word(&mut self, word: &'static str) -> u64 {
        let key = ((Some(word), None, None, None, 0), 0);
        if let Some(&known) = self.known_locations.get(&key) {
            return known;
        }
        let function_id = self.function(word, "");
        self.location(key, 0, 0, Line { function_id, line: 0 })
    }

    fn location(&mut self, key: (FrameKey<'a>, u64), mapping_id: u64, address: u64, line: Line) -> u64 {
        let id = self.locations.len() as u64 + 1;
        self.locations.push(Location { id, mapping_id, address, line: vec![line] });
        self.known_locations.insert(key, id);
        id
    }

    fn function(&mut self, name: &str, file: &str) -> u64 {
        let (name, filename) = (self.text(name), self.text(file));
        let next = self.functions.len() as u64 + 1;
        let id = *self.known_functions.entry((name, filename)).or_insert(next);
        if id == next {
            self.functions.push(Function { id, name, system_name: name, filename });
        }
        id
    }

    fn mapping(&mut self, path: &Arc<str>) -> Option<(u64, u64)> {
        if let Some(&known) = self.known_mappings.get(path) {
            return known;
        }
        let found = self.new_mapping(path);
        self.known_mappings.insert(path.clone(), found);
        found
    }

    fn new_mapping(&mut self, path: &str) -> Option<(u64, u64)> {
        let profile = self.profile;
        let module = profile.modules.iter().find(|module| module.path == path)?;
        let bias = module.bias.get();
        let code = code_segments(module).first().copied();
        let build_id: String = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let id = self.mappings.len() as u64 + 1;
        let mapping = Mapping {
            id,
            memory_start: code.map_or(bias, |code| code.start),
            memory_limit: code.map_or(0, |code| code.end),
            file_offset: code.map_or(0, |code| code.offset),
            filename: self.text(path),
            build_id: self.text(&build_id),
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
        };
        self.mappings.push(mapping);
        Some((id, bias))
    }
}
