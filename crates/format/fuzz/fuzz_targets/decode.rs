//! Any bytes: an answer, and what was sound in them is a recording that reads back as itself.
#![no_main]

use heaplens_format::recording::{decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(decoded) = decode(bytes) {
        let again = decode(&encode(&decoded.recording)).expect("what we write is a recording");
        assert_eq!(again.recording, decoded.recording);
        assert_eq!(again.damage, []);
    }
});
