//! How a process becomes another program: `exec` and `posix_spawn` are hooked so that the agent follows into programs whose environment
//! was cleaned. How it ends is in `exit`.

use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int, c_void};

use heaplens_tracker::lifecycle;
use heaplens_tracker::process::follow::{self, Program};

use crate::c::real::{self, Argv};
use crate::start::is_ready;

unsafe extern "C" {
    static environ: Argv;
}

/// The program at a path; libc fails on a null one, and there is nothing to check.
unsafe fn at<'a>(path: *const c_char) -> Program<'a> {
    // SAFETY: where it is not null it is the program's own zero-terminated path, which outlives the call.
    if path.is_null() { Program::Descriptor } else { Program::Path(unsafe { CStr::from_ptr(path) }) }
}

/// The program of a name.
unsafe fn named<'a>(file: *const c_char) -> Program<'a> {
    // SAFETY: as in `at`.
    if file.is_null() { Program::Descriptor } else { Program::Name(unsafe { CStr::from_ptr(file) }) }
}

/// Calls an `exec` with the agent in its environment. Where it returns, it failed.
unsafe fn follow_exec(program: Program<'_>, envp: Argv, call: impl FnOnce(Argv) -> c_int) -> c_int {
    is_ready();
    lifecycle::before_exec();
    // SAFETY: the program's own environment, which is null-terminated.
    let status = unsafe { follow::with_agent(program, envp, call) };
    lifecycle::after_failed_exec();
    status
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn execve(path: *const c_char, argv: Argv, envp: Argv) -> c_int {
    // SAFETY: the real function with the program's own path and words.
    unsafe {
        follow_exec(at(path), envp, |envp| real::EXECVE.get().map_or(-1, |real| real(path, argv, envp)))
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, argv: Argv) -> c_int {
    // SAFETY: `execv` is `execve` with the process's own environment.
    unsafe { execve(path, argv, environ) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(file: *const c_char, argv: Argv, envp: Argv) -> c_int {
    // SAFETY: the real function with the program's own file and words.
    unsafe {
        follow_exec(named(file), envp, |envp| real::EXECVPE.get().map_or(-1, |real| real(file, argv, envp)))
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(file: *const c_char, argv: Argv) -> c_int {
    // SAFETY: `execvp` is `execvpe` with the process's own environment.
    unsafe { execvpe(file, argv, environ) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn fexecve(file: c_int, argv: Argv, envp: Argv) -> c_int {
    // SAFETY: the real function with the program's own file and words.
    unsafe {
        follow_exec(Program::Descriptor, envp, |envp| {
            real::FEXECVE.get().map_or(-1, |real| real(file, argv, envp))
        })
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn execveat(
    directory: c_int,
    path: *const c_char,
    argv: Argv,
    envp: Argv,
    flags: c_int,
) -> c_int {
    // SAFETY: the real function with the program's own arguments.
    unsafe {
        follow_exec(Program::Descriptor, envp, |envp| {
            real::EXECVEAT.get().map_or(-1, |real| real(directory, path, argv, envp, flags))
        })
    }
}

/// The variadic forms: the words in registers are pushed under those on the stack (the return address is taken off
/// first), which makes them one array, as `execv` wants it.
///
/// ```text
///   on entry   rsp ─▶ │ return │ word 6 │ word 7 │ … │ null │           rdi: path, rsi … r9: words 1 to 5
///   then       rsp ─▶ │ word 1 │ … │ word 5 │ word 6 │ word 7 │ … │ null │      r12: return address (its value: on stack)
/// ```
macro_rules! export_exec_list {
    ($($name:ident => $hook:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "pop rax",
                "push r9", "push r8", "push rcx", "push rdx", "push rsi",
                "mov rsi, rsp",
                "push rbx", "push r12",
                "mov r12, rax",
                "mov rbx, rsp",
                "and rsp, -16",
                "call {hook}",
                "mov rsp, rbx",
                "mov rdx, r12",
                "pop r12", "pop rbx",
                "add rsp, 40",
                "push rdx",
                "ret",
                hook = sym $hook)
        }
    )*};
}

export_exec_list! {
    execl => execv;
    execlp => execvp;
    execle => execute_with_last_as_environment;
}

unsafe extern "C" fn execute_with_last_as_environment(path: *const c_char, argv: Argv) -> c_int {
    let mut cursor = argv;
    // SAFETY: `execle` takes words, a null pointer, and then the environment.
    unsafe {
        while !(*cursor).is_null() {
            cursor = cursor.add(1);
        }
        execve(path, argv, (*cursor.add(1)).cast())
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    pid: *mut c_int,
    path: *const c_char,
    actions: *mut c_void,
    attributes: *mut c_void,
    argv: Argv,
    envp: Argv,
) -> c_int {
    is_ready();
    let Some(real) = real::POSIX_SPAWN.get() else { return libc::ENOSYS };
    // SAFETY: the real function with the program's own arguments.
    unsafe { follow::with_agent(at(path), envp, |envp| real(pid, path, actions, attributes, argv, envp)) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    pid: *mut c_int,
    file: *const c_char,
    actions: *mut c_void,
    attributes: *mut c_void,
    argv: Argv,
    envp: Argv,
) -> c_int {
    is_ready();
    let Some(real) = real::POSIX_SPAWNP.get() else { return libc::ENOSYS };
    // SAFETY: the real function with the program's own arguments.
    unsafe { follow::with_agent(named(file), envp, |envp| real(pid, file, actions, attributes, argv, envp)) }
}
