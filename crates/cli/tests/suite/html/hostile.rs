//! Names that would be markup, if the page took them as such.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use super::browser::{labels, opened};
use super::page;
use crate::harness::{Heaplens, program};
use crate::python::{interpreters, script};

#[test]
fn names_of_a_python_program_are_read_and_do_nothing() {
    let test = "html::hostile::names_of_a_python_program_are_read_and_do_nothing";
    let run = Heaplens::on(interpreters::any(), &["-q"]).arg(script("hostile_names.py"));
    let run = run.arg("\"><script>window.ran=6</script>").arg(OsStr::from_bytes(b"\xff\xfe<b>"));
    let run = run.finish().expect_status(0);
    let file = page(&run);
    let written = std::fs::read_to_string(&file).expect("UTF-8");
    assert_eq!(written.matches("<script").count(), 2, "the data and the script");
    assert_eq!(written.matches("<img").count() + written.matches("<svg").count(), 0);
    let Some(seen) = opened(test, &file, "<script>") else { return };
    seen.assert_quiet();
    let text = seen.text();
    for name in [
        "<script>window.ran=1;alert(1)</script>",
        "<img src=x onerror=window.ran=2>",
        "</script><script>window.ran=3</script>",
        "&lt;b&gt;&amp;&#39; {{7*7}} ${7*7} javascript:alert(1)",
        "\u{202e}\u{5e9}\u{5dc}\u{5d5}\u{5dd} left to right again",
        "\"><script>window.ran=6</script>",
        "</script><script>window.ran=5</script> is what this line says",
    ] {
        assert!(text.contains(name), "{name} is to be read: {text}");
    }
    let hits = labels(&seen.0["flame"]["hits"]);
    assert!(hits.iter().any(|hit| hit.starts_with("<script>window.ran=1;alert(1)</script>")), "{hits:?}");
    let python = labels(&seen.0["flame"]["python"]);
    let long = python.iter().find(|label| label.starts_with("outer<std::pair<int")).expect("the long name");
    assert!(long.chars().count() < 400, "it is cut: {long}");
}

#[test]
fn symbols_of_a_native_program_are_read_and_do_nothing() {
    let test = "html::hostile::symbols_of_a_native_program_are_read_and_do_nothing";
    let run = Heaplens::on(&renamed(), &["-q"]).finish().expect_status(0);
    let Some(seen) = opened(test, &page(&run), "<img") else { return };
    seen.assert_quiet();
    let hits = labels(&seen.0["flame"]["hits"]);
    assert!(hits.iter().any(|hit| hit.starts_with("<img src=x onerror=window.ran=1>, ")), "{hits:?}");
    let whole = labels(&seen.0["flame"]["whole"]);
    assert!(
        whole.iter().any(|label| label.starts_with("not\u{fffd}\u{fffd}utf8\"'></script>, ")),
        "{whole:?}"
    );
}

/// A program whose functions have other names: with markup in one, with bytes that are no text in another.
fn renamed() -> std::path::PathBuf {
    let plain = program("sampled.c");
    let other = plain.with_file_name("hostile <i>symbols</i>".replace('/', "_"));
    let mut command = Command::new("objcopy");
    // Names of DWARF would come first.
    command.arg("--strip-debug");
    command.args(["--redefine-sym", "large=<img src=x onerror=window.ran=1>", "--redefine-sym"]);
    command.arg(OsStr::from_bytes(b"middle=not\xff\xfeutf8\"'></script>")).arg(&plain).arg(&other);
    assert!(command.status().expect("binutils are there").success());
    other
}
