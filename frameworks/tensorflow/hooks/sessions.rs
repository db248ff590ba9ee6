//! Runs of TensorFlow sessions, each of which is a mark in a native program: what its iterations are counted by.
//!
//! Whatever a program calls (`TF_SessionRun`, or one of the overloads of `Session::Run`), it comes through the last of these
//! overloads in the virtual table of `DirectSession`. The dynamic linker fills in that table by name, so that ours gets into
//! it as every interposed function does, and nothing has to be patched. That holds for Python programs, too: there it passes on.

use core::arch::naked_asm;

use heaplens_tracker::tracker;

use crate::interposed::{ByTable, name};
use crate::start::is_ready;

/// `absl::Status DirectSession::Run(const RunOptions&, inputs, outputs, targets, outputs*, RunMetadata*, const
/// tsl::thread::ThreadPoolOptions&)` as TensorFlow 2.21 has it; older versions have that class in another namespace.
macro_rules! run_with_options {
    () => {
        "_ZN10tensorflow13DirectSession3RunERKNS_10RunOptionsERKSt6vectorISt4pairINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENS_6TensorEESaISD_EERKS4_ISB_SaISB_EESL_PS4_ISC_SaISC_EEPNS_11RunMetadataERKN3tsl6thread17ThreadPoolOptionsE"
    };
}

static RUN: ByTable = ByTable::new(name!(run_with_options!()));

/// All arguments go on as they came: six in registers, the others on the stack. The first is where the result goes, the
/// second is the session.
///
/// # Safety
/// As TensorFlow's.
#[unsafe(naked)]
#[unsafe(export_name = run_with_options!())]
unsafe extern "C" fn run() {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        "push rcx",
        ".cfi_adjust_cfa_offset 8",
        "push r8",
        ".cfi_adjust_cfa_offset 8",
        "push r9",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "mov rdi, rsi",
        "call {before}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop r9",
        ".cfi_adjust_cfa_offset -8",
        "pop r8",
        ".cfi_adjust_cfa_offset -8",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp rax",
        ".cfi_endproc",
        before = sym before_run)
}

/// Marks, and says where the real function is.
unsafe extern "C" fn before_run(session: *const u64) -> u64 {
    let Some(real) = RUN.of(session) else { return fail as *const () as u64 };
    if is_ready() {
        tracker().on_framework_run();
    }
    real
}

/// An `absl::Status` without a message is one word: the code above two bits, of which the lower says that there is no more.
const UNIMPLEMENTED: u64 = 12 << 2 | 1;

/// Instead of the real function where no library defines it (`real::of_framework` says when that is): the session did not run.
/// Outputs stay as they are.
///
/// # Safety
/// As TensorFlow's: there is room for the result, whose address is returned, as for every result of a class.
unsafe extern "C" fn fail(status: *mut u64) -> *mut u64 {
    // SAFETY: room for a result of one word, see above.
    unsafe { status.write(UNIMPLEMENTED) };
    status
}
