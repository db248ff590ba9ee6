//! A stack of ours, for work that needs more than a coroutine may have left on its own. Who unwinds through the frame in
//! between, as a handler of the program's does, finds the program's stack again.

use core::ffi::c_void;

/// Enough for our own work, and for a signal handler that arrives meanwhile.
const SIZE: usize = 64 << 10;

/// Memory for it. Only pages that were used exist.
#[repr(C, align(64))]
pub(crate) struct SpareStack([u8; SIZE]);

impl SpareStack {
    /// Where it begins: stacks grow down.
    pub(crate) fn top(&mut self) -> *mut u8 {
        self.0.as_mut_ptr_range().end
    }
}

/// Calls on the stack that begins at `top`.
///
/// # Safety
/// The memory below `top` is a spare stack on which nobody runs, and stays there until the call returns.
pub(crate) unsafe fn run(top: *mut u8, mut work: impl FnMut()) {
    let mut work: &mut dyn FnMut() = &mut work;
    // SAFETY: as the caller says; `enter` gets back what it is given, a reference that lives until the call returns.
    unsafe { switch((&raw mut work).cast(), enter, top) }
}

extern "C" fn enter(work: *mut c_void) {
    // SAFETY: `run` gives it, and waits.
    unsafe { (*work.cast::<&mut dyn FnMut()>())() }
}

/// Calls `call` with `data` on another stack.
#[unsafe(naked)]
unsafe extern "C" fn switch(data: *mut c_void, call: extern "C" fn(*mut c_void), top: *mut u8) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(test)]
mod tests {
    use std::boxed::Box;

    use super::*;

    #[test]
    fn work_runs_on_the_stack_and_comes_back() {
        let mut stack = Box::new(SpareStack([0; SIZE]));
        let range = stack.0.as_ptr_range();
        let top = stack.top();
        let (mut at, mut sum) = (0, 0);
        // SAFETY: nobody else runs on it.
        unsafe {
            run(top, || {
                let here = 0u8;
                at = &raw const here as usize;
                sum = std::hint::black_box([1u64; 512]).iter().sum();
            })
        };
        assert!((range.start as usize..range.end as usize).contains(&at));
        assert_eq!(sum, 512);
    }
}
