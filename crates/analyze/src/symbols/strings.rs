//! Each name and file once: thousands of frames lie in few files.

use std::collections::HashSet;
use std::sync::Arc;

/// The strings seen so far.
#[derive(Default)]
pub(super) struct Strings(HashSet<Arc<str>>);

impl Strings {
    pub(super) fn share(&mut self, string: &str) -> Arc<str> {
        if let Some(known) = self.0.get(string) {
            return known.clone();
        }
        let new = Arc::<str>::from(string);
        self.0.insert(new.clone());
        new
    }
}
