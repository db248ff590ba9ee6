//! Where variables, namespaces and classes are in the debug information of a file. One pass over all of it, which keeps offsets.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use addr2line::gimli::{
    self, Abbreviation, Abbreviations, AttributeValue, Dwarf, EntriesRaw, Operation, Unit,
};

use super::sections::Slice;

/// Entries by their offsets.
#[derive(Debug, Default)]
pub(super) struct DebugIndex {
    /// Where units begin, in order, and what their entries are made of.
    pub(super) units: Vec<(usize, Arc<Abbreviations>)>,
    /// Variables that have one address for the whole run.
    pub(super) variables: HashMap<u64, usize>,
    /// Variables that each thread has, by where they lie in the thread-local memory of the file.
    pub(super) thread_locals: BTreeMap<u64, usize>,
    /// Functions, by the code that they are.
    pub(super) functions: Vec<(Range<u64>, usize)>,
    /// Which entries are in a namespace.
    pub(super) namespaces: Vec<(Range<usize>, String)>,
    /// Classes with virtual functions.
    pub(super) classes: HashMap<String, usize>,
}

/// A namespace that the pass is in.
struct Scope {
    depth: isize,
    start: usize,
    name: String,
}

/// What of an entry is looked at.
#[derive(Default)]
struct Attributes<'a> {
    name: Option<AttributeValue<Slice<'a>>>,
    location: Option<AttributeValue<Slice<'a>>>,
    low: Option<AttributeValue<Slice<'a>>>,
    high: Option<AttributeValue<Slice<'a>>>,
    ranges: Option<AttributeValue<Slice<'a>>>,
}

impl DebugIndex {
    pub(super) fn read(dwarf: &Dwarf<Slice<'_>>) -> gimli::Result<Self> {
        let mut index = Self::default();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next()? {
            let Some(start) = header.debug_info_offset() else { continue };
            let unit = dwarf.unit(header)?;
            index.units.push((start.0, unit.abbreviations.clone()));
            index.read_unit(dwarf, &unit, start.0)?;
        }
        Ok(index)
    }

    fn read_unit(
        &mut self,
        dwarf: &Dwarf<Slice<'_>>,
        unit: &Unit<Slice<'_>>,
        start: usize,
    ) -> gimli::Result<()> {
        let mut entries = unit.entries_raw(None)?;
        let mut scopes: Vec<Scope> = Vec::new();
        while !entries.is_empty() {
            let (at, depth) = (start + entries.next_offset().0, entries.next_depth());
            while let Some(scope) = scopes.pop_if(|scope| depth <= scope.depth) {
                self.namespaces.push((scope.start..at, scope.name));
            }
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            if !is_indexed(abbreviation) {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let found = Attributes::read(&mut entries, abbreviation)?;
            let name = || found.name.and_then(|name| dwarf.attr_string(unit, name).ok());
            let name = || name().map(|name| name.to_string_lossy().into_owned());
            match abbreviation.tag() {
                gimli::DW_TAG_namespace => {
                    scopes.push(Scope { depth, start: at, name: name().unwrap_or_default() });
                }
                gimli::DW_TAG_variable => match place(dwarf, unit, &found) {
                    Some(Place::Address(address)) => drop(self.variables.insert(address, at)),
                    Some(Place::ThreadLocal(offset)) => drop(self.thread_locals.insert(offset, at)),
                    None => {}
                },
                gimli::DW_TAG_subprogram => {
                    self.functions.extend(code(dwarf, unit, &found).into_iter().map(|code| (code, at)));
                }
                _ => {
                    let names = scopes.iter().map(|scope| scope.name.clone()).chain(name());
                    self.classes.insert(names.collect::<Vec<_>>().join("::"), at);
                }
            }
        }
        let end = start + entries.next_offset().0;
        self.namespaces.extend(scopes.into_iter().map(|scope| (scope.start..end, scope.name)));
        Ok(())
    }
}

fn is_indexed(abbreviation: &Abbreviation) -> bool {
    let has = |name| abbreviation.attributes().iter().any(|attribute| attribute.name() == name);
    match abbreviation.tag() {
        gimli::DW_TAG_namespace => abbreviation.has_children(),
        gimli::DW_TAG_variable => has(gimli::DW_AT_location),
        gimli::DW_TAG_subprogram => has(gimli::DW_AT_low_pc) || has(gimli::DW_AT_ranges),
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => has(gimli::DW_AT_containing_type),
        _ => false,
    }
}

impl<'a> Attributes<'a> {
    fn read(entries: &mut EntriesRaw<'_, Slice<'a>>, abbreviation: &Abbreviation) -> gimli::Result<Self> {
        let mut found = Self::default();
        for &attribute in abbreviation.attributes() {
            let read = entries.read_attribute(attribute)?;
            match read.name() {
                gimli::DW_AT_name => found.name = Some(read.value()),
                gimli::DW_AT_location => found.location = Some(read.value()),
                gimli::DW_AT_low_pc => found.low = Some(read.value()),
                gimli::DW_AT_high_pc => found.high = Some(read.value()),
                gimli::DW_AT_ranges => found.ranges = Some(read.value()),
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Where a variable is that has one place for the whole run.
enum Place {
    Address(u64),
    ThreadLocal(u64),
}

fn place(dwarf: &Dwarf<Slice<'_>>, unit: &Unit<Slice<'_>>, found: &Attributes<'_>) -> Option<Place> {
    let Some(AttributeValue::Exprloc(location)) = found.location else { return None };
    let mut operations = location.operations(unit.encoding());
    let place = match operations.next().ok()?? {
        Operation::Address { address } => Place::Address(address),
        Operation::AddressIndex { index } => Place::Address(dwarf.address(unit, index).ok()?),
        Operation::UnsignedConstant { value } => {
            matches!(operations.next().ok()??, Operation::TLS).then_some(Place::ThreadLocal(value))?
        }
        _ => return None,
    };
    operations.next().ok()?.is_none().then_some(place)
}

/// The code of a function: one piece, or several where rare parts lie elsewhere.
fn code(dwarf: &Dwarf<Slice<'_>>, unit: &Unit<Slice<'_>>, found: &Attributes<'_>) -> Vec<Range<u64>> {
    if let Some(ranges) = found.ranges {
        let Ok(Some(mut list)) = dwarf.attr_ranges(unit, ranges) else { return Vec::new() };
        return std::iter::from_fn(|| list.next().ok()?).map(|range| range.begin..range.end).collect();
    }
    let low = found.low.and_then(|low| dwarf.attr_address(unit, low).ok()?);
    let high = |low: u64| match found.high? {
        AttributeValue::Addr(high) => Some(high),
        length => low.checked_add(length.udata_value()?),
    };
    low.and_then(|low| Some(low..high(low)?)).into_iter().collect()
}
