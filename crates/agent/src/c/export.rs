//! How hooks are exported: a naked function of the symbol's name hands the registers at its entry to the hook behind it.

/// Exports `$name`, which passes its arguments and, in the next two argument registers, rsp and rbp to `$hook`.
macro_rules! export {
    (1, $name:ident => $hook:path) => { export!(@ $name, $hook, "mov rsi, rsp", "mov rdx, rbp"); };
    (2, $name:ident => $hook:path) => { export!(@ $name, $hook, "mov rdx, rsp", "mov rcx, rbp"); };
    (3, $name:ident => $hook:path) => { export!(@ $name, $hook, "mov rcx, rsp", "mov r8, rbp"); };
    (4, $name:ident => $hook:path) => { export!(@ $name, $hook, "mov r8, rsp", "mov r9, rbp"); };
    (@ $name:ident, $hook:path, $rsp:literal, $rbp:literal) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(".cfi_startproc", $rsp, $rbp, "jmp {hook}", ".cfi_endproc", hook = sym $hook)
        }
    };
}
pub(crate) use export;
