//! Whose Python code a file is, decided by its name alone. Agent and analysis must agree: loops count as iterations when they
//! are in code that the report calls the user's.

use core::ffi::CStr;

/// What Heaplens calls the code that it runs in the program's interpreter itself.
pub const PROBE_FILE: &CStr = c"<heaplens>";
/// What `python -c` calls what it was given; also what libraries call code that they make up.
pub const WITHOUT_FILE: &str = "<string>";

/// Folders into which packages are installed.
const INSTALLED: [&str; 2] = ["site-packages", "dist-packages"];
/// How the files begin that the user typed into a prompt or a notebook.
const TYPED: [&str; 3] = ["<stdin>", "<ipython-input", "<python-input"];
/// What TensorFlow calls the files that it makes of the user's functions.
const REWRITTEN: &str = "__autograph_generated_file";

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// The user's own, or what they typed.
    User,
    /// Nobody's: code without a file, or one that was made from the user's.
    Generated,
    /// An installed package's or a part of the standard library, by its top-level name.
    Package(&'a str),
    /// Ours.
    Probe,
}

impl<'a> Owner<'a> {
    /// By the file that a code object names.
    pub fn of(file: &'a str) -> Self {
        if let Some(frozen) = file.strip_prefix("<frozen ") {
            return Self::Package(top_level(frozen.trim_end_matches('>')));
        }
        if file.as_bytes() == PROBE_FILE.to_bytes() {
            return Self::Probe;
        }
        if file.starts_with('<') || file.is_empty() {
            let typed = TYPED.iter().any(|prefix| file.starts_with(prefix));
            return if typed { Self::User } else { Self::Generated };
        }
        match installed(file).or_else(|| standard(file)) {
            Some(package) => Self::Package(package),
            None if is_rewritten(file) => Self::Generated,
            None => Self::User,
        }
    }
}

/// Whether TensorFlow made a file of one of the user's functions.
pub fn is_rewritten(file: &str) -> bool {
    file.rsplit('/').next().is_some_and(|name| name.starts_with(REWRITTEN))
}

/// `…/site-packages/numpy/core/numeric.py` is of `numpy`.
fn installed(file: &str) -> Option<&str> {
    let mut next = None;
    for part in file.rsplit('/') {
        if INSTALLED.contains(&part) {
            return next.map(top_level);
        }
        if !part.ends_with(".egg") {
            next = Some(part);
        }
    }
    None
}

/// `/usr/lib/python3.11/json/decoder.py` is of `json`.
fn standard(file: &str) -> Option<&str> {
    let (mut parts, mut before) = (file.split('/'), "");
    while let Some(part) = parts.next() {
        if before.starts_with("lib") && is_version(part) {
            return parts.next().map(top_level);
        }
        before = part;
    }
    None
}

fn is_version(part: &str) -> bool {
    part.strip_prefix("python").is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// `json` of `json.decoder` and of `json.py`.
fn top_level(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_whose_code_it_is() {
        let truths = [
            ("train.py", Owner::User),
            ("/home/user/shop/models/net.py", Owner::User),
            ("/home/user/lib/rows.py", Owner::User),
            ("<stdin>", Owner::User),
            ("<ipython-input-3-0a1b>", Owner::User),
            ("/tmp/ipykernel_77/123.py", Owner::User),
            ("", Owner::Generated),
            (WITHOUT_FILE, Owner::Generated),
            ("<__array_function__ internals>", Owner::Generated),
            ("/tmp/__autograph_generated_file4x.py", Owner::Generated),
            ("<heaplens>", Owner::Probe),
            ("/usr/lib/python3.11/json/decoder.py", Owner::Package("json")),
            ("/home/user/.pyenv/versions/3.8.18/lib/python3.8/threading.py", Owner::Package("threading")),
            ("/opt/venv/lib64/python3.12/site-packages/numpy/_core/numeric.py", Owner::Package("numpy")),
            ("/usr/lib/python3/dist-packages/six.py", Owner::Package("six")),
            ("/opt/venv/lib/python3.9/site-packages/rows-1.0-py3.9.egg/rows/a.py", Owner::Package("rows")),
            ("<frozen runpy>", Owner::Package("runpy")),
            ("<frozen importlib._bootstrap>", Owner::Package("importlib")),
            ("/usr/lib/python3.11/importlib/__init__.py", Owner::Package("importlib")),
        ];
        for (file, truth) in truths {
            assert_eq!(Owner::of(file), truth, "{file}");
        }
    }
}
