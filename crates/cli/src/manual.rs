//! `heaplens man` and `heaplens completions`: what the command line knows about itself, for `man` and for shells.

use std::process::ExitCode;

use clap::{Args, Command, CommandFactory, ValueEnum};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::render::print;

/// `heaplens man`. The page goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The page of this command [default: that of heaplens itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

/// `heaplens completions`. The script goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell that reads it
    #[arg(value_name = "SHELL")]
    shell: KnownShell,
}

/// Shells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KnownShell {
    /// GNU Bash
    Bash,
    /// The Z shell
    Zsh,
    /// fish
    Fish,
}

impl From<KnownShell> for Shell {
    fn from(shell: KnownShell) -> Self {
        match shell {
            KnownShell::Bash => Self::Bash,
            KnownShell::Zsh => Self::Zsh,
            KnownShell::Fish => Self::Fish,
        }
    }
}

/// Prints a page of the manual.
pub(crate) fn man(arguments: &ManArguments) -> Result<ExitCode, Failure> {
    print(&page(arguments.command.as_deref())?)?;
    Ok(ExitCode::SUCCESS)
}

fn page(command: Option<&str>) -> Result<Vec<u8>, Failure> {
    let mut whole = Arguments::command();
    whole.build();
    let shown = match command {
        None => whole,
        Some(name) => whole.find_subcommand(name).cloned().ok_or_else(|| no_command(&whole, name))?,
    };
    let mut bytes = Vec::new();
    clap_mangen::Man::new(shown).render(&mut bytes).expect("writing to memory does not fail");
    Ok(bytes)
}

fn no_command(whole: &Command, name: &str) -> Failure {
    let known: Vec<&str> = whole.get_subcommands().map(Command::get_name).collect();
    Failure::new(format!("'{name}' is no command of heaplens"))
        .hint(format!("it can be {}", known.join(", ")))
}

/// Prints a script for a shell.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<ExitCode, Failure> {
    let mut bytes = Vec::new();
    clap_complete::generate(Shell::from(arguments.shell), &mut Arguments::command(), "heaplens", &mut bytes);
    print(&bytes)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_examples() {
        for command in Arguments::command().get_subcommands() {
            let page = String::from_utf8(page(Some(command.get_name())).unwrap()).unwrap();
            let title = format!(".TH heaplens\\-{}", command.get_name());
            assert!(page.contains(&title) || page.contains(&title.replace('\\', "")), "{page}");
            assert!(page.contains("Examples:"), "{page}");
        }
    }

    #[test]
    fn the_page_of_heaplens_names_its_commands() {
        let page = String::from_utf8(page(None).unwrap()).unwrap();
        assert!(page.contains("export") && page.contains("memcheck"), "{page}");
    }

    #[test]
    fn a_page_that_is_not_there_gets_those_that_are() {
        let failure = format!("{:?}", page(Some("frobnicate")).unwrap_err());
        assert!(
            failure.contains("'frobnicate' is no command") && failure.contains("run, memcheck"),
            "{failure}"
        );
    }
}
