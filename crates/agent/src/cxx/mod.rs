//! Hooks of C++'s operators.

mod new;
mod plain;

/// Finds out at the start what C++'s operators are, where the program is linked with them: the first block of each is to be checked, too.
pub fn check_operators() {
    plain::check(&[]);
}
