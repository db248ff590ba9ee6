//! `heaplens man` and `heaplens completions`: manual pages and shell completions, generated from the definition of the command
//! line.

use std::process::ExitCode;

use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::render::print;

/// `heaplens man`. The page goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Command to describe [default: heaplens itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

/// `heaplens completions`. The script goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Shell to generate the script for
    #[arg(value_name = "SHELL")]
    shell: KnownShell,
}

/// Printed at the end of `heaplens man --help`.
pub(crate) const MAN_EXAMPLES: &str = "\
Examples:
  heaplens man > heaplens.1
  heaplens man run | man -l -";

/// Printed at the end of `heaplens completions --help`.
pub(crate) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  heaplens completions bash > ~/.local/share/bash-completion/completions/heaplens
  heaplens completions zsh > ~/.zfunc/_heaplens
  heaplens completions fish > ~/.config/fish/completions/heaplens.fish";

/// Supported shells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KnownShell {
    /// GNU Bash
    Bash,
    /// The Z shell
    Zsh,
    /// The fish shell
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

/// Prints a manual page; `whole` is the definition of the command line.
pub(crate) fn man(arguments: &ManArguments, whole: Command) -> Result<ExitCode, Failure> {
    print(&page(arguments.command.as_deref(), whole)?)?;
    Ok(ExitCode::SUCCESS)
}

fn page(command: Option<&str>, mut whole: Command) -> Result<Vec<u8>, Failure> {
    whole.build();
    let shown = match command {
        None => whole,
        Some(name) => whole.find_subcommand(name).cloned().ok_or_else(|| unknown_command(&whole, name))?,
    };
    let mut bytes = Vec::new();
    clap_mangen::Man::new(shown).render(&mut bytes).expect("writing to a Vec cannot fail");
    Ok(bytes)
}

fn unknown_command(whole: &Command, name: &str) -> Failure {
    let known: Vec<&str> = whole.get_subcommands().map(Command::get_name).collect();
    Failure::new(format!("'{name}' is not a heaplens command"))
        .hint(format!("valid commands: {}", known.join(", ")))
}

/// Prints a completion script; `whole` is the definition of the command line.
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
    fn an_unknown_page_gets_the_known_ones_as_a_hint() {
        let failure = format!("{:?}", page(Some("frobnicate"), Arguments::command()).unwrap_err());
        assert!(
            failure.contains("'frobnicate' is not a heaplens command") && failure.contains("run, memcheck"),
            "{failure}"
        );
    }
}
