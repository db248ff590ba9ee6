//! Bytes and blocks per line, live, allocated and at the peak: exactly what the program says, with every allocator.

use crate::harness::{Heaplens, allocator, assert_exact, program, rust_program, shared_library, skip};

fn exact(source: &str) {
    Heaplens::on(&program(source), &[]).finish().expect_status(0).assert_exact();
}

/// The user's own preload comes first in his list; ours must count what it hands out all the same.
fn exact_with(test: &str, source: &str, library: &str, package: &str) {
    let Some(path) = allocator(library) else {
        return skip(test, &format!("{library} is missing (Debian package {package})"));
    };
    let run = Heaplens::on(&program(source), &[]).env("LD_PRELOAD", path).finish();
    run.expect_status(0).assert_exact();
}

macro_rules! with_every_allocator {
    ($($name:ident: $source:literal;)*) => {$(
        mod $name {
            #[test]
            fn is_exact_with_glibc() {
                super::exact($source);
            }

            #[test]
            fn is_exact_with_jemalloc() {
                let test = concat!("exactness::", stringify!($name), "::is_exact_with_jemalloc");
                super::exact_with(test, $source, "libjemalloc.so.2", "libjemalloc2");
            }

            #[test]
            fn is_exact_with_tcmalloc() {
                let test = concat!("exactness::", stringify!($name), "::is_exact_with_tcmalloc");
                super::exact_with(test, $source, "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4");
            }

            #[test]
            fn is_exact_with_mimalloc() {
                let test = concat!("exactness::", stringify!($name), "::is_exact_with_mimalloc");
                super::exact_with(test, $source, "libmimalloc.so.2.0", "libmimalloc2.0");
            }
        }
    )*};
}

with_every_allocator! {
    every_allocating_function: "basic.cpp";
    a_million_small_blocks: "many_small.c";
    blocks_freed_by_other_threads: "threads.c";
    sites_at_the_peak: "peak.c";
    sites_at_a_peak_of_four_threads: "peak_threads.c";
    allocation_while_a_thread_ends: "thread_exit.cpp";
}

#[test]
fn ten_thousand_threads_leave_what_they_left() {
    exact("ten_thousand_threads.c");
}

#[test]
fn handlers_that_allocate_are_counted() {
    exact("signals.c");
}

#[test]
fn exceptions_and_failed_allocations_change_nothing() {
    exact("exceptions.cpp");
}

#[test]
fn coroutines_on_their_own_stacks_are_counted() {
    exact("coroutines.c");
}

#[test]
fn mappings_belong_to_the_line_that_made_them() {
    exact("mappings.c");
}

#[test]
fn blocks_before_and_after_main_are_counted() {
    Heaplens::on(&program("atexit.cpp"), &[]).finish().expect_status(3).assert_exact();
}

#[test]
fn leaving_through_underscore_exit_loses_nothing() {
    Heaplens::on(&program("atexit.cpp"), &[]).arg("_exit").finish().expect_status(7).assert_exact();
}

#[test]
fn libraries_that_share_an_address_in_turn_keep_their_own_lines() {
    let (first, second) = (shared_library("plugin_first.c"), shared_library("plugin_second.c"));
    let run = Heaplens::on(&program("dlopen_loop.c"), &[]).arg(&first).arg(&second).finish().expect_status(0);
    run.assert_exact();
    let modules = run.report().sites().into_iter().flat_map(|site| site.stack).filter_map(|frame| {
        let file = frame.file.filter(|file| file.starts_with("plugin_"))?;
        Some((file, frame.module.unwrap_or_default()))
    });
    for (file, module) in modules {
        let library = format!("lib{}", file.replace(".c", ".so"));
        assert!(module.ends_with(&library), "{file} is not part of {module}");
    }
}

#[test]
fn a_rust_program_is_exact() {
    Heaplens::on(&rust_program("vectors.rs"), &[]).finish().expect_status(0).assert_exact();
}

#[test]
fn the_run_and_the_recording_give_the_same_report() {
    let run = Heaplens::on(&program("basic.cpp"), &[]).finish().expect_status(0);
    let truth = run.truth();
    assert_exact(&truth, truth.pid(), &run.report());
    assert_eq!(run.report(), run.report_on(truth.pid()));
}

/// Neither what we allocate ourselves nor what libc allocates because we asked it something.
#[test]
fn nothing_of_our_own_is_counted() {
    for program in [program("plain.c"), program("basic.cpp"), "/usr/bin/true".into()] {
        let report = Heaplens::on(&program, &[]).finish().report().whole();
        let sites = report["sites"].as_array().into_iter().flatten();
        let frames = sites.flat_map(|site| site["stack"].as_array().into_iter().flatten());
        let ours = |frame: &&serde_json::Value| {
            frame["module"].as_str().is_some_and(|path| path.contains("libheaplens"))
        };
        assert_eq!(frames.clone().filter(ours).count(), 0, "{:?}", frames.filter(ours).collect::<Vec<_>>());
    }
}
