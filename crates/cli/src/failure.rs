//! Errors as the user sees them: what failed, why, a hint where one is known, and the exit status.

use std::fmt::Display;
use std::process::ExitCode;

/// Heaplens itself failed; `env` and `timeout` use the same number.
pub(crate) const OWN_FAILURE: u8 = 125;
/// The program exists, but cannot be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// The program was not found.
pub(crate) const NOT_FOUND: u8 = 127;

/// An error message, its hint and the exit status.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    status: u8,
}

impl Failure {
    /// A failure of Heaplens itself.
    pub(crate) fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), hint: None, status: OWN_FAILURE }
    }

    /// Adds a hint.
    pub(crate) fn hint(self, hint: impl Display) -> Self {
        Self { hint: Some(hint.to_string()), ..self }
    }

    /// Sets an exit status other than 125.
    pub(crate) fn status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    /// Prints the message and returns the exit status.
    pub(crate) fn show(&self) -> ExitCode {
        eprint(&self.text());
        ExitCode::from(self.status)
    }

    fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("error: {}\n\nhint: {hint}", self.message),
            None => format!("error: {}", self.message),
        }
    }
}

/// Prints a line on stderr. A closed stderr is ignored.
pub(crate) fn eprint(line: &str) {
    use std::io::Write;
    writeln!(std::io::stderr(), "{line}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_is_separated_from_the_message() {
        let failure = Failure::new("cannot read a.hlr").hint("record again");
        assert_eq!(failure.text(), "error: cannot read a.hlr\n\nhint: record again");
    }

    #[test]
    fn without_a_hint_there_is_only_the_message() {
        assert_eq!(Failure::new("no").text(), "error: no");
    }
}
