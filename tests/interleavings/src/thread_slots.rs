//! Thread slots: threads that come and go.

use heaplens_tracker::thread::interleave::{forget_all, give_back, take};

use crate::schedules::{in_many, part, together};

#[test]
fn a_thread_slot_is_held_by_one_thread_at_a_time() {
    // The slots are those of the process: one test alone may take some.
    in_many(3_000, move || {
        forget_all();
        give_back(take().expect("a first slot"));
        let come_and_go = || {
            part(|| {
                let first = take().expect("a slot");
                assert!(first.is_alone());
                give_back(first);
                take().expect("a slot")
            })
        };
        let held = together([(); 3].map(|()| come_and_go()));
        let mut numbers = held.map(|slot| slot.id().get());
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]), "{numbers:?}");
        assert!(numbers.iter().all(|&number| (1..=4).contains(&number)), "{numbers:?}");
    });
}
