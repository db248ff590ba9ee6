//! Code that nobody runs, sixteen bytes for each shape of unwind information that the tracker knows: with it a stack can be
//! made up, and the rules still come from real tables by the ordinary way.

use std::arch::global_asm;

/// The bytes of one shape.
const STRIDE: u64 = 16;
/// How many there are.
const SHAPES: u64 = 16;

macro_rules! shapes {
    ($($instructions:literal)*) => {
        global_asm!(
            ".pushsection .text.heaplens_fuzz_shapes,\"ax\",@progbits",
            ".p2align 4",
            ".globl heaplens_fuzz_shapes",
            "heaplens_fuzz_shapes:",
            $(".cfi_startproc", $instructions, ".fill 16, 1, 0x90", ".cfi_endproc",)*
            ".fill 16, 1, 0x90", // covered by nothing
            ".popsection",
        );
    };
}

shapes! {
    ""                                                            // rsp + 8
    ".cfi_def_cfa_offset 16"                                      // rsp + 16
    ".cfi_def_cfa_offset 16\n.cfi_offset 6, -16"                  // behind push rbp
    ".cfi_def_cfa 6, 16\n.cfi_offset 6, -16"                      // with a frame pointer
    ".cfi_def_cfa_offset 48\n.cfi_offset 6, -24"                  // rbp saved second
    ".cfi_def_cfa 6, 32\n.cfi_offset 6, -24"
    ".cfi_def_cfa 6, 16"                                          // rbp used and not saved
    ".cfi_offset 6, -16"                                          // an epilogue: rbp's slot is in the red zone
    ".cfi_def_cfa_offset 24\n.cfi_offset 6, 8"                    // rbp saved in the caller's frame
    ".cfi_escape 0x0f,3,0x76,0x78,6\n.cfi_escape 0x10,6,2,0x76,0" // *(rbp - 8): realigned
    ".cfi_escape 0x0f,5,0x77,8,6,0x23,8"                          // *(rsp + 8) + 8
    ".cfi_escape 0x0f,11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22" // a stub of the linkage table
    ".cfi_def_cfa 10, 0"                                          // r10: the prologue of a realigned frame
    ".cfi_signal_frame"
    ".cfi_undefined 16"                                           // the outermost frame
}

unsafe extern "C" {
    #[link_name = "heaplens_fuzz_shapes"]
    static FIRST: u8;
}

/// A return address into one of the shapes.
pub fn return_address(number: u64) -> u64 {
    &raw const FIRST as u64 + number % (SHAPES * STRIDE) + 1
}
