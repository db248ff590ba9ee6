//! Marks at intervals, for programs that make none themselves: what each site has over time. The recorder makes them from the
//! outside, so that a program which hardly allocates has them, too, and pays only what every mark costs.
//!
//! Python programs have their loops and get none, unless they made no mark for some seconds: a server, or a library that
//! does all the work. While modules are imported they get none, either: imports touch ever new sites and are no growth. Where a program marked since the
//! last reading, that moment has its mark.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use heaplens_format::arena::header::MOMENT_OFFSET;
use heaplens_format::arena::marks::{MARK_SIZE, MarkTag, Moment, QUIET_NS};
use heaplens_format::{Bytes, Nanos};

use crate::arena::HeaderReading;
use crate::os::{clocks, shared_words};

/// The time between the first marks, in nanoseconds, unless the recorder reads less often.
const FIRST: u64 = 10_000_000;
/// After so many marks the distance doubles.
const CLOSE_MARKS: u32 = 64;
/// It doubles, too, when the marks of one distance took this part of the table of changes.
const PARTS: u64 = 24;

/// See the module.
#[derive(Debug)]
pub(crate) struct Intervals {
    distance: u64,
    next: Nanos,
    /// Marks of this distance.
    close: u32,
    /// What was used of the table of changes when the distance was set.
    used: Bytes,
    /// The last mark that is known, whoever made it.
    last: u32,
    quiet: Quiet,
    is_over: bool,
}

/// Since when a Python program has neither made a mark nor imported anything.
#[derive(Debug, Default)]
struct Quiet {
    since: Option<Nanos>,
    marks: u32,
    imports: u32,
}

impl Quiet {
    fn is_long(&mut self, header: &HeaderReading, now: Nanos) -> bool {
        if (self.marks, self.imports) != (header.marks, header.imports) {
            self.since = None;
        }
        (self.marks, self.imports) = (header.marks, header.imports);
        now.get() - self.since.get_or_insert(now).get() >= QUIET_NS
    }
}

impl Default for Intervals {
    fn default() -> Self {
        let (next, quiet) = (Nanos::default(), Quiet::default());
        Self { distance: FIRST, next, close: 0, used: Bytes::ZERO, last: 0, quiet, is_over: false }
    }
}

impl Intervals {
    /// Makes a mark if it is time for one.
    pub(crate) fn read(&mut self, file: &File, header: &HeaderReading, now: Nanos) {
        let is_busy = !self.quiet.is_long(header, now) && header.has_python;
        if self.is_over || is_busy || now < self.next {
            return;
        }
        let is_marked = header.marks > self.last;
        self.last = header.marks;
        self.next = Nanos::new(now.get() + self.distance);
        if is_marked {
            return;
        }
        // The last part is left for marks on request. Where the arena cannot be written there are none: another user's process, a full disk.
        self.is_over = header.changes.used > header.changes.capacity / 4 * 3
            || make(file, header).map(|number| self.count(number, header)).is_err();
    }

    fn count(&mut self, number: u32, header: &HeaderReading) {
        (self.last, self.quiet.marks) = (number, number);
        self.close += 1;
        let used = Bytes::new(header.changes.used);
        let taken = used.saturating_sub(self.used).get();
        if self.close == CLOSE_MARKS || taken > header.changes.capacity / PARTS {
            self.distance *= 2;
            (self.close, self.used) = (0, used);
        }
    }
}

/// Takes the next number and then writes its record: nobody else does, since the number is ours.
fn make(file: &File, header: &HeaderReading) -> io::Result<u32> {
    // Others may take a few numbers at the same time.
    const SPARE: u64 = 64;
    let offset = |number: u32| u64::from(number) * MARK_SIZE as u64;
    if offset(header.marks) + SPARE * MARK_SIZE as u64 > header.mark_records.capacity {
        return Err(io::ErrorKind::StorageFull.into());
    }
    let at = clocks::monotonic();
    let number = Moment::from_raw(shared_words::add(file, MOMENT_OFFSET, Moment::ONE_MARK)?).mark() + 1;
    file.write_all_at(&record(at, header.live), header.mark_records.offset + offset(number))?;
    Ok(number)
}

