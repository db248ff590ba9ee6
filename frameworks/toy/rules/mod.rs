//! The one cause of growth in programs that use the framework of the tests.

include!(concat!(env!("OUT_DIR"), "/toy_rules.rs"));
