//! The options of `cargo xtask test`.

use anyhow::{Result, bail};

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The quick part, for while one works.
    Fast,
    /// What every change has to pass.
    Change,
    /// The long tests as well.
    All,
}

/// The options of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOptions {
    /// How much.
    pub scope: Scope,
    /// Only tests whose names contain one of these, whatever their length; nothing else is checked then.
    pub only: Vec<String>,
}

impl TestOptions {
    /// Reads `--fast`, `--all`, `--only NAME [NAME …]`.
    pub fn parse(words: &[&str]) -> Result<Self> {
        let of = |scope| Self { scope, only: Vec::new() };
        Ok(match words {
            [] => of(Scope::Change),
            ["--fast"] => of(Scope::Fast),
            ["--all"] => of(Scope::All),
            ["--only", names @ ..] if !names.is_empty() => {
                Self { scope: Scope::All, only: names.iter().map(|name| (*name).to_owned()).collect() }
            }
            _ => bail!("cargo xtask test takes --fast, --all or --only NAME, not `{}`", words.join(" ")),
        })
    }

    /// Whether a test runs, by its name and by whether it is one of the long ones.
    pub fn wants(&self, test: &str, is_long: bool) -> bool {
        if !self.only.is_empty() {
            return self.only.iter().any(|part| test.contains(part.as_str()));
        }
        match self.scope {
            Scope::Fast => !is_long && !is_slow(test),
            Scope::Change => !is_long,
            Scope::All => true,
        }
    }
}

/// Themes of the suite whose tests take more than a few seconds each: they start a framework, a browser, or run for a while by
/// their nature. `--fast` leaves them out.
const SLOW_THEMES: [&str; 26] = [
    "bounded::",
    "corpus",
    "cut_short::",
    "export::",
    "fragmentation::",
    "frameworks::",
    "growth::",
    "heap_profiles::",
    "holders::known::",
    "holders::python::every_way",
    "html::",
    "kill::",
    "ledger::middle",
    "ledger::python::tensorflow",
    "lost_by_",
    "native_tensorflow::",
    "python::behaviour::objects_of_an_interpreter_that_is_loaded_late",
    "python::library_loops::",
    "python::loops::every_kind",
    "python::loops::loops_whose_frames",
    "python::loops::of_loops_side_by_side",
    "python::objects::the_sample_is_thinned",
    "python::walks::",
    "real_programs::",
    "snapshots::",
    "tensorflow",
];

fn is_slow(test: &str) -> bool {
    SLOW_THEMES.iter().any(|theme| test.starts_with(theme)) || test.contains("::tensorflow::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_runs_all_but_the_long_tests_and_a_quick_look_leaves_slow_themes_out() {
        let change = TestOptions::parse(&[]).expect("options");
        assert!(change.wants("html::a", false) && !change.wants("html::a", true));
        let fast = TestOptions::parse(&["--fast"]).expect("options");
        assert!(
            fast.wants("exit::a", false) && !fast.wants("html::a", false) && !fast.wants("exit::a", true)
        );
        assert!(!fast.wants("python::tensorflow::a", false));
    }

    #[test]
    fn names_are_looked_for_among_the_long_tests_too() {
        let only = TestOptions::parse(&["--only", "exit::", "kill"]).expect("options");
        assert!(only.wants("exit::a", true) && only.wants("kill::b", false) && !only.wants("html::c", false));
        assert!(TestOptions::parse(&["--only"]).is_err() && TestOptions::parse(&["fast"]).is_err());
    }
}
