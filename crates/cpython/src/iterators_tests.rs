//! Iterators in memory that the tests write: their counts while a loop runs, and when they are about to be freed.

use std::vec::Vec;

use super::*;

/// Types by numbers of their own: nobody reads what is there.
const TYPES: Types = Types {
    range: 1 << 12,
    list: 2 << 12,
    tuple: 3 << 12,
    enumerate: 4 << 12,
    zip: 5 << 12,
    dictionary: [6 << 12, 7 << 12, 8 << 12],
    range_iterator: RangeIterator::CountsUp { index: 16, length: 40 },
    has_free_lists: false,
    tuple_items: 24,
};
const SINCE_3_12: Types =
    Types { range_iterator: RangeIterator::CountsDown { start: 16, step: 24, left: 32 }, ..TYPES };
const SINCE_3_14: Types = Types { has_free_lists: true, ..SINCE_3_12 };

const START: u64 = 1 << 20;
const LENGTH: u64 = 56;

/// Objects of seven words, one after another.
#[derive(Default)]
struct Objects(Vec<[u64; 7]>);

impl ReadMemory for Objects {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let position = address.checked_sub(START).map(|far| (far / LENGTH, far % LENGTH));
        let found =
            position.and_then(|(number, within)| Some((self.0.get(number as usize)?, within as usize)));
        let Some((object, within)) = found else { return 0 };
        let bytes = object.iter().flat_map(|word| word.to_le_bytes()).skip(within);
        bytes.zip(into).map(|(byte, into)| *into = byte).count()
    }
}

impl Objects {
    /// An object with one reference; where it is.
    fn add(&mut self, kind: u64, own: [u64; 5]) -> u64 {
        self.0.push([1, kind, own[0], own[1], own[2], own[3], own[4]]);
        START + LENGTH * (self.0.len() as u64 - 1)
    }

    fn words(&mut self, object: u64) -> &mut [u64; 7] {
        &mut self.0[((object - START) / LENGTH) as usize]
    }

    fn progress(&self, types: Types, object: u64) -> Progress {
        match types.kind(self, object) {
            Kind::Countable(progress) => progress,
            kind => panic!("{kind:?}"),
        }
    }

    /// The iterations that an iterator made from one state to its last one.
    fn iterations(&mut self, types: Types, kind: u64, seen: [u64; 5], last: [u64; 5]) -> Option<u64> {
        let iterator = self.add(kind, seen);
        let seen = self.progress(types, iterator);
        self.words(iterator)[2..].copy_from_slice(&last);
        types.last_count(self, seen.counter).map(|count| count - seen.count)
    }
}

#[test]
fn the_last_count_is_read_from_an_iterator_that_is_about_to_be_freed() {
    let mut objects = Objects::default();
    let list = objects.add(0, [100, 0, 0, 0, 0]);
    let at = |index| [index, list, 0, 0, 0];
    assert_eq!(objects.iterations(TYPES, TYPES.list, at(40), at(60)), Some(20), "left by break");
    assert_eq!(objects.iterations(TYPES, TYPES.tuple, at(40), [100, 0, 0, 0, 0]), Some(60));
    let minus_one = [u64::MAX, 0, 0, 0, 0];
    assert_eq!(objects.iterations(TYPES, TYPES.list, at(40), minus_one), Some(60), "since 3.13");
    let shrinks = objects.add(0, [41, 0, 0, 0, 0]);
    let iterator = objects.add(TYPES.list, [40, shrinks, 0, 0, 0]);
    let seen = objects.progress(TYPES, iterator).counter;
    objects.words(iterator)[2..].copy_from_slice(&minus_one);
    assert_eq!(TYPES.last_count(&objects, seen), Some(41));
    assert_eq!(TYPES.last_count(&objects, Counter { length: 42, ..seen }), None, "it became shorter");
    let range = |index| [index, 0, 1, 100, 0];
    assert_eq!(objects.iterations(TYPES, TYPES.range, range(40), range(41)), Some(1));
    let range = |left| [100 - left, 1, left, 0, 0];
    assert_eq!(objects.iterations(SINCE_3_12, TYPES.range, range(40), range(0)), Some(40));
    let (items, changed) = ([7, 50, 0, 0, 30], [0, u64::MAX, 0, 0, 25]);
    assert_eq!(objects.iterations(TYPES, TYPES.dictionary[1], items, changed), Some(5));
}

#[test]
fn enumerate_tells_its_own_index_when_what_it_goes_through_is_gone() {
    let mut objects = Objects::default();
    let list = objects.add(0, [9, 0, 0, 0, 0]);
    let inner = objects.add(TYPES.list, [4, list, 0, 0, 0]);
    let at = |index: i64| [index as u64, inner, 0, 0, 0];
    let iterator = objects.add(TYPES.enumerate, at(-1));
    let found = objects.progress(TYPES, iterator);
    assert_eq!((found.first, found.left, found.others), (4, 5, 0));
    assert_eq!(objects.iterations(TYPES, TYPES.enumerate, at(-1), [2, 0, 0, 0, 0]), Some(3));
}

