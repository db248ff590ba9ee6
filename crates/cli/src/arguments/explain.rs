//! Errors of the command line: clap's errors turned into failures with a hint.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::Failure;

/// Commands that errors and hints name.
const COMMANDS: [&str; 11] = [
    "run",
    "memcheck",
    "report",
    "diff",
    "snapshot",
    "heap",
    "diagnose",
    "export",
    "agent",
    "man",
    "completions",
];

/// The failure for a clap error; `args` is the command line.
pub(super) fn explain(error: &clap::Error, args: &[OsString]) -> Failure {
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => missing(args),
        ErrorKind::InvalidSubcommand => unknown_command(&context(error, ContextKind::InvalidSubcommand)),
        ErrorKind::UnknownArgument => unknown_argument(error, args),
        ErrorKind::MissingRequiredArgument => missing(args),
        ErrorKind::ArgumentConflict if command_of(args) == Some("diff") => {
            Failure::new("--from, --to and --pid cannot be used with two recordings")
                .hint("use heaplens diff A B, or heaplens diff A --from MARK --to MARK")
        }
        ErrorKind::InvalidValue => match context(error, ContextKind::ValidValue).as_str() {
            "" => Failure::new(first_line(error)).hint(help_of(args)),
            valid => Failure::new(first_line(error)).hint(format!("valid values: {valid}")),
        },
        _ => Failure::new(first_line(error)).hint(help_of(args)),
    }
}

fn missing(args: &[OsString]) -> Failure {
    let (message, usage) = match command_of(args) {
        Some("run") => ("no program given", "heaplens run -- PROGRAM ARGS…"),
        Some("memcheck") => ("no program given", "heaplens memcheck PROGRAM ARGS…"),
        Some("report") => ("no recording given", "heaplens report FILE"),
        Some("diff") => ("no recording given", "heaplens diff A B"),
        Some("heap") => ("no recording given", "heaplens heap FILE"),
        Some("diagnose") => ("no recording given", "heaplens diagnose FILE"),
        Some("export") => return missing_for_export(args),
        Some("completions") => ("no shell given", "heaplens completions bash|zsh|fish"),
        Some("snapshot") => ("no process ID given", "heaplens snapshot PID"),
        _ => {
            return Failure::new("no command given")
                .hint("heaplens run -- PROGRAM records a program, heaplens report FILE prints the report of a recording; see 'heaplens --help'");
        }
    };
    Failure::new(message).hint(format!("usage: {usage}"))
}

fn missing_for_export(args: &[OsString]) -> Failure {
    let has_format = args.iter().any(|arg| arg.to_string_lossy().starts_with("--format") || arg == "-f");
    Failure::new(if has_format { "no recording given" } else { "no format given" })
        .hint("usage: heaplens export FILE --format FORMAT; 'heaplens export --help' lists the formats")
}

fn unknown_command(name: &str) -> Failure {
    Failure::new(format!("'{name}' is not a heaplens command"))
        .hint(format!("to record a program: heaplens run -- {name}; 'heaplens --help' lists the commands"))
}

/// For clap a surplus argument is an unknown option, too.
fn unknown_argument(error: &clap::Error, args: &[OsString]) -> Failure {
    let argument = context(error, ContextKind::InvalidArg);
    let what = if argument.starts_with('-') { "unknown option" } else { "unexpected argument" };
    let command = command_of(args).map_or("heaplens".to_owned(), |command| format!("heaplens {command}"));
    let failure = Failure::new(format!("{what} '{argument}' for {command}"));
    match (context(error, ContextKind::SuggestedArg).as_str(), command_of(args)) {
        ("", Some("run")) => {
            failure.hint(format!("{}; options of the program go after its name", help_of(args)))
        }
        ("", _) => failure.hint(help_of(args)),
        (similar, _) => failure.hint(format!("did you mean '{similar}'?")),
    }
}

fn help_of(args: &[OsString]) -> String {
    match command_of(args) {
        Some(command) => format!("'heaplens {command} --help' lists the options"),
        None => "'heaplens --help' lists the commands".to_owned(),
    }
}

fn command_of(args: &[OsString]) -> Option<&str> {
    args.get(1)?.to_str().filter(|arg| COMMANDS.contains(arg))
}

fn context(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::CommandFactory;

    #[test]
    fn errors_name_every_command() {
        let whole = Arguments::command();
        let commands: Vec<&str> = whole.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(commands, COMMANDS);
    }
}
