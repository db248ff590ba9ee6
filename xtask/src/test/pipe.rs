//! What a test process writes into a pipe, up to the end of that process. A program that a failed test left running may hold
//! the pipe open for as long as it lives: its end is not waited for.

use std::io::Read;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How often a silent pipe's process is asked after.
const INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// The bytes of a pipe, piece by piece.
pub struct Pieces<'a, P> {
    pipe: P,
    /// Whether the process has ended: what it wrote is in the pipe by then.
    ended: &'a AtomicBool,
}

impl<'a, P: Read + AsFd> Pieces<'a, P> {
    /// Reads until the pipe is closed, or is empty after `ended` was set.
    pub fn of(pipe: P, ended: &'a AtomicBool) -> Self {
        Self { pipe, ended }
    }

    /// Waits until there is something to read; `false` where nothing will come that is the process's own.
    fn is_ready(&self) -> bool {
        loop {
            let ended = self.ended.load(Ordering::Acquire);
            let timeout = if ended { Timespec { tv_sec: 0, tv_nsec: 0 } } else { INTERVAL };
            match poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&timeout)) {
                Ok(0) if ended => return false,
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return true,
                Err(_) => return false,
            }
        }
    }
}

impl<P: Read + AsFd> Iterator for Pieces<'_, P> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut piece = [0; 4096];
        let length = self.is_ready().then(|| self.pipe.read(&mut piece).unwrap_or(0))?;
        (length > 0).then(|| piece[..length].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread;

    use super::*;

    /// What comes through the pipe of a process that waits for its child, or does not.
    fn read(script: &str) -> String {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout, ended) =
            (child.stdin.take(), child.stdout.take().unwrap(), AtomicBool::new(false));
        thread::scope(|scope| {
            let text = scope.spawn(|| Pieces::of(stdout, &ended).flatten().collect::<Vec<u8>>());
            child.wait().unwrap();
            ended.store(true, Ordering::Release);
            let text = text.join().unwrap();
            // The program that was left behind ends with its input.
            drop(stdin);
            String::from_utf8(text).unwrap()
        })
    }

    #[test]
    fn a_program_that_is_left_behind_does_not_keep_its_reader() {
        assert_eq!(read("exec 3<&0; (cat <&3; echo late) & echo result"), "result\n");
    }

    #[test]
    fn all_of_a_long_text_is_read() {
        assert_eq!(read("seq 1 20000"), (1..=20000).map(|number| format!("{number}\n")).collect::<String>());
    }
}