#[test]
fn other_references_are_counted_also_those_to_what_is_inside() {
    let mut objects = Objects::default();
    let list = objects.add(0, [9, 0, 0, 0, 0]);
    let iterator = objects.add(TYPES.list, [4, list, 0, 0, 0]);
    assert_eq!(objects.progress(TYPES, iterator).others, 0);
    objects.words(iterator)[0] = 2;
    assert_eq!(objects.progress(TYPES, iterator).others, 1);
    let outer = objects.add(TYPES.enumerate, [4, iterator, 0, 0, 0]);
    assert_eq!(objects.progress(TYPES, outer).others, u32::MAX, "somebody else has what it goes through");
    objects.words(iterator)[0] = 1 | 5 << 48;
    assert_eq!(objects.progress(TYPES, iterator).others, 0, "flags since 3.14");
}

#[test]
fn an_iterator_that_was_freed_is_none() {
    let mut objects = Objects::default();
    let range = objects.add(TYPES.range, [4, 0, 1, 9, 0]);
    assert!(matches!(TYPES.kind(&objects, range), Kind::Countable(_)));
    objects.words(range)[0] = 0;
    assert!(matches!(TYPES.kind(&objects, range), Kind::Other));
    objects.words(range)[0] = 0x7f12_3456_7890;
    assert!(matches!(TYPES.kind(&objects, range), Kind::Other), "it is in a list of free blocks");
}

#[test]
fn an_iterator_in_a_free_list_still_says_how_far_it_came() {
    let mut objects = Objects::default();
    let free = |objects: &mut Objects, object: u64, own: [u64; 5]| {
        objects.words(object)[0] = 0x7f12_3456_7890;
        objects.words(object)[2..].copy_from_slice(&own);
    };
    let range = objects.add(TYPES.range, [40, 1, 60, 0, 0]);
    let seen = objects.progress(SINCE_3_14, range);
    let rest = |objects: &Objects, types: Types| {
        types.count_in_free_list(objects, seen.counter).map(|count| count - seen.count)
    };
    assert_eq!(rest(&objects, SINCE_3_14), None, "it is alive");
    free(&mut objects, range, [90, 1, 10, 0, 0]);
    assert_eq!(rest(&objects, SINCE_3_14), Some(50), "left by break");
    assert_eq!(rest(&objects, SINCE_3_12), None, "no list is known that it could be in");
    free(&mut objects, range, [7, 1, 0, 0, 0]);
    assert_eq!(rest(&objects, SINCE_3_14), None, "another loop, to 7, had it since");
    objects.words(range)[0] = 1;
    let (next, gone) = (objects.progress(SINCE_3_14, range).counter, seen.counter.without_object());
    assert!(seen.counter.goes_unnoticed() && !gone.goes_unnoticed());
    assert!(gone.may_continue(&seen.counter) && !next.may_continue(&gone), "they end elsewhere");
    let list = objects.add(0, [100, 0, 0, 0, 0]);
    let iterator = objects.add(TYPES.list, [40, list, 0, 0, 0]);
    let seen = objects.progress(SINCE_3_14, iterator);
    free(&mut objects, iterator, [u64::MAX, 0, 0, 0, 0]);
    let last = SINCE_3_14.count_in_free_list(&objects, seen.counter);
    assert_eq!(last.map(|count| count - seen.count), Some(60));
}

#[test]
fn the_freed_block_begins_with_the_gc_head() {
    let mut objects = Objects::default();
    let list = objects.add(0, [9, 0, 0, 0, 0]);
    let iterator = objects.add(TYPES.list, [4, list, 0, 0, 0]);
    let range = objects.add(TYPES.range, [4, 0, 1, 9, 0]);
    let keys = objects.add(TYPES.dictionary[0], [1, 9, 0, 0, 4]);
    let block = |types, object| objects.progress(types, object).counter.block;
    assert_eq!(block(TYPES, iterator), iterator - 16);
    assert_eq!(block(TYPES, range), range, "it refers to nothing and is not tracked");
    assert_eq!(block(SINCE_3_14, iterator), 0, "it goes to a free list");
    assert_eq!(block(SINCE_3_14, keys), keys - 16);
}

#[test]
fn a_zip_is_counted_by_its_first_iterator_which_may_be_ahead() {
    let mut objects = Objects::default();
    let range = objects.add(TYPES.range, [4, 0, 1, 9, 0]);
    let tuple = objects.add(0, [2, range, 0, 0, 0]);
    let zip = objects.add(TYPES.zip, [2, tuple, 0, 0, 0]);
    let found = objects.progress(TYPES, zip);
    assert_eq!((found.count, found.left), (4, UNKNOWN));
    assert_eq!((found.counter.block, found.counter.runs_ahead), (range, true));
}
