//! Whose Python code a frame is, and what the Python frames of a stack say together: which line of the user's it comes
//! from, and whether it is the price of an import.

use std::sync::Arc;

use heaplens_format::python_file::Owner;

/// Whose code a frame is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// No Python.
    Native,
    /// A file of the user's own, or what they typed.
    User,
    /// Code without a file, as `exec` runs it: the user's with `python -c`, a library's in a dataclass.
    Generated,
    /// An installed package or a part of the standard library, by its top-level name.
    Library(Arc<str>),
    /// The import system.
    Import,
    /// Stands for the import of a module of this package, and for all that happened in it.
    Imported(Arc<str>),
}

impl Origin {
    /// Of a Python frame, by the file of its code.
    pub(super) fn of(file: &str) -> Self {
        match Owner::of(file) {
            Owner::User => Self::User,
            Owner::Generated => Self::Generated,
            Owner::Package("importlib") => Self::Import,
            Owner::Package(package) => Self::Library(package.into()),
            Owner::Import(package) => Self::Imported(package.into()),
            Owner::Probe => Self::Native,
        }
    }
}

/// What the Python frames of a stack say, gathered from the outermost one inwards; frames by their index.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Trail {
    /// The innermost frame of the user's own.
    user: Option<u32>,
    /// The innermost frame of generated code: the user's line where there is no better one.
    generated: Option<u32>,
    /// The innermost frame of a library.
    library: Option<u32>,
    /// Set while an import runs that began inside the user's line.
    pub(super) import: Option<Importing>,
}

/// An import that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Importing {
    /// A frame of the package that is imported; `None` before its first line runs.
    pub(super) package: Option<u32>,
}

impl Trail {
    /// The same with one frame more at the inner end.
    pub(super) fn with(mut self, frame: u32, origin: &Origin) -> Self {
        match origin {
            Origin::Native => {}
            Origin::User => (self.user, self.import) = (Some(frame), None),
            // What a package runs with `exec` while it is imported is not the line that imports it.
            Origin::Generated if self.import.is_some() => {}
            Origin::Generated => self.generated = Some(frame),
            Origin::Library(_) => {
                self.library = Some(frame);
                if let Some(importing) = &mut self.import {
                    importing.package.get_or_insert(frame);
                }
            }
            Origin::Import => {
                self.import.get_or_insert_default();
            }
            Origin::Imported(_) => {
                self.library = Some(frame);
                self.import.get_or_insert_default().package.get_or_insert(frame);
            }
        }
        self
    }

    /// The frame of the user's line.
    pub(super) fn user_line(&self) -> Option<u32> {
        self.user.or(self.generated)
    }

    /// The frame of the line that a report names: the user's, else the innermost of a library.
    pub(super) fn line(&self) -> Option<u32> {
        self.user_line().or(self.library)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trail of frames, outermost first; their indices count from 0.
    fn trail(files: &[&str]) -> Trail {
        let frames = (0..).zip(files.iter().map(|file| Origin::of(file)));
        frames.fold(Trail::default(), |trail, (frame, origin)| trail.with(frame, &origin))
    }

    const IMPORT: &str = "<frozen importlib._bootstrap>";
    const NUMPY: &str = "/v/lib/python3.11/site-packages/numpy/__init__.py";
    const KERAS: &str = "/v/lib/python3.11/site-packages/keras/trainer.py";

    #[test]
    fn the_users_line_is_the_innermost_of_their_own() {
        assert_eq!(trail(&["train.py", "model.py", KERAS, NUMPY]).user_line(), Some(1));
        assert_eq!(trail(&["train.py", KERAS, "callback.py", NUMPY]).user_line(), Some(2));
    }

    #[test]
    fn generated_code_is_the_users_line_only_where_nothing_else_is() {
        assert_eq!(trail(&["train.py", "<string>"]).user_line(), Some(0));
        assert_eq!(trail(&["<string>", NUMPY]).user_line(), Some(0));
        assert_eq!(trail(&[IMPORT, NUMPY, "<string>", IMPORT]).user_line(), None);
    }

    #[test]
    fn without_a_line_of_the_user_the_innermost_library_line_is_named() {
        let trail = trail(&["<frozen runpy>", KERAS]);
        assert_eq!((trail.user_line(), trail.line()), (None, Some(1)));
    }

    #[test]
    fn an_import_is_of_the_first_package_inside_it() {
        let package = |files| trail(files).import.map(|import| import.package);
        assert_eq!(package(&["train.py", IMPORT, KERAS, IMPORT, NUMPY]), Some(Some(2)));
        assert_eq!(package(&["train.py", IMPORT]), Some(None));
        assert_eq!(package(&[IMPORT, NUMPY]), Some(Some(1)), "what the interpreter imports at its start");
        assert_eq!(package(&["train.py", KERAS]), None);
    }

    #[test]
    fn a_folded_import_is_of_its_outermost_module_at_the_users_line() {
        let trail = trail(&["train.py", "<import keras>", "<import numpy>"]);
        assert_eq!((trail.user_line(), trail.import.map(|import| import.package)), (Some(0), Some(Some(1))));
    }

    #[test]
    fn the_body_of_a_module_of_the_user_is_no_import() {
        assert_eq!(trail(&["train.py", IMPORT, "model.py", NUMPY]).import, None);
    }
}
