//! From the first line of a program to its last: marks that it makes, heap profiles that it writes, the reclaim test, its end and its
//! becoming another program.

pub mod at_exit;
mod exit;
pub mod faults;
mod leak_checks;
pub mod marks;
mod process;
pub mod profiles;
pub mod reclaim;
