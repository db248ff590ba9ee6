//! Signals that reach the recorder while a command runs. The command itself sends them to its parent, so nothing has to be
//! timed; it then waits for what is passed on to it.

use std::ffi::OsString;
use std::process::ExitCode;

use heaplens_format::environment::{Checks, Imports, Objects};
use heaplens_format::recording::Exit;
use heaplens_record::{RunOptions, run};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    heed_signals();
    let mut arguments = Arguments::from_args();
    // One thread is the main thread here: every signal finds the thread that holds it back.
    arguments.test_threads = Some(1);
    let trials = vec![
        passed_on("TERM"),
        passed_on("HUP"),
        passed_on("INT"),
        passed_on("USR1"),
        Trial::test("a_signal_that_the_command_does_not_handle_ends_it", || {
            expect("kill -TERM $PPID; while :; do :; done", Exit::Signal(15))
        }),
        Trial::test("a_signal_after_the_first_is_passed_on_too", || {
            let count = "n=0; trap 'n=$((n + 1)); test $n -eq 3 || kill -TERM $PPID' TERM; kill -TERM $PPID";
            expect(&format!("{count}; while test $n -lt 3; do :; done; exit $n"), Exit::Code(3))
        }),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A shell cannot trap what was ignored when it began, as SIGHUP is below `nohup`.
fn heed_signals() {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGUSR1] {
        // SAFETY: the default disposition, before any thread exists.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

fn passed_on(signal: &'static str) -> Trial {
    let script = format!("trap 'exit 7' {signal}; kill -{signal} $PPID; while :; do :; done");
    Trial::test(format!("the_command_decides_on_{signal}"), move || expect(&script, Exit::Code(7)))
}

fn expect(script: &str, exit: Exit) -> Result<(), Failed> {
    let command = ["sh", "-c", script].map(OsString::from).to_vec();
    let outcome = run(RunOptions {
        command,
        agent: None,
        sample: None,
        objects: Objects::Sampled,
        imports: Imports::Folded,
        follow: true,
        passive: false,
        frameworks: true,
        finalize_graph: None,
        memcheck: false,
        checks: Checks::NONE,
        guarded_code: String::new(),
        leak_check: None,
        clean_blocks: false,
        inspects_every_end: false,
    })?;
    match outcome.exit == exit {
        true => Ok(()),
        false => Err(format!("ended with {:?}, expected {exit:?}", outcome.exit).into()),
    }
}
