//! Hooks of C++'s operators.

mod new;
mod plain;
