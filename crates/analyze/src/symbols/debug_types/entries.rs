//! Single entries of the debug information, by their offsets: what they refer to, what they are called, what is in them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use addr2line::gimli::{
    self, AttributeValue, DebugInfoOffset, DebuggingInformationEntry, DwAt, DwTag, Dwarf, Encoding,
    Expression, Unit, UnitOffset,
};

use super::class_names::readable;
use super::index::DebugIndex;
use super::sections::Slice;

/// Types of types, at most: debug information may be damaged.
const LONGEST: usize = 16;

/// What a type is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeKind {
    /// A structure, class or union.
    Members,
    Array,
    Pointer,
    /// A number, or something that no pointer is in.
    Other,
}

/// Reads entries; units are parsed once.
pub(super) struct Entries<'a> {
    dwarf: Dwarf<Slice<'a>>,
    index: &'a DebugIndex,
    units: RefCell<HashMap<usize, Rc<Unit<Slice<'a>>>>>,
}

/// One entry.
pub(super) struct Entry<'a> {
    unit: Rc<Unit<Slice<'a>>>,
    /// Where its unit begins.
    start: usize,
    entry: DebuggingInformationEntry<Slice<'a>>,
}

impl<'a> Entry<'a> {
    /// Where it begins.
    pub(super) fn offset(&self) -> usize {
        self.start + self.entry.offset().0
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.unit.encoding()
    }

    pub(super) fn value(&self, name: DwAt) -> Option<AttributeValue<Slice<'a>>> {
        self.entry.attr_value(name)
    }

    pub(super) fn tag(&self) -> DwTag {
        self.entry.tag()
    }

    pub(super) fn has(&self, name: DwAt) -> bool {
        self.entry.has_attr(name)
    }

    pub(super) fn number(&self, name: DwAt) -> Option<u64> {
        self.entry.attr(name)?.udata_value()
    }

    pub(super) fn reference(&self, name: DwAt) -> Option<usize> {
        match self.entry.attr_value(name)? {
            AttributeValue::UnitRef(offset) => Some(self.start + offset.0),
            AttributeValue::DebugInfoRef(offset) => Some(offset.0),
            _ => None,
        }
    }
}

impl<'a> Entries<'a> {
    pub(super) fn new(dwarf: Dwarf<Slice<'a>>, index: &'a DebugIndex) -> Self {
        Self { dwarf, index, units: RefCell::default() }
    }

