//! The functions behind our hooks: those that the program would have called without us.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicUsize};

use heaplens_tracker::{Nesting, modules};

/// A function that is looked up after us in the search order.
pub struct Real<F> {
    address: AtomicUsize,
    name: &'static CStr,
    signature: core::marker::PhantomData<F>,
}

// SAFETY: only the address is shared, and it is an atomic.
unsafe impl<F> Sync for Real<F> {}

impl<F: Copy> Real<F> {
    pub const fn new(name: &'static CStr) -> Self {
        const { assert!(size_of::<F>() == size_of::<usize>(), "a function pointer") };
        Self { address: AtomicUsize::new(0), name, signature: core::marker::PhantomData }
    }

    pub(super) fn resolve(&self) {
        // SAFETY: the name is zero-terminated.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(address as usize, Relaxed);
    }

    /// The function, where there is one.
    #[inline(always)]
    pub fn get(&self) -> Option<F> {
        let address = self.address.load(Relaxed);
        // SAFETY: `F` is a function pointer type (checked in `new`), and the symbol of this name has its signature.
        (address != 0).then(|| unsafe { core::mem::transmute_copy(&address) })
    }

    /// Where the function is; 0 where there is none.
    pub fn address(&self) -> usize {
        self.address.load(Relaxed)
    }

    /// Puts another function in place of the real one, which is returned.
    pub fn replace(&self, function: usize) -> usize {
        self.address.swap(function, Relaxed)
    }

    /// The function, looked up again where it was not found: the library may have been loaded meanwhile, but into a
    /// scope of its own.
    pub fn get_late(&self, libraries: &[&CStr]) -> Option<F> {
        if self.get().is_none() {
            self.resolve();
        }
        for library in libraries {
            if self.get().is_some() {
                break;
            }
            // SAFETY: RTLD_NOLOAD only finds what is loaded; the names are zero-terminated.
            unsafe {
                let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
                if !handle.is_null() {
                    self.address.store(libc::dlsym(handle, self.name.as_ptr()) as usize, Relaxed);
                }
            }
        }
        self.get()
    }
}

macro_rules! real_functions {
    ($($name:ident: $symbol:literal, $signature:ty;)*) => {
        $(pub static $name: Real<$signature> = Real::new($symbol);)*

        fn resolve_all() {
            $($name.resolve();)*
        }
    };
}

type Size = usize;
type Block = *mut c_void;
pub type Argv = *const *const c_char;

real_functions! {
    MALLOC: c"malloc", unsafe extern "C" fn(Size) -> Block;
    CALLOC: c"calloc", unsafe extern "C" fn(Size, Size) -> Block;
    REALLOC: c"realloc", unsafe extern "C" fn(Block, Size) -> Block;
    REALLOCARRAY: c"reallocarray", unsafe extern "C" fn(Block, Size, Size) -> Block;
    FREE: c"free", unsafe extern "C" fn(Block);
    POSIX_MEMALIGN: c"posix_memalign", unsafe extern "C" fn(*mut Block, Size, Size) -> c_int;
    ALIGNED_ALLOC: c"aligned_alloc", unsafe extern "C" fn(Size, Size) -> Block;
    MEMALIGN: c"memalign", unsafe extern "C" fn(Size, Size) -> Block;
    VALLOC: c"valloc", unsafe extern "C" fn(Size) -> Block;
    PVALLOC: c"pvalloc", unsafe extern "C" fn(Size) -> Block;
    MALLOC_USABLE_SIZE: c"malloc_usable_size", unsafe extern "C" fn(Block) -> Size;
    MMAP: c"mmap", unsafe extern "C" fn(Block, Size, c_int, c_int, c_int, i64) -> Block;
    MREMAP: c"mremap", unsafe extern "C" fn(Block, Size, Size, c_int, Block) -> Block;
    MUNMAP: c"munmap", unsafe extern "C" fn(Block, Size) -> c_int;
    BRK: c"brk", unsafe extern "C" fn(Block) -> c_int;
    SBRK: c"sbrk", unsafe extern "C" fn(isize) -> Block;
    PRCTL: c"prctl", unsafe extern "C" fn(c_int, usize, usize, usize, usize) -> c_int;
    MLOCKALL: c"mlockall", unsafe extern "C" fn(c_int) -> c_int;
    SETRLIMIT: c"setrlimit", unsafe extern "C" fn(c_int, *const c_void) -> c_int;
    PRLIMIT: c"prlimit", unsafe extern "C" fn(c_int, c_int, *const c_void, *mut c_void) -> c_int;
    DLCLOSE: c"dlclose", unsafe extern "C" fn(Block) -> c_int;
    EXECVE: c"execve", unsafe extern "C" fn(*const c_char, Argv, Argv) -> c_int;
    EXECVPE: c"execvpe", unsafe extern "C" fn(*const c_char, Argv, Argv) -> c_int;
    FEXECVE: c"fexecve", unsafe extern "C" fn(c_int, Argv, Argv) -> c_int;
    EXECVEAT: c"execveat", unsafe extern "C" fn(c_int, *const c_char, Argv, Argv, c_int) -> c_int;
    POSIX_SPAWN: c"posix_spawn", unsafe extern "C" fn(*mut c_int, *const c_char, Block, Block, Argv, Argv) -> c_int;
    POSIX_SPAWNP: c"posix_spawnp", unsafe extern "C" fn(*mut c_int, *const c_char, Block, Block, Argv, Argv) -> c_int;
    MALLOC_TRIM: c"malloc_trim", unsafe extern "C" fn(Size) -> c_int;
    EXIT: c"exit", unsafe extern "C" fn(c_int) -> !;
    EXIT_NOW: c"_exit", unsafe extern "C" fn(c_int) -> !;
    QUICK_EXIT: c"quick_exit", unsafe extern "C" fn(c_int) -> !;
    ABORT: c"abort", unsafe extern "C" fn(c_int) -> !;
    SIGACTION: c"sigaction", unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    RAISE: c"raise", unsafe extern "C" fn(c_int) -> c_int;
    SIGNAL: c"signal", unsafe extern "C" fn(c_int, usize) -> usize;
    BSD_SIGNAL: c"bsd_signal", unsafe extern "C" fn(c_int, usize) -> usize;
    SYSV_SIGNAL: c"__sysv_signal", unsafe extern "C" fn(c_int, usize) -> usize;
    SIGSET: c"sigset", unsafe extern "C" fn(c_int, usize) -> usize;
}

