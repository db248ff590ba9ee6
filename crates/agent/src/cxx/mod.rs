//! Hooks of C++'s operators.

mod new;
mod plain;

/// Finds out at the start what C++'s operators are, where they are the allocator's own: what comes from them has no canary.
pub fn check_operators() {
    plain::check(&new::CXX_LIBRARIES);
}
