//! Where a thread says which operation of a framework it runs: the address of a record, and how a name is read from it, as the hooks
//! of the framework know.

/// Longer names are ignored.
pub(crate) const LONGEST: usize = 1024;
/// How a framework names what its threads run.
#[derive(Debug)]
pub struct WorkNames {
    /// The name, read from the record that is kept beside the thread: an address.
    pub running: unsafe fn(u64) -> Option<&'static [u8]>,
    /// Whether a part in front of a name stands for a call, though nothing of that name was made.
    pub is_call: fn(&[u8]) -> bool,
}

/// Where a thread says what it runs.
#[derive(Debug)]
#[repr(C)]
pub struct Annotation {
    /// The address of the record; 0 where the thread never said anything.
    record: u64,
    names: Option<&'static WorkNames>,
}

impl Annotation {
    /// From now on this is where. The record must stay readable as long as the thread lives.
    #[inline(always)]
    pub fn set(&mut self, record: u64, names: &'static WorkNames) {
        self.names = Some(names);
        self.record = record;
    }

    /// What this thread says that it runs.
    pub(super) fn running<'a>(&self) -> Option<(&'a [u8], &'static WorkNames)> {
        let Self { record, names } = self;
        let names = names.filter(|_| *record != 0)?;
        // SAFETY: the thread's own record, as the hook that set it said.
        unsafe { (names.running)(*record) }.map(|name| (name, names))
    }

    /// Whether the thread never said anything.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.record == 0
    }
}

/// Reads a name from a record that begins with it: a `std::string_view` (its length first), or a C string.
///
/// # Safety
/// The record is the thread's own and has two words; what it names, the thread is running, so the name lives.
pub unsafe fn view_or_text(record: u64) -> Option<&'static [u8]> {
    // SAFETY: as the caller says. No length reaches into the first page, and no text begins there.
    unsafe {
        let [first, second] = (record as *const [u64; 2]).read_volatile();
        match first {
            0 => None,
            length if length <= LONGEST as u64 && second > 4096 => {
                Some(core::slice::from_raw_parts(second as *const u8, length as usize))
            }
            text if text > 4096 => {
                let length = libc::strnlen(text as *const libc::c_char, LONGEST + 1);
                (length <= LONGEST).then(|| core::slice::from_raw_parts(text as *const u8, length))
            }
            _ => None,
        }
    }
}

/// `…/_12`: how a part of a loop or of a condition is set apart from others.
pub fn ends_in_number(call: &[u8]) -> bool {
    let last = call.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    last.len() > 1 && last[0] == b'_' && last[1..].iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::words::annotation;

    static NAMES: WorkNames = WorkNames { running: view_or_text, is_call: ends_in_number };

    #[test]
    fn a_thread_says_what_it_runs_in_either_way_or_not_at_all() {
        let name = c"layer/MatMul";
        let view = [name.count_bytes() as u64, name.as_ptr() as u64];
        let text = [name.as_ptr() as u64, 12];
        let announced = |record: Option<&[u64; 2]>| {
            annotation().set(record.map_or(0, |record| record.as_ptr() as u64), &NAMES);
            let found = annotation().running().map(|(name, _)| name.to_vec());
            annotation().set(0, &NAMES);
            found
        };
        assert_eq!(announced(Some(&view)).as_deref(), Some(name.to_bytes()));
        assert_eq!(announced(Some(&text)).as_deref(), Some(name.to_bytes()));
        assert_eq!(announced(Some(&[0, 7])), None);
        assert_eq!(announced(Some(&[12, 0])), None);
        assert_eq!(announced(None), None);
    }
}
