//! Takes snapshots of a process that is being recorded, and prints how long it was stopped for each: `pause PID COUNT`. For
//! `cargo xtask bench --only snapshots`.

use std::process::ExitCode;

use heaplens_format::Pid;
use heaplens_record::RecordedProcess;

fn main() -> ExitCode {
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [pid, count] = numbers[..] else {
        eprintln!("usage: pause PID COUNT");
        return ExitCode::from(2);
    };
    match pauses(pid, count) {
        Ok(pauses) => {
            let least = pauses.iter().min().copied().unwrap_or_default();
            let most = pauses.iter().max().copied().unwrap_or_default();
            println!("snapshots least_ns={least} most_ns={most}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("pause: {error}");
            ExitCode::FAILURE
        }
    }
}

fn pauses(pid: u32, count: u32) -> Result<Vec<u64>, Box<dyn std::error::Error>> {
    let process = RecordedProcess::find(Pid::new(pid))?;
    (0..count).map(|_| Ok(process.snapshot()?.pause.get())).collect()
}