/// As `heaplens_format::arena::marks::Mark` lies there.
fn record(at: Nanos, live: Bytes) -> [u8; MARK_SIZE] {
    let mut bytes = [0; MARK_SIZE];
    let words = [MarkTag::Interval as u64, 0, at.get(), live.get(), 0];
    bytes.chunks_exact_mut(8).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::Pid;
    use heaplens_format::arena::End;
    use heaplens_format::arena::header::RegionView;

    const MARKS_AT: u64 = 8192;

    fn reading(marks: u32, changes: u64) -> HeaderReading {
        let region = |offset, used| RegionView { offset, capacity: 1 << 20, reserved: 1 << 20, used };
        HeaderReading {
            pid: Pid::new(1),
            parent: Pid::new(1),
            live: Bytes::new(77),
            peak: Bytes::ZERO,
            own_bytes: Bytes::ZERO,
            end: End::Unseen,
            is_leaving: false,
            is_forked: false,
            start: Nanos::default(),
            loops: 0,
            has_python: false,
            imports: 0,
            marks,
            mark_records: region(MARKS_AT, 0),
            changes: region(0, changes),
            strings: region(0, 0),
            ledger_wanted: None,
            snapshots_wanted: 0,
            snapshot_of_loop: 0,
            leak_check_wanted: None,
            has_canaries: false,
        }
    }

    fn arena() -> File {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(1 << 20).expect("room");
        file
    }

    fn marks_in(file: &File) -> u32 {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, MOMENT_OFFSET as u64).expect("it is there");
        Moment::from_raw(u64::from_le_bytes(bytes)).mark()
    }

    /// How many marks there are after these readings, 20 ms apart, in a program where each takes so many bytes of changes.
    fn marks_after(
        file: &File,
        intervals: &mut Intervals,
        readings: std::ops::Range<u64>,
        changes: u64,
    ) -> u32 {
        for number in readings {
            let marks = marks_in(file);
            intervals.read(
                file,
                &reading(marks, changes * u64::from(marks)),
                Nanos::new(number * 20_000_000),
            );
        }
        marks_in(file)
    }

    #[test]
    fn marks_become_half_as_many_with_every_sixty_four() {
        let (file, mut intervals) = (arena(), Intervals::default());
        assert_eq!(marks_after(&file, &mut intervals, 0..64, 0), 64);
        assert_eq!(
            marks_after(&file, &mut intervals, 64..128, 0),
            128,
            "the recorder does not read more often than that"
        );
        let hour = marks_after(&file, &mut intervals, 128..180_000, 0);
        assert!((600..1200).contains(&hour), "{hour} marks in an hour");
        let mut record = [0; MARK_SIZE];
        file.read_exact_at(&mut record, MARKS_AT + 64 * MARK_SIZE as u64).expect("it is there");
        assert_eq!((record[0], record[24]), (MarkTag::Interval as u8, 77));
    }

    #[test]
    fn a_program_with_many_sites_gets_fewer_marks_and_none_when_room_is_short() {
        let (file, mut intervals) = (arena(), Intervals::default());
        let many = marks_after(&file, &mut intervals, 0..600, 4 << 10);
        let few = marks_after(&arena(), &mut Intervals::default(), 0..600, 0);
        assert!(many < few / 2, "{many} against {few}");
        intervals.read(&file, &reading(many, 900_000), Nanos::new(1 << 50));
        assert_eq!((marks_in(&file), intervals.is_over), (many, true));
    }

    #[test]
    fn a_program_that_marks_itself_gets_none() {
        let (file, mut intervals) = (arena(), Intervals::default());
        for number in 1..50 {
            intervals.read(&file, &reading(number, 0), Nanos::new(u64::from(number) * 20_000_000));
        }
        assert_eq!(marks_in(&file), 0);
    }

    /// Marks of a Python program after readings 20 ms apart for so many seconds; in each it imports and marks what is said.
    fn marks_of_python(seconds: u64, imports: impl Fn(u64) -> u32, marks: impl Fn(u64) -> u32) -> u32 {
        let (file, mut intervals) = (arena(), Intervals::default());
        for number in 1..=seconds * 50 {
            let second = number / 50;
            let own = marks(second) + marks_in(&file);
            let header = HeaderReading { has_python: true, imports: imports(second), ..reading(own, 0) };
            intervals.read(&file, &header, Nanos::new(number * 20_000_000));
        }
        marks_in(&file)
    }

    #[test]
    fn a_python_program_gets_marks_once_it_is_quiet() {
        assert_eq!(marks_of_python(2, |_| 0, |_| 0), 0);
        assert_eq!(marks_of_python(3, |_| 0, |_| 0), 50);
        assert_eq!(marks_of_python(30, |second| second as u32, |_| 0), 0, "it imports");
        assert_eq!(marks_of_python(30, |_| 0, |second| second as u32), 0, "it marks its iterations");
        let begins_late = marks_of_python(30, |second| second.min(20) as u32, |_| 0);
        assert!((64..400).contains(&begins_late), "{begins_late} marks in eight seconds");
    }
}
