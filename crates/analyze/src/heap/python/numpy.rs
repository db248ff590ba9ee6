//! Arrays of NumPy (`PyArrayObject_fields`, the same in 1.x and 2.x).

/// In an array.
pub(super) mod ndarray {
    pub const DATA: u64 = 16;
    pub const AXES: u64 = 24;
    pub const DIMENSIONS: u64 = 32;
    pub const BASE: u64 = 48;
    pub const FLAGS: u64 = 64;
    pub const OWNS_DATA: u32 = 4;
}
