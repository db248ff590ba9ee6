//! File name patterns as in Memcheck: `%p` is the process ID, `%q{VAR}` an environment variable, `%%` a percent sign.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use heaplens_format::Pid;

use crate::failure::Failure;

/// A file name in which only the process ID is not yet filled in.
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
    /// Parses a pattern; `variable` looks up an environment variable.
    pub(crate) fn parse(
        pattern: &OsStr,
        variable: impl Fn(&OsStr) -> Option<OsString>,
    ) -> Result<Self, Failure> {
        let mut parts = Vec::new();
        let mut rest = pattern.as_bytes();
        while let Some(percent) = rest.iter().position(|&byte| byte == b'%') {
            parts.push(Part::Text(rest[..percent].to_vec()));
            let (part, after) = special(&rest[percent + 1..], &variable, pattern)?;
            parts.push(part);
            rest = after;
        }
        parts.push(Part::Text(rest.to_vec()));
        Ok(Self { parts })
    }

    /// The file name for a process.
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

    /// Whether every process has a name of its own.
    pub(crate) fn has_pid(&self) -> bool {
        self.parts.contains(&Part::Pid)
    }

    /// Whether the directory, too, depends on the process ID: then it cannot be checked before the program runs.
    pub(crate) fn directory_has_pid(&self) -> bool {
        let (one, other) = (self.expand(Pid::new(1)), self.expand(Pid::new(2)));
        one.parent() != other.parent()
    }
}

/// Parses the sequence after a percent sign.
fn special<'a>(
    after: &'a [u8],
    variable: &impl Fn(&OsStr) -> Option<OsString>,
    pattern: &OsStr,
) -> Result<(Part, &'a [u8]), Failure> {
    match after {
        [b'p', rest @ ..] => Ok((Part::Pid, rest)),
        [b'%', rest @ ..] => Ok((Part::Text(b"%".to_vec()), rest)),
        [b'q', b'{', name @ ..] => quoted(name, variable, pattern),
        _ => Err(invalid(pattern)),
    }
}

fn quoted<'a>(
    after: &'a [u8],
    variable: &impl Fn(&OsStr) -> Option<OsString>,
    pattern: &OsStr,
) -> Result<(Part, &'a [u8]), Failure> {
    let end = after.iter().position(|&byte| byte == b'}').ok_or_else(|| invalid(pattern))?;
    let name = OsStr::from_bytes(&after[..end]);
    let value = variable(name).ok_or_else(|| unset(name, pattern))?;
    Ok((Part::Text(value.into_vec()), &after[end + 1..]))
}

fn invalid(pattern: &OsStr) -> Failure {
    Failure::new(format!("invalid % sequence in '{}'", pattern.display()))
        .hint("%p is the process ID, %q{VAR} an environment variable, %% a percent sign")
}

fn unset(name: &OsStr, pattern: &OsStr) -> Failure {
    Failure::new(format!(
        "'{}' uses the environment variable {}, which is not set",
        pattern.display(),
        name.display()
    ))
    .hint(format!("set it: {}=… heaplens run …", name.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pattern: &str) -> Result<Pattern, Failure> {
        let variable = |name: &OsStr| (name == "RANK").then(|| OsString::from("3"));
        Pattern::parse(OsStr::new(pattern), variable)
    }

    fn expanded(pattern: &str) -> PathBuf {
        parse(pattern).unwrap().expand(Pid::new(42))
    }

    #[test]
    fn process_ids_and_variables_are_filled_in() {
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
    fn an_invalid_percent_sequence_is_an_error() {
        for pattern in ["%x", "%", "%q", "%q{RANK", "%q RANK"] {
            assert!(parse(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_directory_may_depend_on_the_process_id() {
        assert!(parse("runs/%p/out.hlr").unwrap().directory_has_pid());
        assert!(!parse("runs/%p.hlr").unwrap().directory_has_pid());
    }
}
