//! What is said of an error: in Memcheck's words, which people search for and scripts match, and in a few words of our own.

use heaplens_format::Addr;
use heaplens_format::arena::error::{GENERAL_PROTECTION, NOT_MAPPED, NOT_PERMITTED};
use heaplens_format::recording::errors::{ErrorBlock, ErrorKind, MemoryError};

const INVALID_FREE: &str = "Invalid free() / delete / delete[] / realloc()";
const MISMATCHED_FREE: &str = "Mismatched free() / delete / delete []";

/// Memcheck's name of a kind, as in its XML.
pub(super) fn memcheck_kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::DoubleFree
        | ErrorKind::FreeOfNoBlock
        | ErrorKind::FreeInside
        | ErrorKind::FreeOfStack
        | ErrorKind::FreeOfStatic
        | ErrorKind::ReallocOfFreed
        | ErrorKind::FreeOfPool => "InvalidFree",
        ErrorKind::MismatchedFree => "MismatchedFree",
        ErrorKind::Overrun | ErrorKind::Underrun | ErrorKind::WriteAfterFree | ErrorKind::InvalidWrite => {
            "InvalidWrite"
        }
        ErrorKind::InvalidRead => "InvalidRead",
        ErrorKind::InvalidJump => "InvalidJump",
        ErrorKind::Overlap => "Overlap",
        ErrorKind::FishySize => "FishyValue",
        ErrorKind::ReallocZero => "ReallocSizeZero",
    }
}

/// In a few words.
pub(super) fn brief(error: &MemoryError) -> String {
    let function = error.function.name().unwrap_or("free");
    match error.kind {
        ErrorKind::DoubleFree => "double free".to_owned(),
        ErrorKind::FreeOfNoBlock => format!("{function} of an address that was never allocated"),
        ErrorKind::FreeInside => format!("{function} of a pointer into the middle of a block"),
        ErrorKind::FreeOfStack => format!("{function} of memory on the stack"),
        ErrorKind::FreeOfStatic => format!("{function} of static data"),
        ErrorKind::MismatchedFree => {
            let family = error.block.map_or("", |block| block.family.row().name);
            format!("{function} of a block from {family}")
        }
        ErrorKind::ReallocOfFreed => "realloc of a freed block".to_owned(),
        ErrorKind::FreeOfPool => format!("{function} of a block that belongs to a pool"),
        ErrorKind::Overrun => "write past the end of a block".to_owned(),
        ErrorKind::Underrun => "write before the start of a block".to_owned(),
        ErrorKind::WriteAfterFree => "write to a freed block".to_owned(),
        ErrorKind::InvalidRead if is_null(error) => "read through a null pointer".to_owned(),
        ErrorKind::InvalidWrite if is_null(error) => "write through a null pointer".to_owned(),
        ErrorKind::InvalidJump if is_null(error) => "call of a null pointer".to_owned(),
        ErrorKind::InvalidRead => "invalid read".to_owned(),
        ErrorKind::InvalidWrite => "invalid write".to_owned(),
        ErrorKind::InvalidJump => "jump to an address that has no code".to_owned(),
        ErrorKind::Overlap => format!("{function} between overlapping blocks"),
        ErrorKind::FishySize => format!("{function} of a size that was probably negative"),
        ErrorKind::ReallocZero => "realloc to size 0".to_owned(),
    }
}

/// Whether an access that ended the program was one of nothing, or of a field of it.
fn is_null(error: &MemoryError) -> bool {
    const PAGE: u64 = 4096;
    error.block.is_none() && error.extra == NOT_MAPPED && error.address.get() < PAGE
}

