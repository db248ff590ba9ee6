//! The tables of the tracker, run under shuttle: the very code that the agent runs, on a real arena, with a point before
//! each atomic operation at which the scheduler may let another thread go on (`heaplens_format::atomic`).
//!
//! What is checked: interleavings. Every scenario is run in all of them where they are few enough, else in a fixed number
//! of random ones and of ones with few changes of thread at the worst moments (PCT), from a fixed seed, so that a run is
//! the same everywhere. What is not checked: weak memory. Shuttle takes every operation as sequentially consistent;
//! x86-64, the only processor that the agent runs on, may delay a store beyond later loads, which is not tried out here.
//! What each `Ordering` is for is argued beside it in the code. Nor are words covered that take part in no protocol
//! (settings, base addresses) or that the kernel changes (fork).
//!
//! `SHUTTLE_RANDOM_SEED=7 cargo test -p heaplens-interleavings` tries other schedules.
#![cfg(test)]

mod arena;
mod blocks;
mod mappings;
mod modules;
mod schedules;
mod sites;
mod tables;
mod thread_slots;
mod trie;
