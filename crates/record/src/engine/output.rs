//! The engine's XML while it is written. It ends when the program has ended: a descendant that runs on, and has inherited the pipe,
//! writes nothing that belongs to the program.

use std::io::{self, PipeReader, Read};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// What the engine writes, until the program has ended.
#[derive(Debug)]
pub struct EngineXml {
    xml: PipeReader,
    /// Closed at its other end once the program has ended.
    stop: PipeReader,
}

impl EngineXml {
    pub(super) fn new(xml: PipeReader, stop: PipeReader) -> Self {
        Self { xml, stop }
    }

    /// Reads what a reader left: a program whose pipe is full would wait for ever, and one whose pipe is closed would be killed.
    pub(super) fn drain(&mut self) {
        io::copy(self, &mut io::sink()).ok();
    }

    /// Waits; `false` once there will be no more.
    fn has_more(&self) -> io::Result<bool> {
        loop {
            let mut both =
                [PollFd::new(&self.xml, PollFlags::IN), PollFd::new(&self.stop, PollFlags::empty())];
            match poll(&mut both, None) {
                // What was written before the end is still in the pipe, hence the pipe comes first.
                Ok(_) if both[0].revents().contains(PollFlags::IN) => return Ok(true),
                Ok(_) if both.iter().any(|one| !one.revents().is_empty()) => return Ok(false),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for EngineXml {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_more()? { self.xml.read(buffer) } else { Ok(0) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn all_that_was_written_before_the_end_is_read_though_the_pipe_stays_open() {
        let ((xml, mut writer), (stop, stopper)) = (io::pipe().unwrap(), io::pipe().unwrap());
        writer.write_all(b"<valgrindoutput>").unwrap();
        drop(stopper);
        let mut text = String::new();
        EngineXml::new(xml, stop).read_to_string(&mut text).unwrap();
        assert_eq!(text, "<valgrindoutput>");
        drop(writer);
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_any_more_ends() {
        let ((xml, writer), (stop, _stopper)) = (io::pipe().unwrap(), io::pipe().unwrap());
        drop(writer);
        assert_eq!(EngineXml::new(xml, stop).read(&mut [0; 8]).unwrap(), 0);
    }
}