/// Memcheck's sentence.
pub(super) fn what(error: &MemoryError) -> String {
    let function = error.function.name().unwrap_or("malloc");
    let access =
        if error.access.get() == 0 { String::new() } else { format!(" of size {}", error.access.get()) };
    match (memcheck_kind(error.kind), error.kind) {
        ("InvalidFree", _) => INVALID_FREE.to_owned(),
        ("MismatchedFree", _) => MISMATCHED_FREE.to_owned(),
        (_, ErrorKind::Overrun | ErrorKind::Underrun | ErrorKind::WriteAfterFree) => {
            format!("Invalid write, found {}", found_at(error))
        }
        ("InvalidWrite", _) => format!("Invalid write{access}"),
        ("InvalidRead", _) => format!("Invalid read{access}"),
        ("InvalidJump", _) => "Jump to an invalid address".to_owned(),
        (_, ErrorKind::Overlap) => {
            let (to, from) = (error.address, error.extra);
            let length =
                if error.access.get() == 0 { String::new() } else { format!(", {}", error.access.get()) };
            format!("Source and destination overlap in {function}({to:#x}, {from:#x}{length})")
        }
        (_, ErrorKind::FishySize) => {
            let value = error.extra.cast_signed();
            let function = match function {
                "operator new" => "__builtin_new",
                "operator new[]" => "__builtin_vec_new",
                other => other,
            };
            let argument = if error.access.get() == 0 { "size" } else { "nmemb" };
            format!(
                "Argument '{argument}' of function {function} has a fishy (possibly negative) value: {value}"
            )
        }
        _ => "realloc() with size 0".to_owned(),
    }
}

/// When bytes were found to be changed: the write itself was not seen.
fn found_at(error: &MemoryError) -> &'static str {
    match (error.kind, error.stack.get()) {
        (ErrorKind::WriteAfterFree, _) => "in a freed block",
        (_, 0) => "when the program ended",
        _ => "when the block was freed",
    }
}

/// What Memcheck says of the address.
pub(super) fn aux(error: &MemoryError) -> String {
    let address = error.address;
    match (error.kind, error.block) {
        (ErrorKind::Overlap | ErrorKind::FishySize | ErrorKind::ReallocZero, None) => String::new(),
        (ErrorKind::FreeOfStack, _) => format!("Address {address:#x} is on a thread's stack"),
        (ErrorKind::FreeOfStatic, _) => format!("Address {address:#x} is in the data of an object file"),
        (ErrorKind::InvalidRead | ErrorKind::InvalidWrite | ErrorKind::InvalidJump, None) => {
            of_signal(error.extra, address)
        }
        (_, None) => format!("Address {address:#x} is not stack'd, malloc'd or (recently) free'd"),
        (kind, Some(block)) => of_block(error, kind, block),
    }
}

/// What Memcheck says of a program that it lets end.
fn of_signal(code: u64, address: Addr) -> String {
    match code {
        NOT_MAPPED => format!("Access not within mapped region at address {address:#x}"),
        NOT_PERMITTED => format!("Bad permissions for mapped region at address {address:#x}"),
        GENERAL_PROTECTION => {
            "General Protection Fault: the address is not canonical, or not aligned as the instruction needs it".to_owned()
        }
        _ => format!("Address {address:#x} may not be accessed"),
    }
}

fn of_block(error: &MemoryError, kind: ErrorKind, block: ErrorBlock) -> String {
    let (address, size) = (error.address.get(), block.size.get());
    let start = block.start.get();
    let end = start.saturating_add(size);
    let bytes = |count: u64| format!("{count} byte{}", if count == 1 { "" } else { "s" });
    let offset = match address {
        _ if address < start => format!("{} before", bytes(start - address)),
        _ if address < end || address == start => format!("{} inside", bytes(address - start)),
        _ => format!("{} after", bytes(address - end)),
    };
    let was_freed = error.freed.is_some()
        || matches!(kind, ErrorKind::DoubleFree | ErrorKind::ReallocOfFreed | ErrorKind::WriteAfterFree);
    let state = if was_freed { "free'd" } else { "alloc'd" };
    format!("Address {address:#x} is {offset} a block of size {size} {state}")
}
