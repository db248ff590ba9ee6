//! `heaplens report --imports`: what each import costs, as a tree.

use std::io::{self, Write};

use heaplens_analyze::{ImportedModule, Profile, imports};

use super::header;
use super::page::{Options, Page};
use crate::catalogue::number::{count, size};
use crate::catalogue::process::is_running;
use crate::catalogue::stack::location::location;
use crate::catalogue::wording::{one_line, plural};

/// Deeper modules are no further to the right.
const DEEPEST: usize = 16;

/// Writes the page.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, options: Options, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { options, out };
    header::write_command(profile, &mut page)?;
    let modules = imports(profile);
    if modules.is_empty() {
        page.line("")?;
        return page
            .wrapped("  ", "No library was imported, or the program was recorded with --imports=full.");
    }
    let when = match (is_running(profile), profile.knows_end_of_script) {
        (true, _) => "Live now",
        (false, true) => "Live at the end of the script",
        (false, false) => "Live at exit",
    };
    page.title(&format!("{when}, by the module that was being imported"))?;
    page.line("     with its own        itself      blocks   Python objects")?;
    let mut depths = Vec::with_capacity(modules.len());
    for module in &modules {
        let depth = module.parent.and_then(|at| depths.get(at)).map_or(0, |depth: &usize| depth + 1);
        depths.push(depth);
        page.line(&row(module, depth))?;
    }
    page.line("")?;
    let modules = modules.len() as u64;
    page.wrapped(
        "  ",
        &format!(
            "{} {}; \"with its own\" includes the modules that it imports first",
            count(modules),
            plural(modules, "import")
        ),
    )
}

fn row(module: &ImportedModule<'_>, depth: usize) -> String {
    let by = module.by.and_then(location).map(|line| format!("  {line}")).unwrap_or_default();
    format!(
        "  {:>14}  {:>12}  {:>10}  {:>15}   {:indent$}{}{by}",
        size(module.total.bytes),
        size(module.own.bytes),
        count(module.own.blocks),
        size(module.total.objects),
        "",
        one_line(module.module),
        indent = 2 * depth.min(DEEPEST)
    )
}
