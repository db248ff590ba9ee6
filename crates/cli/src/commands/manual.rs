//! `heaplens man` and `heaplens completions`: what the command line knows about itself, for `man` and for shells.

use std::process::ExitCode;

use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;

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

/// What `heaplens man --help` ends with.
pub(crate) const MAN_EXAMPLES: &str = "\
Examples:
  heaplens man > heaplens.1
  heaplens man run | man -l -";

/// What `heaplens completions --help` ends with.
pub(crate) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  heaplens completions bash > ~/.local/share/bash-completion/completions/heaplens
  heaplens completions zsh > ~/.zfunc/_heaplens
  heaplens completions fish > ~/.config/fish/completions/heaplens.fish";

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

/// Prints a page of the manual; `whole` is the command line that it describes.
pub(crate) fn man(arguments: &ManArguments, whole: Command) -> Result<ExitCode, Failure> {
    print(&page(arguments.command.as_deref(), whole)?)?;
    Ok(ExitCode::SUCCESS)
}

fn page(command: Option<&str>, mut whole: Command) -> Result<Vec<u8>, Failure> {
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

/// Prints a script for a shell; `whole` is the command line that it completes.
pub(crate) fn completions(arguments: &CompletionsArguments, mut whole: Command) -> Result<ExitCode, Failure> {
    let mut bytes = Vec::new();
    clap_complete::generate(Shell::from(arguments.shell), &mut whole, "heaplens", &mut bytes);
    print(&bytes)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::CommandFactory;

    #[test]
    fn every_command_has_a_page_with_its_examples() {
        for command in Arguments::command().get_subcommands() {
            let page =
                String::from_utf8(page(Some(command.get_name()), Arguments::command()).unwrap()).unwrap();
            let title = format!(".TH heaplens\\-{}", command.get_name());
            assert!(page.contains(&title) || page.contains(&title.replace('\\', "")), "{page}");
            assert!(page.contains("Examples:"), "{page}");
        }
    }

    #[test]
    fn the_page_of_heaplens_names_its_commands() {
        let page = String::from_utf8(page(None, Arguments::command()).unwrap()).unwrap();
        assert!(page.contains("export") && page.contains("memcheck"), "{page}");
    }

    #[test]
    fn a_page_that_is_not_there_gets_those_that_are() {
        let failure = format!("{:?}", page(Some("frobnicate"), Arguments::command()).unwrap_err());
        assert!(
            failure.contains("'frobnicate' is no command") && failure.contains("run, memcheck"),
            "{failure}"
        );
    }
}
