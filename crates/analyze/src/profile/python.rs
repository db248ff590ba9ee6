//! Whose Python code a frame is, and what the Python frames of a stack say together: which line of the user's it comes
//! from, and whether it is the price of an import. Read from file names alone, since a recording has nothing else.

use std::sync::Arc;

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
}

/// What Heaplens calls the code that it runs in the program's interpreter itself.
const PROBE: &str = "<heaplens>";
/// Folders into which packages are installed.
const INSTALLED: [&str; 2] = ["site-packages", "dist-packages"];
/// How the files begin that the user typed into a prompt or a notebook.
const TYPED: [&str; 3] = ["<stdin>", "<ipython-input", "<python-input"];
/// What TensorFlow calls the files that it makes of the user's functions.
const REWRITTEN: &str = "__autograph_generated_file";

impl Origin {
    /// Of a Python frame, by the file of its code.
    pub(super) fn of(file: &str) -> Self {
        if let Some(frozen) = file.strip_prefix("<frozen ") {
            return Self::library(top_level(frozen.trim_end_matches('>')));
        }
        if file == PROBE {
            return Self::Native;
        }
        if file.starts_with('<') || file.is_empty() {
            let typed = TYPED.iter().any(|prefix| file.starts_with(prefix));
            return if typed { Self::User } else { Self::Generated };
        }
        let parts: Vec<&str> = file.split('/').collect();
        match installed(&parts).or_else(|| standard(&parts)) {
            Some(package) => Self::library(package),
            None if parts.last().is_some_and(|name| name.starts_with(REWRITTEN)) => Self::Generated,
            None => Self::User,
        }
    }

    fn library(package: &str) -> Self {
        if package == "importlib" { Self::Import } else { Self::Library(package.into()) }
    }
}

/// `…/site-packages/numpy/core/numeric.py` is of `numpy`.
fn installed<'a>(parts: &[&'a str]) -> Option<&'a str> {
    let folder = parts.iter().rposition(|part| INSTALLED.contains(part))?;
    let package = parts[folder + 1..].iter().find(|part| !part.ends_with(".egg"))?;
    Some(top_level(package))
}

/// `/usr/lib/python3.11/json/decoder.py` is of `json`.
fn standard<'a>(parts: &[&'a str]) -> Option<&'a str> {
    let library = parts.windows(2).position(|pair| pair[0].starts_with("lib") && is_version(pair[1]))?;
    parts.get(library + 2).map(|part| top_level(part))
}

fn is_version(part: &str) -> bool {
    part.strip_prefix("python").is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// `json` of `json.decoder` and of `json.py`.
fn top_level(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
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

    fn library(name: &str) -> Origin {
        Origin::Library(name.into())
    }

    #[test]
    fn a_file_tells_whose_code_it_is() {
        let truths = [
            ("train.py", Origin::User),
            ("/home/user/shop/models/net.py", Origin::User),
            ("/home/user/lib/rows.py", Origin::User),
            ("<stdin>", Origin::User),
            ("<heaplens>", Origin::Native),
            ("<ipython-input-3-0a1b>", Origin::User),
            ("/tmp/ipykernel_77/123.py", Origin::User),
            ("<string>", Origin::Generated),
            ("<__array_function__ internals>", Origin::Generated),
            ("/tmp/__autograph_generated_file4x.py", Origin::Generated),
            ("/usr/lib/python3.11/json/decoder.py", library("json")),
            ("/home/user/.pyenv/versions/3.8.18/lib/python3.8/threading.py", library("threading")),
            ("/opt/venv/lib64/python3.12/site-packages/numpy/_core/numeric.py", library("numpy")),
            ("/usr/lib/python3/dist-packages/six.py", library("six")),
            ("/opt/venv/lib/python3.9/site-packages/rows-1.0-py3.9.egg/rows/a.py", library("rows")),
            ("<frozen runpy>", library("runpy")),
            ("<frozen importlib._bootstrap>", Origin::Import),
            ("<frozen importlib._bootstrap_external>", Origin::Import),
            ("/usr/lib/python3.11/importlib/__init__.py", Origin::Import),
        ];
        for (file, truth) in truths {
            assert_eq!(Origin::of(file), truth, "{file}");
        }
    }

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
    fn the_body_of_a_module_of_the_user_is_no_import() {
        assert_eq!(trail(&["train.py", IMPORT, "model.py", NUMPY]).import, None);
    }
}
