//! Which member of an object a word lies in, and what it points to. Members of a library's classes are not named: of a container its own
//! name is the answer, and where its elements lie.

use addr2line::gimli;

use super::class_names::{is_of_library, template};
use super::entries::{Entries, Entry, TypeKind};

/// Objects in objects, at most.
const DEEPEST: usize = 16;

/// A type, by where its entry begins in the debug information of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeEntry(pub(super) usize);

/// What a word of an object is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordType {
    /// The member that it lies in, with those around it: `orders.pending`; empty where the object has none.
    pub(crate) member: String,
    /// The class of what it points to, or the container that it is a part of; empty where it is not known.
    pub(crate) class: String,
    /// What lies where it points to.
    pub(crate) target: Option<PointerTarget>,
    /// The container that it is a part of, where that is a member of an object.
    pub(crate) container: Option<MemberContainer>,
}

/// A container of the C++ library that is a member of an object, by one of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemberContainer {
    /// The class of the object.
    pub(crate) owner: TypeEntry,
    /// How far the word lies in the object.
    pub(crate) in_owner: u64,
    /// And in the container.
    pub(crate) in_container: u64,
    /// How many elements there are.
    pub(crate) count: ElementCount,
}

/// Where a container says how many elements it has, in libstdc++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementCount {
    /// In a word so far in it.
    Word(u64),
    /// It has two pointers first: to its elements of this size, and behind them.
    Between(u64),
}

/// What is in a block that a word points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PointerTarget {
    /// An object, where the pointer leads.
    Object(TypeEntry),
    /// Objects, one after the other.
    Elements(TypeEntry),
    /// A node of a container.
    Node(NodeType),
    /// Pointers to nodes of a container.
    Nodes(NodeType),
}

/// A node of a container: pointers to other nodes, then an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeType {
    /// The type of its element.
    pub(crate) element: TypeEntry,
    /// Where that begins.
    pub(crate) at: u64,
}

/// What a word is that lies so far in an object of a type.
pub(super) fn word_in(entries: &Entries<'_>, class: usize, offset: u64) -> Option<WordType> {
    let (mut class, mut offset, mut member) = (class, offset, String::new());
    let mut owner = None;
    for _ in 0..DEEPEST {
        let plain = entries.plain(class)?;
        match entries.kind(plain) {
            TypeKind::Members => {
                let name = entries.class_name(class);
                let (is_known, is_wrapper) = (!is_of_library(&name), is_wrapper(&name));
                let part = if is_known || is_wrapper { member_at(entries, plain, offset) } else { None };
                let Some(part) = part else {
                    let count = element_count(entries, plain, &name);
                    let container = owner.zip(count).map(|((owner, in_owner), count)| MemberContainer {
                        owner: TypeEntry(owner),
                        in_owner,
                        in_container: offset,
                        count,
                    });
                    return Some(WordType {
                        container,
                        ..word_of_container(entries, plain, offset, name, member)
                    });
                };
                if is_known {
                    owner = Some((plain, offset));
                }
                if let Some(name) = part.name.filter(|_| is_known) {
                    member = if member.is_empty() { name } else { format!("{member}.{name}") };
                }
                (class, offset) = (part.class, offset - part.at);
            }
            TypeKind::Array => {
                class = entries.get(plain)?.reference(gimli::DW_AT_type)?;
                offset %= entries.size(class).filter(|&size| size > 0)?;
            }
            TypeKind::Pointer => return Some(pointer(entries, plain, member)),
            TypeKind::Other => return Some(WordType { member, ..WordType::default() }),
        }
    }
    None
}

/// Whether a class of a library is only around its members.
fn is_wrapper(class: &str) -> bool {
    const WRAPPERS: [&str; 8] =
        ["pair", "array", "atomic", "RefCell", "UnsafeCell", "Cell", "Mutex", "RwLock"];
    is_of_library(class) && WRAPPERS.contains(&template(class))
}

/// A part of an object.
struct MemberPart {
    /// None of a base class, or of a structure without a name.
    name: Option<String>,
    at: u64,
    class: usize,
}

/// The last part that begins before so many bytes.
fn member_at<'a>(entries: &Entries<'a>, class: usize, offset: u64) -> Option<MemberPart> {
    let is_union = entries.get(class)?.tag() == gimli::DW_TAG_union_type;
    let part = |child: &Entry<'a>| {
        let is_part = matches!(child.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance)
            && !child.has(gimli::DW_AT_declaration)
            && !child.has(gimli::DW_AT_bit_size);
        let at = child.number(gimli::DW_AT_data_member_location).or(is_union.then_some(0))?;
        let class = child.reference(gimli::DW_AT_type).filter(|_| is_part && at <= offset)?;
        let name = if child.tag() == gimli::DW_TAG_member { entries.own_name(child) } else { None };
        Some(MemberPart { name, at, class })
    };
    entries.children(class).iter().filter_map(part).max_by_key(|part| part.at)
}

