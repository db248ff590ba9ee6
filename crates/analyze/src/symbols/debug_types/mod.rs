//! What debug information says about the variables of a program: their types, and which member a word of them lies in. It reads files,
//! never memory; what it does not have stays unknown.
//!
//! ```text
//!   .debug_info ─▶ DebugIndex: variables by address, namespaces ─▶ Entries: one type ─▶ WordType: member, class, what it points to
//! ```

mod class_names;
mod entries;
mod index;
mod locals;
mod sections;
mod variables;
mod words;

pub(crate) use locals::RunningFrame;
pub(crate) use variables::DebugTypes;
pub(crate) use words::{ElementCount, MemberContainer, PointerTarget, WordType};