    pub(super) fn get(&self, at: usize) -> Option<Entry<'a>> {
        let (start, unit) = self.unit_of(at)?;
        let entry = unit.entry(UnitOffset(at - start)).ok()?;
        Some(Entry { unit, start, entry })
    }

    /// What is directly in an entry.
    pub(super) fn children(&self, at: usize) -> Vec<Entry<'a>> {
        self.read_children(at).unwrap_or_default()
    }

    fn read_children(&self, at: usize) -> Option<Vec<Entry<'a>>> {
        let (start, unit) = self.unit_of(at)?;
        let mut tree = unit.entries_tree(Some(UnitOffset(at - start))).ok()?;
        let mut nodes = tree.root().ok()?.children();
        let mut children = Vec::new();
        while let Some(node) = nodes.next().ok()? {
            children.push(Entry { unit: unit.clone(), start, entry: node.entry().clone() });
        }
        Some(children)
    }

    /// The unit that an entry is in, and where it begins.
    fn unit_of(&self, at: usize) -> Option<(usize, Rc<Unit<Slice<'a>>>)> {
        let number = self.index.units.partition_point(|&(start, _)| start <= at).checked_sub(1)?;
        let (start, abbreviations) = &self.index.units[number];
        if let Some(unit) = self.units.borrow().get(start) {
            return Some((*start, unit.clone()));
        }
        let header = self.dwarf.unit_header(DebugInfoOffset(*start)).ok()?;
        let unit = Rc::new(Unit::new_with_abbreviations(&self.dwarf, header, abbreviations.clone()).ok()?);
        self.units.borrow_mut().insert(*start, unit.clone());
        Some((*start, unit))
    }

    /// The name that an entry has itself.
    pub(super) fn own_name(&self, entry: &Entry<'a>) -> Option<String> {
        let name = entry.entry.attr_value(gimli::DW_AT_name)?;
        let name = self.dwarf.attr_string(&entry.unit, name).ok()?;
        Some(name.to_string_lossy().into_owned()).filter(|name| !name.is_empty())
    }

    /// What a variable or function is called, also where it is declared elsewhere.
    pub(super) fn name(&self, at: usize) -> Option<String> {
        self.find_up(at, |entry| self.own_name(entry))
    }

    /// The type of a variable or member.
    pub(super) fn type_of(&self, at: usize) -> Option<usize> {
        self.find_up(at, |entry| entry.reference(gimli::DW_AT_type))
    }

    /// What an entry says, or the one that it is declared by.
    fn find_up<T>(&self, at: usize, find: impl Fn(&Entry<'a>) -> Option<T>) -> Option<T> {
        let mut entry = self.get(at)?;
        for _ in 0..LONGEST {
            if let Some(found) = find(&entry) {
                return Some(found);
            }
            let elsewhere = entry
                .reference(gimli::DW_AT_specification)
                .or_else(|| entry.reference(gimli::DW_AT_abstract_origin))?;
            entry = self.get(elsewhere)?;
        }
        None
    }

    /// A function and where it stands: `main (server.cpp:12)`.
    pub(super) fn place(&self, function: usize) -> Option<String> {
        let name = self.namespace(function) + &self.name(function)?;
        let line = self.find_up(function, |entry| {
            Some(format!("{}:{}", self.file(entry)?, entry.number(gimli::DW_AT_decl_line)?))
        });
        Some(line.map_or(name.clone(), |line| format!("{name} ({line})")))
    }

    /// The name of the file in which something is declared.
    fn file(&self, entry: &Entry<'a>) -> Option<String> {
        let lines = entry.unit.line_program.as_ref()?.header();
        let file = lines.file(entry.number(gimli::DW_AT_decl_file)?)?;
        let path = self.dwarf.attr_string(&entry.unit, file.path_name()).ok()?;
        path.to_string_lossy().rsplit('/').next().map(str::to_owned)
    }

    /// Whether an instruction is in a part of a function.
    pub(super) fn covers(&self, entry: &Entry<'a>, instruction: u64) -> bool {
        let Ok(mut ranges) = self.dwarf.die_ranges(&entry.unit, &entry.entry) else { return false };
        while let Ok(Some(range)) = ranges.next() {
            if (range.begin..range.end).contains(&instruction) {
                return true;
            }
        }
        false
    }

    /// Where a variable is at an instruction, of all locations that it has.
    pub(super) fn location_at(
        &self,
        variable: &Entry<'a>,
        list: AttributeValue<Slice<'a>>,
        instruction: u64,
    ) -> Option<Expression<Slice<'a>>> {
        let mut locations = self.dwarf.attr_locations(&variable.unit, list).ok()??;
        while let Ok(Some(location)) = locations.next() {
            if (location.range.begin..location.range.end).contains(&instruction) {
                return Some(location.data);
            }
        }
        None
    }

    /// A type without its other names and qualifiers.
    pub(super) fn plain(&self, mut at: usize) -> Option<usize> {
        for _ in 0..LONGEST {
            let entry = self.get(at)?;
            if !is_other_name(entry.tag()) {
                return Some(at);
            }
            at = entry.reference(gimli::DW_AT_type)?;
        }
        None
    }

    pub(super) fn kind(&self, at: usize) -> TypeKind {
        match self.get(at).map(|entry| entry.tag()) {
            Some(gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type) => {
                TypeKind::Members
            }
            Some(gimli::DW_TAG_array_type) => TypeKind::Array,
            Some(gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type) => TypeKind::Pointer,
            _ => TypeKind::Other,
        }
    }

    /// Whether a type is one of whole numbers, and neither a truth value nor a letter.
    pub(super) fn is_whole_number(&self, at: usize) -> bool {
        let entry = self.get(at).filter(|entry| entry.tag() == gimli::DW_TAG_base_type);
        let encoding = entry.and_then(|entry| match entry.value(gimli::DW_AT_encoding)? {
            AttributeValue::Encoding(encoding) => Some(encoding),
            _ => None,
        });
        matches!(encoding, Some(gimli::DW_ATE_signed | gimli::DW_ATE_unsigned))
    }

    /// What a type is called, with its namespaces; empty where it has no name. A structure that only its `typedef` names has that one.
    pub(super) fn class_name(&self, mut at: usize) -> String {
        let mut name = String::new();
        for _ in 0..LONGEST {
            let Some(entry) = self.get(at) else { break };
            if let Some(own) = self.own_name(&entry) {
                name = readable(&(self.namespace(at) + &own));
            }
            match entry.reference(gimli::DW_AT_type) {
                Some(of) if is_other_name(entry.tag()) => at = of,
                _ => break,
            }
        }
        name
    }

    /// `std::chrono::`, or nothing.
    pub(super) fn namespace(&self, at: usize) -> String {
        let mut around: Vec<&(std::ops::Range<usize>, String)> =
            self.index.namespaces.iter().filter(|(range, _)| range.contains(&at)).collect();
        around.sort_by_key(|(range, _)| range.start);
        let names = around.iter().map(|(_, name)| name.as_str()).filter(|name| !name.is_empty());
        names.map(|name| format!("{name}::")).collect()
    }

    /// How many bytes an object takes.
    pub(super) fn size(&self, mut at: usize) -> Option<u64> {
        let mut times = 1_u64;
        for _ in 0..LONGEST {
            at = self.plain(at)?;
            let entry = self.get(at)?;
            match (entry.number(gimli::DW_AT_byte_size), entry.tag()) {
                (Some(size), _) => return Some(size.saturating_mul(times)),
                (None, gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type) => {
                    return Some(times.saturating_mul(8));
                }
                (None, gimli::DW_TAG_array_type) => {
                    times = times.saturating_mul(self.count(at));
                    at = entry.reference(gimli::DW_AT_type)?;
                }
                _ => return None,
            }
        }
        None
    }

    /// How many elements an array has.
    fn count(&self, array: usize) -> u64 {
        let dimensions = self.children(array);
        let dimensions = dimensions.iter().filter(|child| child.tag() == gimli::DW_TAG_subrange_type);
        let count = |of: &Entry<'_>| {
            of.number(gimli::DW_AT_count)
                .or_else(|| of.number(gimli::DW_AT_upper_bound).map(|last| last.saturating_add(1)))
        };
        dimensions.map(|dimension| count(dimension).unwrap_or(1)).fold(1, u64::saturating_mul)
    }
}

fn is_other_name(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type
    )
}
