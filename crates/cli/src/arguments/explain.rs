//! What is wrong with the words that were typed: clap's errors as failures with a way out.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::Failure;

/// The failure for an error of clap; the words are those of the command line.
pub(super) fn explain(error: &clap::Error, words: &[OsString]) -> Failure {
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => nothing_to_do(words),
        ErrorKind::InvalidSubcommand => unknown_word(&context(error, ContextKind::InvalidSubcommand)),
        ErrorKind::UnknownArgument => unknown_option(error, words),
        ErrorKind::MissingRequiredArgument => nothing_to_do(words),
        ErrorKind::ArgumentConflict if word_of(words) == Some("diff") => {
            Failure::new("--from, --to and --pid are for moments of one recording, and there are two")
                .hint("heaplens diff A B, or heaplens diff A --from MARK --to MARK")
        }
        ErrorKind::InvalidValue => match context(error, ContextKind::ValidValue).as_str() {
            "" => Failure::new(first_line(error)).hint(help_of(words)),
            known => Failure::new(first_line(error)).hint(format!("it can be {known}")),
        },
        _ => Failure::new(first_line(error)).hint(help_of(words)),
    }
}

fn nothing_to_do(words: &[OsString]) -> Failure {
    match word_of(words) {
        Some("run") => Failure::new("there is no program to run").hint("heaplens run -- PROGRAM ARGS…"),
        Some("memcheck") => Failure::new("there is no program to run").hint("heaplens memcheck PROGRAM ARGS…"),
        Some("report") => Failure::new("there is no recording to report on").hint("heaplens report FILE"),
        Some("diff") => Failure::new("there is no recording to compare").hint("heaplens diff A B"),
        Some("heap") => Failure::new("there is no recording to look into").hint("heaplens heap FILE"),
        Some("export") => nothing_to_export(words),
        Some("completions") => Failure::new("there is no shell to complete for").hint("heaplens completions bash|zsh|fish"),
        Some("snapshot") => Failure::new("there is no process to look at").hint("heaplens snapshot PID"),
        _ => Failure::new("there is nothing to do")
            .hint("heaplens run -- PROGRAM records a program, heaplens report FILE shows a recording, heaplens --help says more"),
    }
}

fn nothing_to_export(words: &[OsString]) -> Failure {
    let has_format = words.iter().any(|word| word.to_string_lossy().starts_with("--format") || word == "-f");
    let missing =
        if has_format { "there is no recording to export" } else { "there is no format to export to" };
    Failure::new(missing)
        .hint("heaplens export FILE --format FORMAT; heaplens export --help lists the formats")
}

fn unknown_word(word: &str) -> Failure {
    Failure::new(format!("'{word}' is no command of heaplens"))
        .hint(format!("to record a program: heaplens run -- {word}; heaplens --help lists the commands"))
}

/// Also a word too many: clap counts it as an option.
fn unknown_option(error: &clap::Error, words: &[OsString]) -> Failure {
    let option = context(error, ContextKind::InvalidArg);
    let what = if option.starts_with('-') { "has no option" } else { "does not know what to do with" };
    let who = word_of(words).map_or("heaplens".to_owned(), |word| format!("heaplens {word}"));
    let failure = Failure::new(format!("{who} {what} '{option}'"));
    match (context(error, ContextKind::SuggestedArg).as_str(), word_of(words)) {
        ("", Some("run")) => {
            failure.hint(format!("{}; options of the program stand behind its name", help_of(words)))
        }
        ("", _) => failure.hint(help_of(words)),
        (similar, _) => failure.hint(format!("did you mean '{similar}'?")),
    }
}

fn help_of(words: &[OsString]) -> String {
    match word_of(words) {
        Some(word) => format!("heaplens {word} --help lists the options"),
        None => "heaplens --help lists the commands".to_owned(),
    }
}

fn word_of(words: &[OsString]) -> Option<&str> {
    let known = ["run", "memcheck", "report", "diff", "snapshot", "heap", "export", "man", "completions"];
    words.get(1)?.to_str().filter(|word| known.contains(word))
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
