//! What TensorFlow says that a thread runs. It keeps a record beside each thread, in which the name of the operation stands while
//! memory is taken for it, to say who had it when it runs out. All of its code asks one function for that record; it is ours, and
//! notes where the record is, so that a hook finds the name without calling anybody (`tracker::operations`).

use core::arch::{asm, global_asm, naked_asm};
use core::ffi::CStr;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_tracker::seat;

use crate::{knows_frameworks, real};

/// `MemoryDebugAnnotation& tsl::profiler::ScopedMemoryDebugAnnotation::ThreadMemoryDebugAnnotation()`, as TensorFlow 2.15 and 2.21 have it.
macro_rules! thread_annotation {
    () => {
        "_ZN3tsl8profiler27ScopedMemoryDebugAnnotation27ThreadMemoryDebugAnnotationEv"
    };
}

const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(thread_annotation!(), "\0").as_bytes()) {
    Ok(name) => name,
    Err(_) => panic!("a literal with one zero at its end"),
};

/// Places that call it are few: TensorFlow does so in two functions of each library.
const PLACES: usize = 64;
/// The real function for each place, by the address that the call returns to; written once.
static CALLERS: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];
static FUNCTIONS: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

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
    let Some(function) = function_for(caller) else { return blank_record() };
    // SAFETY: the function of this name has this type.
    let record = unsafe { core::mem::transmute::<u64, unsafe extern "C" fn() -> u64>(function)() };
    if knows_frameworks() {
        *seat::annotation() = record;
    }
    record
}

/// The real function: the caller's own library's, where it has one, since each has records of its own.
fn function_for(caller: u64) -> Option<u64> {
    let first = (caller >> 4) as usize;
    for at in (first..first + PLACES).map(|at| at % PLACES) {
        match CALLERS[at].load(Relaxed) {
            0 => break,
            // Acquire: pairs with the Release in `find`; 0 while that is under way.
            known if known == caller => match FUNCTIONS[at].load(Acquire) {
                0 => break,
                function => return Some(function),
            },
            _ => {}
        }
    }
    find(caller)
}

#[cold]
fn find(caller: u64) -> Option<u64> {
    let function = real::of_framework(caller, NAME)?;
    let first = (caller >> 4) as usize;
    for at in (first..first + PLACES).map(|at| at % PLACES) {
        match CALLERS[at].compare_exchange(0, caller, Relaxed, Relaxed) {
            Ok(_) => {
                FUNCTIONS[at].store(function, Release);
                break;
            }
            Err(other) if other == caller => break,
            Err(_) => {}
        }
    }
    Some(function)
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