fn pointer(entries: &Entries<'_>, pointer: usize, member: String) -> WordType {
    let to = entries.get(pointer).and_then(|entry| entry.reference(gimli::DW_AT_type));
    let class = to.map(|to| entries.class_name(to)).unwrap_or_default();
    let target = to.map(|to| PointerTarget::Object(TypeEntry(to)));
    WordType { member, class, target, container: None }
}

/// A word in an object whose members are not named: a container of a library, or a structure of which nothing more is known.
fn word_of_container(
    entries: &Entries<'_>,
    at: usize,
    offset: u64,
    class: String,
    member: String,
) -> WordType {
    let kind = template(&class).to_owned();
    let element = element(entries, at, &kind);
    let entry = element.map(TypeEntry);
    let node = |at: u64| entry.map(|element| NodeType { element, at });
    let target = match kind.as_str() {
        "vector" => entry.map(PointerTarget::Elements),
        // Two pointers, or one, before the element; a tree has three and a colour.
        "list" => node(16).map(PointerTarget::Node),
        "forward_list" => node(8).map(PointerTarget::Node),
        "map" | "set" | "multimap" | "multiset" => node(32).map(PointerTarget::Node),
        // The first word points to the buckets.
        "unordered_map" | "unordered_set" | "unordered_multimap" | "unordered_multiset" => {
            node(8).map(if offset == 0 { PointerTarget::Nodes } else { PointerTarget::Node })
        }
        // The second word of a shared_ptr points to its counts.
        "unique_ptr" | "shared_ptr" | "Box" if offset == 0 => entry.map(PointerTarget::Object),
        _ => None,
    };
    let class = match kind.as_str() {
        "unique_ptr" | "shared_ptr" | "Box" => element.map(|of| entries.class_name(of)).unwrap_or(class),
        _ => class,
    };
    WordType { member, class, target, container: None }
}

fn element_count(entries: &Entries<'_>, container: usize, class: &str) -> Option<ElementCount> {
    Some(match template(class) {
        "list" => ElementCount::Word(16),
        "map" | "set" | "multimap" | "multiset" => ElementCount::Word(40),
        "unordered_map" | "unordered_set" | "unordered_multimap" | "unordered_multiset" => {
            ElementCount::Word(24)
        }
        "vector" => {
            let size = entries.size(element(entries, container, "vector")?)?;
            ElementCount::Between(size)
        }
        _ => return None,
    })
    .filter(|_| class.starts_with("std::") && !class.starts_with("std::__1::"))
}

/// Members of a class that are whole numbers: their names, and where they lie with how many bytes.
pub(super) fn numbers<'a>(entries: &Entries<'a>, class: usize) -> Vec<(String, std::ops::Range<u64>)> {
    let number = |child: &Entry<'a>| {
        let is_member = child.tag() == gimli::DW_TAG_member && !child.has(gimli::DW_AT_declaration);
        let at = child.number(gimli::DW_AT_data_member_location).filter(|_| is_member)?;
        let of = entries.plain(child.reference(gimli::DW_AT_type)?)?;
        let is_whole = entries.is_whole_number(of) && !child.has(gimli::DW_AT_bit_size);
        let size = entries.size(of).filter(|_| is_whole)?;
        Some((entries.own_name(child)?, at..at.checked_add(size)?))
    };
    entries.children(class).iter().filter_map(number).collect()
}

/// The type of a container's elements: its own word for it, else what it is a template of.
fn element<'a>(entries: &Entries<'a>, container: usize, kind: &str) -> Option<usize> {
    let children = entries.children(container);
    let is_value = |child: &&Entry<'a>| {
        child.tag() == gimli::DW_TAG_typedef && entries.own_name(child).as_deref() == Some("value_type")
    };
    if let Some(value) = children.iter().find(is_value) {
        return value.reference(gimli::DW_AT_type);
    }
    let is_parameter = |child: &&Entry<'_>| {
        child.tag() == gimli::DW_TAG_template_type_parameter && child.has(gimli::DW_AT_name)
    };
    // The elements of a map are pairs, which only the word above names.
    if kind.ends_with("map") {
        return None;
    }
    children.iter().find(is_parameter)?.reference(gimli::DW_AT_type)
}
