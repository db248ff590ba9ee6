//! What the user reads when something did not work: what failed, why, the way out, and the exit status that says so.

use std::fmt::Display;
use std::process::ExitCode;

/// Heaplens itself failed; `env` and `timeout` use the same number.
pub(crate) const OWN_FAILURE: u8 = 125;
/// The program is there but cannot be started.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// The program is not there.
pub(crate) const NOT_FOUND: u8 = 127;

/// A failure with its way out, where one is known.
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

    /// Adds the way out.
    pub(crate) fn hint(self, hint: impl Display) -> Self {
        Self { hint: Some(hint.to_string()), ..self }
    }

    /// Ends with another status than 125.
    pub(crate) fn status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    /// Tells the user and gives the exit status.
    pub(crate) fn show(&self) -> ExitCode {
        tell(&self.text());
        ExitCode::from(self.status)
    }

    fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("error: {}\n\nhint: {hint}", self.message),
            None => format!("error: {}", self.message),
        }
    }
}

/// One line on stderr. A closed stderr is nobody's error.
pub(crate) fn tell(line: &str) {
    use std::io::Write;
    writeln!(std::io::stderr(), "{line}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_stands_apart_from_the_message() {
        let failure = Failure::new("cannot read a.hlr").hint("record again");
        assert_eq!(failure.text(), "error: cannot read a.hlr\n\nhint: record again");
    }

    #[test]
    fn without_a_hint_there_is_only_the_message() {
        assert_eq!(Failure::new("no").text(), "error: no");
    }
}
