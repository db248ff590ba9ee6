//! Stacks as people read them: what a frame is called, where it is, and which frames of a stack are worth showing. Owns no layout.

pub(crate) mod fold;
pub(crate) mod label;
pub(crate) mod location;
pub(crate) mod mixed;
