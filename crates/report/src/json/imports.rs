//! What each import costs.

use heaplens_analyze::{Profile, imports};

#[derive(serde::Serialize)]
pub(super) struct ImportFields<'a> {
    module: &'a str,
    /// The module that imported it while it was loaded itself.
    parent: Option<&'a str>,
    /// Where no other module imported it: the line that did.
    file: Option<&'a str>,
    line: Option<u32>,
    bytes: u64,
    blocks: u64,
    python_object_bytes: u64,
    mapped_bytes: u64,
    total_bytes: u64,
    total_blocks: u64,
}

pub(super) fn all(profile: &Profile) -> Vec<ImportFields<'_>> {
    let modules = imports(profile);
    let fields = modules.iter().map(|import| ImportFields {
        module: import.module,
        parent: import.parent.and_then(|at| modules.get(at)).map(|parent| parent.module),
        file: import.by.and_then(|frame| frame.file.as_deref()),
        line: import.by.and_then(|frame| frame.line),
        bytes: import.own.bytes.get(),
        blocks: import.own.blocks,
        python_object_bytes: import.own.objects.get(),
        mapped_bytes: import.own.mapped.get(),
        total_bytes: import.total.bytes.get(),
        total_blocks: import.total.blocks,
    });
    fields.collect()
}
