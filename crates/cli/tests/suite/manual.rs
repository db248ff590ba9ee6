//! `heaplens man`, `heaplens completions` and `--help`: read by those who are to read them.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::harness::{Heaplens, skip};

const WORDS: [&str; 10] =
    ["run", "memcheck", "report", "diff", "snapshot", "heap", "export", "agent", "man", "completions"];

fn printed(words: &[&str]) -> String {
    let output = Heaplens::bare(words).output().expect("heaplens starts");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// What a reader says of a text; `None` when it is not installed.
fn fed(command: &mut Command, text: &str) -> Option<(bool, String)> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().ok()?;
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), said))
}

#[test]
fn help_of_every_command_ends_with_examples() {
    for word in WORDS {
        let help = printed(&[word, "--help"]);
        let (_, examples) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("{help}"));
        assert!(examples.lines().all(|line| line.starts_with("  heaplens ")), "{examples}");
        assert!(examples.contains(&format!("heaplens {word}")), "{examples}");
    }
}

/// Words of an example up to what is another command: its redirection, or what reads its output.
fn own_words(line: &str) -> Vec<String> {
    let own = line.split(" > ").next().unwrap_or(line).split(" | ").next().unwrap_or(line);
    // What stands far to the right is a remark.
    let own = own.trim().split("    ").next().unwrap_or(own);
    own.replace('\'', "").split_whitespace().map(str::to_owned).collect()
}

#[test]
fn every_option_of_an_example_is_one() {
    for word in WORDS {
        let help = printed(&[word, "--help"]);
        let (options, examples) = help.split_once("Examples:\n").expect("examples");
        for line in examples.lines() {
            let words = own_words(line);
            let own = words.iter().take_while(|word| *word != "--").filter(|word| word.starts_with('-'));
            for option in own {
                let name = option.split('=').next().unwrap_or(option);
                assert!(options.contains(name), "{word} has no {name}: {line}");
            }
        }
    }
}

#[test]
fn shells_understand_their_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&["completions", shell]);
        for word in WORDS {
            assert!(script.contains(word), "{shell} does not complete {word}");
        }
        match fed(Command::new(shell).arg("-n"), &script) {
            Some((passed, said)) => assert!(passed, "{shell}: {said}"),
            None => skip("manual::shells_understand_their_completions", &format!("{shell} is not installed")),
        }
    }
}

#[test]
fn bash_completes_a_command_and_an_option() {
    let script = printed(&["completions", "bash"]);
    let asked = |line: &str, words: &str| {
        let count = line.split(' ').count() - 1;
        format!(
            "{script}\nCOMP_WORDS=({line}) COMP_CWORD={count}; _heaplens heaplens {words}; echo \"${{COMPREPLY[*]}}\"\n"
        )
    };
    let answer = |text: &str| fed(Command::new("bash").arg("--norc"), text).expect("bash is there").1;
    assert_eq!(answer(&asked("heaplens exp", "exp heaplens")).trim(), "export");
    let formats = answer(&asked("heaplens export --format ''", "'' --format"));
    for format in ["pprof", "speedscope", "sarif", "valgrind"] {
        assert!(formats.contains(format), "{formats}");
    }
}

#[test]
fn man_formats_every_page_without_a_warning() {
    for word in WORDS {
        let page = printed(&["man", word]);
        let Some((passed, said)) = fed(Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]), &page)
        else {
            return skip("manual::man_formats_every_page_without_a_warning", "groff is not installed");
        };
        assert!(passed && said.is_empty(), "{word}: {said}");
    }
    assert!(printed(&["man"]).contains("heaplens"), "the page of heaplens itself");
}
