//! Live memory of imports, one line for each package: a healthy `import` of a large framework would fill the page, and
//! nobody can change it.

use std::collections::HashMap;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{Import, StackFrame};

use crate::catalogue::stack::location::location;
use crate::catalogue::wording::one_line;

/// What was imported, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Imported<'a> {
    /// A top-level package.
    Package(&'a str),
    /// Whatever this line imports.
    By(&'a str, Option<u32>),
    /// What the interpreter imports before the program runs.
    AtStart,
}

/// Which package each importing line imports, where it is one only: the memory that the import system itself takes
/// before the package's first line runs is then the package's, too.
pub(super) struct Importers<'a>(HashMap<(&'a str, Option<u32>), Option<&'a str>>);

impl<'a> Importers<'a> {
    pub(super) fn of(profile: &'a Profile) -> Self {
        let mut packages = HashMap::new();
        for import in profile.sites.iter().filter_map(|site| profile.import(site)) {
            if let (Some(line), Some(package)) = (import.by.and_then(line), import.package) {
                let only = packages.entry(line).or_insert(Some(package));
                *only = only.filter(|only| *only == package);
            }
        }
        Self(packages)
    }

    pub(super) fn imported(&self, import: Import<'a>) -> Imported<'a> {
        let line = import.by.and_then(line);
        let only = line.and_then(|line| self.0.get(&line).copied().flatten());
        match (import.package.or(only), line) {
            (Some(package), _) => Imported::Package(package),
            (None, Some((file, line))) => Imported::By(file, line),
            (None, None) => Imported::AtStart,
        }
    }
}

fn line(frame: &StackFrame) -> Option<(&str, Option<u32>)> {
    Some((frame.file.as_deref()?, frame.line))
}

/// `import numpy  shop/train.py:3`.
pub(super) fn words(imported: Imported<'_>, by: Option<&StackFrame>) -> String {
    let location_text = by.and_then(location);
    match (imported, location_text) {
        (Imported::Package(package), Some(location_text)) => {
            format!("import {}  {location_text}", one_line(package))
        }
        (Imported::Package(package), None) => format!("import {}", one_line(package)),
        (Imported::By(..), Some(location_text)) => format!("imports at {location_text}"),
        (Imported::By(..) | Imported::AtStart, _) => "imports at interpreter startup".to_owned(),
    }
}
