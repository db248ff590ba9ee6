//! Names of output files as Memcheck spells them: `%p` is the process id, `%q{VAR}` an environment variable, `%%` a percent sign.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use heaplens_format::Pid;

use crate::failure::Failure;

/// A file name, of which only the process id is still open.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Pid,
}

impl Pattern {
    /// Reads what was typed; `variable` looks up the environment.
    pub(crate) fn parse(
        typed: &OsStr,
        variable: impl Fn(&OsStr) -> Option<OsString>,
    ) -> Result<Self, Failure> {
        let mut parts = Vec::new();
        let mut rest = typed.as_bytes();
        while let Some(percent) = rest.iter().position(|&byte| byte == b'%') {
            parts.push(Part::Text(rest[..percent].to_vec()));
            let (part, after) = special(&rest[percent + 1..], &variable, typed)?;
            parts.push(part);
            rest = after;
        }
        parts.push(Part::Text(rest.to_vec()));
        Ok(Self { parts })
    }

    /// The name for one process.
    pub(crate) fn expand(&self, pid: Pid) -> PathBuf {
        let digits = pid.to_string();
        let bytes: Vec<&[u8]> = self
            .parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_slice(),
                Part::Pid => digits.as_bytes(),
            })
            .collect();
        PathBuf::from(OsString::from_vec(bytes.concat()))
    }

    /// Whether the folder, not only the file in it, depends on the process id: then it cannot be looked at beforehand.
    pub(crate) fn folder_is_open(&self) -> bool {
        let (one, other) = (self.expand(Pid::new(1)), self.expand(Pid::new(2)));
        one.parent() != other.parent()
    }
}

/// Reads what stands behind a percent sign.
fn special<'a>(
    after: &'a [u8],
    variable: &impl Fn(&OsStr) -> Option<OsString>,
    typed: &OsStr,
) -> Result<(Part, &'a [u8]), Failure> {
    match after {
        [b'p', rest @ ..] => Ok((Part::Pid, rest)),
        [b'%', rest @ ..] => Ok((Part::Text(b"%".to_vec()), rest)),
        [b'q', b'{', name @ ..] => quoted(name, variable, typed),
        _ => Err(misspelt(typed)),
    }
}

fn quoted<'a>(
    after: &'a [u8],
    variable: &impl Fn(&OsStr) -> Option<OsString>,
    typed: &OsStr,
) -> Result<(Part, &'a [u8]), Failure> {
    let end = after.iter().position(|&byte| byte == b'}').ok_or_else(|| misspelt(typed))?;
    let name = OsStr::from_bytes(&after[..end]);
    let value = variable(name).ok_or_else(|| unset(name, typed))?;
    Ok((Part::Text(value.into_vec()), &after[end + 1..]))
}

fn misspelt(typed: &OsStr) -> Failure {
    Failure::new(format!("'{}' has a '%' that means nothing", typed.display()))
        .hint("%p is the process id, %q{VAR} an environment variable, %% a percent sign")
}

fn unset(name: &OsStr, typed: &OsStr) -> Failure {
    Failure::new(format!(
        "'{}' asks for the environment variable {}, which is not set",
        typed.display(),
        name.display()
    ))
    .hint(format!("set it: {}=… heaplens run …", name.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(typed: &str) -> Result<Pattern, Failure> {
        let variable = |name: &OsStr| (name == "RANK").then(|| OsString::from("3"));
        Pattern::parse(OsStr::new(typed), variable)
    }

    fn expanded(typed: &str) -> PathBuf {
        parse(typed).unwrap().expand(Pid::new(42))
    }

    #[test]
    fn the_process_id_and_variables_are_filled_in() {
        assert_eq!(expanded("out/%q{RANK}-%p.hlr"), PathBuf::from("out/3-42.hlr"));
        assert_eq!(expanded("%p%p"), PathBuf::from("4242"));
        assert_eq!(expanded("100%%.hlr"), PathBuf::from("100%.hlr"));
        assert_eq!(expanded("plain.hlr"), PathBuf::from("plain.hlr"));
    }

    #[test]
    fn a_variable_that_is_not_set_is_an_error() {
        assert!(parse("%q{NOBODY_SETS_THIS}").is_err());
    }

    #[test]
    fn a_percent_sign_without_meaning_is_an_error() {
        for typed in ["%x", "%", "%q", "%q{RANK", "%q RANK"] {
            assert!(parse(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn a_folder_named_by_the_process_id_is_open_until_the_program_runs() {
        assert!(parse("runs/%p/out.hlr").unwrap().folder_is_open());
        assert!(!parse("runs/%p.hlr").unwrap().folder_is_open());
    }
}
