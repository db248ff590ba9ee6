//! What the targets stand on: a stack that is none, and code that is never run.

pub mod shapes;
pub mod stack;
