//! What TensorFlow says that a thread runs. It keeps a record beside each thread, in which the name of the operation stands while
//! memory is taken for it, to say who had it when it runs out. All of its code asks one function for that record; it is ours, and
//! notes where the record is, so that a hook finds the name without calling anybody (`tracker::thread::work`).

use core::arch::{asm, global_asm, naked_asm};

use heaplens_tracker::thread::annotation::{WorkNames, ends_in_number, view_or_text};
use heaplens_tracker::thread::words::annotation;

use crate::interposed::{ByCaller, name};
use crate::start::knows_frameworks;

/// `MemoryDebugAnnotation& tsl::profiler::ScopedMemoryDebugAnnotation::ThreadMemoryDebugAnnotation()`, as TensorFlow 2.15 and 2.21 have it.
macro_rules! thread_annotation {
    () => {
        "_ZN3tsl8profiler27ScopedMemoryDebugAnnotation27ThreadMemoryDebugAnnotationEv"
    };
}

/// TensorFlow does so in two functions of each library.
static ANNOTATION: ByCaller = ByCaller::new(name!(thread_annotation!()));

/// The record begins with the name: a `std::string_view`, in older versions a C string; 2.21 and 2.15 were checked. A part of a
/// loop or of a condition that was inlined is called `…/_12`.
static NAMES: WorkNames = WorkNames { running: view_or_text, is_call: ends_in_number };

/// # Safety
/// As TensorFlow's.
#[unsafe(naked)]
#[unsafe(export_name = thread_annotation!())]
unsafe extern "C" fn thread_annotation() {
    naked_asm!(
        ".cfi_startproc",
        "mov rdi, [rsp]",
        "jmp {hook}",
        ".cfi_endproc",
        hook = sym on_annotation)
}

unsafe extern "C" fn on_annotation(caller: u64) -> u64 {
    let Some(real) = ANNOTATION.of(caller) else { return blank_record() };
    // SAFETY: the function of this name has this type.
    let real = unsafe { core::mem::transmute::<u64, unsafe extern "C" fn() -> u64>(real) };
    // SAFETY: as TensorFlow calls it.
    let record = unsafe { real() };
    if knows_frameworks() {
        annotation().set(record, &NAMES);
    }
    record
}

// A record of each thread: TensorFlow's takes 64 bytes in 2.15, 80 where names are string views.
global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 16",
    ".type heaplens_blank_record,@tls_object",
    ".size heaplens_blank_record,128",
    ".hidden heaplens_blank_record",
    ".globl heaplens_blank_record",
    "heaplens_blank_record:",
    ".zero 128",
    ".text"
);

/// Instead of TensorFlow's record where no library defines the function (`real::of_framework` says when that is). The caller may
/// write to it, as it would to the real one: it is this thread's alone and lives as long. Nobody reads names from it.
#[cold]
fn blank_record() -> u64 {
    let record: u64;
    // SAFETY: reads the record's offset from the GOT and adds the thread pointer: the initial-exec access of the ABI.
    unsafe {
        asm!("mov {0}, qword ptr [rip + heaplens_blank_record@GOTTPOFF]", "add {0}, qword ptr fs:[0]",
            out(reg) record, options(pure, readonly, nostack));
    }
    record
}
