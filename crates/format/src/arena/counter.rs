//! What libraries do that is no memory and explains it: operations that are added to a graph, sessions that are made. Each
//! event is counted for the stack that it comes from, as the blocks of a site are: a counter is a site whose ground
//! ([`Pseudo`]) says what it counts, in blocks of no bytes, and marks find its values as they find those of memory.
//!
//! What can only be said in words ("its argument was another") is a note: few of them, each of one counter.

use super::Pseudo;
use crate::atomic::{AtomicU32, AtomicU64};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $words:literal;)*) => {
        /// What is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Counter { $($(#[$doc])* $name = $number),* }

        impl Counter {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// From the number.
            pub const fn from_number(number: u64) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            /// What one of its stacks stands on.
            pub const fn ground(self) -> Pseudo {
                match self { $(Self::$name => Pseudo::$name),* }
            }

            /// The counter whose stacks stand on this.
            pub const fn of(ground: Pseudo) -> Option<Self> {
                match ground { $(Pseudo::$name => Some(Self::$name),)* _ => None }
            }

            /// What it counts, in words.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$name => $words),* }
            }
        }
    };
}

counters! {
    /// An operation was added to a graph that is not a function's.
    GraphOperation = 1, "graph operations";
    /// A session was made.
    SessionMade = 2, "sessions made";
    /// A session was closed.
    SessionClosed = 3, "sessions closed";
    /// A session object was freed.
    SessionFreed = 4, "session objects freed";
    /// A function was traced.
    FunctionTraced = 5, "function traces";
    /// A Python function was registered to be called from a graph or a pipeline.
    PyFunctionRegistered = 6, "Python functions registered";
    /// And left that registry.
    PyFunctionDropped = 7, "Python functions dropped";
    /// A gradient was registered.
    GradientRegistered = 8, "gradients registered";
    /// A Keras model was made.
    ModelMade = 9, "Keras models made";
    /// Keras was asked to forget what it had made.
    SessionCleared = 10, "calls of clear_session";
    /// What a probe would count cannot be counted in this version.
    Unavailable = 11, "probes that are not available";
    /// An operation was freed with its graph.
    GraphOperationFreed = 12, "graph operations freed";
    /// The graph of a traced function was freed.
    FunctionFreed = 13, "function traces freed";
    /// A Keras model was freed.
    ModelFreed = 14, "Keras models freed";
    /// A Keras model was compiled.
    ModelCompiled = 15, "calls of compile";
    /// A tape that records operations was made.
    TapeMade = 16, "gradient tapes made";
    /// And freed.
    TapeFreed = 17, "gradient tapes freed";
    /// An iterator over a pipeline was made.
    IteratorMade = 18, "dataset iterators made";
    /// And freed.
    IteratorFreed = 19, "dataset iterators freed";
    /// Never counted, only noted: why Python's collector does not come by itself.
    CollectorHeld = 20, "reasons why the collector does not come";
    /// A graph that was finalized for the user would have grown.
    FinalizedGraphGrew = 21, "operations that a finalized graph refused";
}

/// A note. The first is record 0.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Note {
    /// The text: offset in STRINGS in the high, length in the low half.
    pub text: AtomicU64,
    /// [`Counter`] as a number; stored last, 0 while the record is being written.
    pub counter: AtomicU32,
    unused: AtomicU32,
}

/// The size of a [`Note`].
pub const NOTE_SIZE: usize = 16;
const _: () = assert!(size_of::<Note>() == NOTE_SIZE);
/// The most notes of a process.
pub const MOST_NOTES: usize = 1024;
/// Longer ones are cut.
pub const LONGEST_NOTE: usize = 240;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_known_by_its_number_and_by_its_ground() {
        for &counter in Counter::ALL {
            assert_eq!(Counter::from_number(counter as u64), Some(counter));
            assert_eq!(Counter::of(counter.ground()), Some(counter));
            assert_eq!(Pseudo::from_frame(counter.ground().frame()), Some(counter.ground()));
        }
        assert_eq!((Counter::from_number(0), Counter::of(Pseudo::Break)), (None, None));
    }
}
