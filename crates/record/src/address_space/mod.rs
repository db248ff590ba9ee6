//! The address space of a living process: which pages are resident, and who has each of them. It reads `/proc` and memory of
//! the process, changes nothing in it, and adds nothing up.

pub(crate) mod areas;
mod claim;
pub(crate) mod heaps;
mod images;
pub(crate) mod objects;
pub(crate) mod own;
mod pages;
mod parts;
mod space;
pub(crate) mod stacks;

pub(crate) use areas::Area;
pub(crate) use claim::Claim;
pub(crate) use images::Images;
pub(crate) use pages::{PAGE, Pagemap};
pub(crate) use parts::{Parts, PoolPart};
pub(crate) use space::Space;