/// The real `syscall` and `__libc_start_main`, for hooks that jump there with all arguments in place.
pub static SYSCALL: AtomicUsize = AtomicUsize::new(0);
pub static START: AtomicUsize = AtomicUsize::new(0);

/// Whether `malloc` is not glibc's own, whose blocks never share a 32-byte granule and which calls none of our hooks.
pub static OTHER_ALLOCATOR: AtomicBool = AtomicBool::new(false);

/// Other allocators call `mmap` and each other inside; glibc's calls nothing that we hook.
#[inline(always)]
pub fn allocator_nesting() -> Nesting {
    if OTHER_ALLOCATOR.load(Relaxed) { Nesting::Expected } else { Nesting::Never }
}

/// Where the dynamic linker's code is.
static LOADER: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Whether an address is in the dynamic linker.
#[inline(always)]
pub fn is_in_loader(address: usize) -> bool {
    let (start, end) = (LOADER[0].load(Relaxed), LOADER[1].load(Relaxed));
    address.wrapping_sub(start) < end.wrapping_sub(start)
}

/// Whether a function is the allocator's own.
pub fn is_of_allocator(address: *mut c_void) -> bool {
    let (own, other) = (modules::range_of(ALLOCATOR.load(Relaxed) as u64), modules::range_of(address as u64));
    own.is_some() && own == other
}

/// The real `malloc`, whatever comes in its place.
static ALLOCATOR: AtomicUsize = AtomicUsize::new(0);

/// Finds the dynamic linker by a function that it defines.
fn find_loader() {
    unsafe extern "C" {
        fn _dl_find_object(address: *mut c_void, result: *mut c_void) -> c_int;
    }
    if let Some((start, end)) = modules::range_of(_dl_find_object as *const () as u64) {
        LOADER[0].store(start as usize, Relaxed);
        LOADER[1].store(end as usize, Relaxed);
    }
}

/// Whether the program calls a `malloc` that is not ours: its executable defines one, which comes first.
pub fn has_own_malloc() -> bool {
    !is_ours(c"malloc")
}

/// Whether a call by this name, from wherever it comes, is a call of our hook. An executable at a fixed address that takes
/// the address of a function stands in for it in every look-up, without defining it: a jump to ours.
pub fn is_ours(name: &CStr) -> bool {
    // SAFETY: a zero-terminated name.
    let called = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as u64;
    // Our exports can be interposed like any other, so that their names do not lead to them; this function's does.
    let own = modules::range_of(resolve as *const () as u64);
    own.is_some_and(|(start, end)| (start..end).contains(&called)) || !modules::defines(called, name)
}

/// Looks up all functions, and whose allocator it is.
pub fn resolve() {
    resolve_all();
    for (address, name) in [(&SYSCALL, c"syscall"), (&START, c"__libc_start_main")] {
        // SAFETY: a zero-terminated name.
        address.store(unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize, Relaxed);
    }
    find_loader();
    // By the address of a function that nobody else defines, not by `dlopen`: that would allocate, maybe from an allocator that is starting up above us.
    let module = |address: usize| modules::range_of(address as u64);
    let is_glibc = module(MALLOC.address.load(Relaxed)) == module(libc::atoi as *const () as usize);
    OTHER_ALLOCATOR.store(!is_glibc, Relaxed);
    ALLOCATOR.store(MALLOC.address.load(Relaxed), Relaxed);
}
