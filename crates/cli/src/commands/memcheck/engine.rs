//! Valgrind as the engine: when it is asked for, what it is given, and what users are told before the program runs twice.

use heaplens_analyze::memcheck_engine::{self, EngineFindings, Incomplete, UserCode};
use heaplens_analyze::suppressions;
use heaplens_format::recording::{Decoded, Exit, Process, ProcessEnd, Recording, Run};
use heaplens_record::{EngineError, EngineOptions, EngineRun, SecondInput, Valgrind, run_engine};

use super::arguments::{EngineChoice, LeakDetail, MemcheckArguments};
use crate::failure::{Failure, eprint};
use crate::launch::{explain, status_of};
use crate::values::YesNo;

/// A run under Valgrind that is to come.
#[derive(Debug)]
pub(super) struct EnginePlan {
    valgrind: Valgrind,
    /// Whether there is no other run.
    pub(super) is_only: bool,
    /// What the program's second run reads, noted before the first one.
    input: SecondInput,
}

/// Frames of a stack that Valgrind records: whose code a record is about is known by its callers.
const LEAST_CALLERS: usize = 30;
/// Signals with which a user ends a program: it is not started again.
const INTERRUPTIONS: [i32; 3] = [1, 2, 15];

impl EnginePlan {
    /// Says that the program runs twice, before it does.
    pub(super) fn announce(&self) {
        if self.is_only {
            return;
        }
        let input = if self.input.is_same() { "the same file again" } else { "nothing (/dev/null)" };
        eprint(&format!(
            "heaplens: the program runs twice: first for leaks, then under Valgrind, which takes many times as long; the \
             second run reads {input} from standard input, its output is discarded, and what it writes to files is written \
             again (--engine=valgrind-only runs it once)"
        ));
    }

    /// Whether the program is started again after it ended like this.
    pub(super) fn goes_on_after(&self, exit: Exit) -> bool {
        !matches!(exit, Exit::Signal(signal) if INTERRUPTIONS.contains(&signal))
    }

    /// Runs the program under Valgrind.
    pub(super) fn run(self, arguments: &MemcheckArguments) -> Result<EngineRun<EngineFindings>, Failure> {
        let options = EngineOptions {
            command: arguments.command.clone(),
            options: arguments.engine_options(self.is_only),
            suppressions: match arguments.default_suppressions {
                YesNo::Yes => suppressions::built_in_files().collect(),
                YesNo::No => Vec::new(),
            },
            suppression_files: arguments.files_for_valgrind(),
            second: (!self.is_only).then_some(self.input),
        };
        run_engine(&self.valgrind, &options, |program, xml| {
            memcheck_engine::read(xml, &UserCode::of(program))
        })
        .map_err(failure)
    }
}

impl MemcheckArguments {
    /// The run under Valgrind, where one is asked for.
    pub(super) fn engine_plan(&self) -> Result<Option<EnginePlan>, Failure> {
        let origins = self.valgrind_options.switch("track-origins")?;
        let undefined = self.valgrind_options.switch("undef-value-errors")?;
        if origins == Some(true) && undefined == Some(false) {
            return Err(Failure::new("--track-origins=yes has no effect with --undef-value-errors=no")
                .hint("omit one of them"));
        }
        let is_needed = origins == Some(true) || undefined == Some(true);
        match (self.engine, is_needed) {
            (None | Some(EngineChoice::Heaplens), false) => Ok(None),
            (Some(EngineChoice::Heaplens), true) => {
                Err(Failure::new("--engine=heaplens does not find uses of uninitialized values")
                    .hint("use --engine=valgrind, or omit --track-origins and --undef-value-errors"))
            }
            (choice, _) => {
                let is_only = choice == Some(EngineChoice::ValgrindOnly);
                let valgrind = Valgrind::find().map_err(failure)?;
                Ok(Some(EnginePlan { valgrind, is_only, input: SecondInput::note() }))
            }
        }
    }

    /// What Valgrind is given besides what makes it write for Heaplens. Without another run leaks are its, too.
    fn engine_options(&self, is_only: bool) -> Vec<String> {
        let mut options = self.valgrind_options.for_valgrind();
        options.push(format!("--num-callers={}", self.num_callers.max(LEAST_CALLERS)));
        options.push(format!("--freelist-vol={}", self.freelist_vol));
        if self.show_mismatched_frees == YesNo::No {
            options.push("--show-mismatched-frees=no".to_owned());
        }
        if self.default_suppressions == YesNo::No {
            options.push("--default-suppressions=no".to_owned());
        }
        if is_only && self.leak_check != LeakDetail::No {
            let kinds: Vec<&str> = self.kinds_wanted().into_iter().map(suppressions::kind_word).collect();
            let kinds = if kinds.is_empty() { "none".to_owned() } else { kinds.join(",") };
            options.extend(["--leak-check=full".to_owned(), format!("--show-leak-kinds={kinds}")]);
        }
        options
    }

    /// The user's files that are in Valgrind's syntax: in the other one it would not start.
    fn files_for_valgrind(&self) -> Vec<std::path::PathBuf> {
        let is_valgrinds = |path: &&std::path::PathBuf| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            !text.lines().any(|line| line.trim_start().starts_with("leak:"))
        };
        self.suppressions.iter().filter(is_valgrinds).cloned().collect()
    }
}

/// Says so if the two runs ended differently: then they did different things.
pub(super) fn compare(alone: Exit, under_valgrind: Exit) {
    if alone != under_valgrind {
        let (alone, other) = (status_of(alone), status_of(under_valgrind));
        eprint(&format!(
            "heaplens: the program ended with status {alone}, and under Valgrind with status {other}"
        ));
    }
}

fn failure(error: EngineError) -> Failure {
    match error {
        EngineError::NotInstalled => Failure::new(error).hint(
            "install the package valgrind (Debian: apt install valgrind); without --track-origins=yes, \
             --undef-value-errors=yes and --engine heaplens does not need it",
        ),
        EngineError::Run(error) => explain(error),
    }
}

/// A recording of a run that had no agent in it: what is known is its command and its end.
pub(super) fn bare_recording(arguments: &MemcheckArguments, run: &EngineRun<EngineFindings>) -> Decoded {
    let command: Vec<String> =
        arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let process = Process {
        pid: run.pid,
        command: command.clone(),
        end: ProcessEnd::Ended(run.exit),
        finish: run.wall,
        ..Process::default()
    };
    let run = Run {
        heaplens: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        exit: Some(run.exit),
        wall: run.wall,
        ..Run::default()
    };
    Decoded { recording: Recording { run, processes: vec![process] }, damage: Vec::new() }
}

/// The failure for a run under Valgrind that reported nothing, not even that it began.
pub(super) fn without_report(run: &EngineRun<EngineFindings>) -> Option<Failure> {
    if run.found.incomplete != Some(Incomplete::Empty) {
        return None;
    }
    let failure = Failure::new("Valgrind reported nothing");
    Some(if run.log.is_empty() { failure } else { failure.hint(format!("it printed: {}", run.log)) })
}
