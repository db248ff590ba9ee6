//! A mapping of the address space: which file an address belongs to, hence where its code and its variables have their names.

use std::path::Path;

use crate::span::Span;

/// A mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Where it lies.
    pub span: Span,
    /// Where in its file it begins.
    pub offset: u64,
    /// The path of its file, or a name in brackets; empty where there is none.
    pub name: String,
    /// Whether it can be written to.
    pub is_writable: bool,
}

impl Mapping {
    /// The file that is mapped.
    pub fn file(&self) -> Option<&Path> {
        self.name.starts_with('/').then(|| Path::new(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_is_a_file() {
        let named = |name: &str| Mapping {
            span: Span::default(),
            offset: 0,
            name: name.to_owned(),
            is_writable: false,
        };
        assert_eq!(named("/lib/libc.so.6").file(), Some(Path::new("/lib/libc.so.6")));
        assert!(named("[heap]").file().is_none() && named("").file().is_none());
    }
}
