//! The engine itself: where it is installed, and why a program could not be run under it.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;

use crate::launch;
use crate::run::RunError;

/// Valgrind, as it is installed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Valgrind {
    pub(super) file: PathBuf,
}

/// Why there is no result of the engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It is not installed.
    #[error("Valgrind is not installed: there is no valgrind in PATH")]
    NotInstalled,
    /// The program could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Valgrind {
    /// Finds it in `PATH`.
    ///
    /// # Errors
    /// When it is not there.
    pub fn find() -> Result<Self, EngineError> {
        Self::find_in(env::var_os("PATH").as_deref())
    }

    fn find_in(path: Option<&OsStr>) -> Result<Self, EngineError> {
        let file = launch::find(OsStr::new("valgrind"), path).map_err(|_| EngineError::NotInstalled)?;
        Ok(Self { file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_valgrind_in_path_there_is_no_engine() {
        let empty = tempfile::tempdir().unwrap();
        let found = Valgrind::find_in(Some(empty.path().as_os_str()));
        assert!(matches!(found, Err(EngineError::NotInstalled)), "{found:?}");
    }
}
