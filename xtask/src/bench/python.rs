//! A Python with TensorFlow and the peers that come from PyPI: a private environment below the build folder, or one that the
//! user names. In a named one nothing is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::environment::{self, Wanted, imports, install};
use crate::workspace::printed;

/// What the programs are compared with.
const PEERS: &[Wanted] = &[("memray", "memray==1.20.0"), ("scalene", "scalene==2.4.0")];

/// Prints `NAME VERSION` of the interpreter and of every distribution named after it that is there.
const VERSIONS: &str = "
import importlib.metadata, platform, sys
found = {each.metadata['Name'].lower().replace('_', '-'): each.version for each in importlib.metadata.distributions()}
there = [f'{name} {found[name]}' for name in sys.argv[1:] if name in found]
print(', '.join([f'{platform.python_implementation()} {platform.python_version()}', *there]))";

const DISTRIBUTIONS: [&str; 5] = ["numpy", "tensorflow-cpu", "tensorflow", "memray", "scalene"];

/// Takes the named one, which must have these modules, or makes the private one where something of it is not there yet.
pub fn provide(named: Option<&Path>, modules: &[&str]) -> Result<PathBuf> {
    if let Some(python) = named {
        return match modules.iter().find(|module| !imports(python, module)) {
            Some(module) => bail!("{} cannot import {module}", python.display()),
            None => Ok(python.to_owned()),
        };
    }
    let python = environment::tensorflow()?;
    add_peers(&python);
    Ok(python)
}

/// Why a module's columns stay empty.
pub fn missing(python: Option<&Path>, module: &str) -> Option<String> {
    match python {
        Some(python) if imports(python, module) => None,
        _ => Some(format!("not run: the Python has no {module}")),
    }
}

/// The interpreter and what of the programs' and the peers' modules it has, with versions.
pub fn versions(python: &Path) -> Result<String> {
    let text = printed(Command::new(python).args(["-c", VERSIONS]).args(DISTRIBUTIONS))?;
    Ok(text.trim().to_owned())
}

/// A peer that cannot be installed is a column less, no reason to stop.
fn add_peers(python: &Path) {
    for (module, distribution) in PEERS {
        if !imports(python, module)
            && let Err(error) = install(python, distribution)
        {
            eprintln!("{error:#}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_not_there_has_its_reason() {
        let python = Path::new("python3");
        assert_eq!(missing(Some(python), "json"), None);
        let reason = missing(Some(python), "no_such_peer").unwrap();
        assert_eq!(reason, "not run: the Python has no no_such_peer");
    }

    #[test]
    fn a_named_python_must_have_what_the_rows_import() {
        let python = Path::new("python3");
        assert_eq!(provide(Some(python), &["json"]).unwrap(), python);
        let error = provide(Some(python), &["json", "no_such_module"]).unwrap_err().to_string();
        assert_eq!(error, "python3 cannot import no_such_module");
    }
}
