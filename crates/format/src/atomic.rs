//! The atomic words of tables that several threads change: core's own, unless the feature `interleave` is on.
//!
//! With it every operation is preceded by a call to a function that a test registers, which can let another thread go on
//! there. So a scheduler that tries out interleavings runs the very code that the agent runs. The types keep their layout
//! and stay castable onto the arena. The agent is built without the feature.

#[cfg(not(feature = "interleave"))]
pub use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64};

#[cfg(feature = "interleave")]
pub use interleaved::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, at_every_operation};

#[cfg(feature = "interleave")]
mod interleaved {
    extern crate std;

    use core::sync::atomic::{self, Ordering};
    use std::sync::OnceLock;

    static POINT: OnceLock<fn()> = OnceLock::new();

    /// Has a function called before every operation on an atomic of this module; the first one registered stays.
    pub fn at_every_operation(point: fn()) {
        let _ = POINT.set(point);
    }

    fn point() {
        if let Some(point) = POINT.get() {
            point();
        }
    }

    /// The wrapper of one type of core, and those of its operations that exist for every type.
    macro_rules! wrapper {
        ($name:ident $(<$T:ident>)?, $value:ty, $inner:ty) => {
            /// Core's type of the same name, with a point before every operation.
            #[derive(Debug, Default)]
            #[repr(transparent)]
            pub struct $name $(<$T>)? ($inner);

            impl $(<$T>)? $name $(<$T>)? {
                /// As in core.
                pub const fn new(value: $value) -> Self {
                    Self(<$inner>::new(value))
                }

                /// As in core.
                pub fn load(&self, order: Ordering) -> $value {
                    point();
                    self.0.load(order)
                }

                /// As in core.
                pub fn store(&self, value: $value, order: Ordering) {
                    point();
                    self.0.store(value, order);
                }

                /// As in core.
                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    point();
                    self.0.swap(value, order)
                }

                /// As in core.
                pub fn compare_exchange(
                    &self,
                    old: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    point();
                    self.0.compare_exchange(old, new, success, failure)
                }

                /// As in core: never more than one change, so one point before it is enough.
                pub fn fetch_update(
                    &self,
                    success: Ordering,
                    failure: Ordering,
                    change: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    point();
                    self.0.fetch_update(success, failure, change)
                }
            }
        };
    }

    /// The operations that only numbers have.
    macro_rules! arithmetic {
        ($name:ident, $value:ty: $($operation:ident)*) => {
            impl $name {
                $(
                    /// As in core.
                    pub fn $operation(&self, value: $value, order: Ordering) -> $value {
                        point();
                        self.0.$operation(value, order)
                    }
                )*
            }
        };
    }

    wrapper!(AtomicBool, bool, atomic::AtomicBool);
    wrapper!(AtomicI32, i32, atomic::AtomicI32);
    wrapper!(AtomicU8, u8, atomic::AtomicU8);
    wrapper!(AtomicU32, u32, atomic::AtomicU32);
    wrapper!(AtomicU64, u64, atomic::AtomicU64);
    wrapper!(AtomicPtr<T>, *mut T, atomic::AtomicPtr<T>);
    arithmetic!(AtomicU8, u8: fetch_add fetch_sub fetch_max fetch_or fetch_and);
    arithmetic!(AtomicU32, u32: fetch_add fetch_sub fetch_max fetch_or fetch_and);
    arithmetic!(AtomicU64, u64: fetch_add fetch_sub fetch_max fetch_or fetch_and);
}
