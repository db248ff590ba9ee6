//! The thread that traces. The kernel takes requests only from the thread that attached itself, and a traced thread that does not stop
//! cannot be detached from by a request: the kernel does that when the tracing thread ends. So all tracing runs in a thread of its own, for as
//! long as something is traced.

use std::io;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// A thread that traces. What it keeps is dropped there, when this is dropped.
#[derive(Debug)]
pub(crate) struct Tracer {
    release: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Tracer {
    /// Does work in a thread of its own: what it gives, and the thread that keeps the rest.
    pub(crate) fn start<T, K, E>(
        work: impl FnOnce() -> Result<(T, K), E> + Send + 'static,
    ) -> Result<(T, Self), E>
    where
        T: Send + 'static,
        E: From<io::Error> + Send + 'static,
    {
        let (report, reported) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let trace = move || {
            let kept = match work() {
                Ok((value, kept)) => {
                    report.send(Ok(value)).ok();
                    Some(kept)
                }
                Err(error) => {
                    report.send(Err(error)).ok();
                    None
                }
            };
            // Ends when the other side is dropped: nothing is ever sent.
            released.recv().ok();
            drop(kept);
        };
        let thread = std::thread::Builder::new().name("heaplens-tracer".to_owned()).spawn(trace)?;
        let tracer = Self { release: Some(release), thread: Some(thread) };
        let value =
            reported.recv().unwrap_or_else(|_| Err(io::Error::other("the tracing thread ended").into()))?;
        Ok((value, tracer))
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        drop(self.release.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
