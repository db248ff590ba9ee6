//! Small objects of Python: blocks that its own allocator cuts out of arenas, so that `malloc` never sees them. They are
//! sampled with unbiased weights, or all recorded when the user asks for it. It owns the tables; events fill them.

pub mod addresses;
pub mod samples;
pub mod watched;
