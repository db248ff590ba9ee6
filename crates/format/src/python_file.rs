//! Whose Python code a file is, decided by its name alone. Agent and analysis must agree: loops count as iterations when they
//! are in code that the report calls the user's.

use core::ffi::CStr;

/// What Heaplens calls the code that it runs in the program's interpreter itself.
pub const PROBE_FILE: &CStr = c"<heaplens>";
/// What `python -c` calls what it was given; also what libraries call code that they make up.
pub const WITHOUT_FILE: &str = "<string>";

/// How the names begin that the agent gives to the files of imports, instead of the stacks inside them: `<import keras.layers>`.
pub const IMPORT_FILE: &str = "<import ";
/// How the files of the import system begin.
const IMPORT_SYSTEM: &str = "<frozen importlib";

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
    /// Stands for the import of a module of this top-level package.
    Import(&'a str),
    /// Ours.
    Probe,
}

impl<'a> Owner<'a> {
    /// By the file that a code object names.
    pub fn of(file: &'a str) -> Self {
        if let Some(frozen) = file.strip_prefix("<frozen ") {
            return Self::Package(top_level(frozen.trim_end_matches('>')));
        }
        if let Some(module) = imported_module(file) {
            return Self::Import(top_level(module));
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

/// The module whose import a file stands for.
pub fn imported_module(file: &str) -> Option<&str> {
    file.strip_prefix(IMPORT_FILE)?.strip_suffix('>')
}

/// Whether a file is of the import system itself: what it does is done for the module that it loads.
pub fn is_import_system(file: &str) -> bool {
    file.starts_with(IMPORT_SYSTEM)
        || file.ends_with("/importlib/__init__.py") && Owner::of(file) == Owner::Package("importlib")
}

/// The name of the module that a file of a package is, with slashes for dots: `keras/src/layers`.
pub fn module_of(file: &str) -> &str {
    if let Some(frozen) = file.strip_prefix("<frozen ") {
        return frozen.trim_end_matches('>');
    }
    let module = inside_installed(file).or_else(|| inside_standard(file)).unwrap_or(file);
    let module = module.strip_suffix(".py").unwrap_or(module);
    module.strip_suffix("/__init__").unwrap_or(module)
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

/// What follows the last folder of installed packages.
fn inside_installed(file: &str) -> Option<&str> {
    let after = |folder: &str| {
        let at = file.rfind(folder)? + folder.len();
        file[at..].strip_prefix('/')
    };
    INSTALLED.iter().filter_map(|folder| after(folder)).min_by_key(|module| module.len())
}

/// What follows the folder of the standard library.
fn inside_standard(file: &str) -> Option<&str> {
    let (mut at, mut before) = (0, "");
    for part in file.split('/') {
        at += part.len() + 1;
        if before.starts_with("lib") && is_version(part) {
            return file.get(at..);
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
            ("<import keras.src.layers>", Owner::Import("keras")),
            ("<import abc>", Owner::Import("abc")),
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
    #[test]
    fn a_file_of_a_package_is_a_module_and_a_name_made_of_one_is_read_back() {
        let truths = [
            ("/v/lib/python3.12/site-packages/keras/src/layers/__init__.py", "keras/src/layers"),
            ("/v/lib/python3.12/site-packages/keras/src/layers/core.py", "keras/src/layers/core"),
            ("/usr/lib/python3/dist-packages/six.py", "six"),
            ("/usr/lib/python3.11/json/decoder.py", "json/decoder"),
            ("<frozen abc>", "abc"),
            ("odd.py", "odd"),
        ];
        for (file, truth) in truths {
            assert_eq!(module_of(file), truth, "{file}");
        }
        assert_eq!(imported_module("<import keras.src.layers>"), Some("keras.src.layers"));
        assert_eq!(imported_module("<importing>"), None);
    }

    #[test]
    fn the_import_system_is_what_loads_modules_and_no_other_part_of_importlib() {
        assert!(is_import_system("<frozen importlib._bootstrap_external>"));
        assert!(is_import_system("/usr/lib/python3.11/importlib/__init__.py"));
        assert!(!is_import_system("/usr/lib/python3.11/importlib/metadata/__init__.py"));
        assert!(!is_import_system("/home/user/importlib/__init__.py"));
    }
}
