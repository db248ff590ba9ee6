//! Events of the program, from the hook's guard to the tables.

mod naming;
mod objects;
