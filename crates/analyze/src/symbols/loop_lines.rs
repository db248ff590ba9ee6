//! The lines of loops, while their source is at hand: before Python 3.10 the instructions of `while True` have the lines of
//! its body only, and the loop begins further up.

use std::collections::HashMap;
use std::sync::Arc;

use heaplens_format::recording::{Process, Recording};

/// How many lines a loop may begin before the first statement of its body.
const FARTHEST: usize = 20;

/// Gives loops the line that their keyword is in.
pub fn settle_loop_lines(recording: &mut Recording) {
    let mut sources = HashMap::new();
    recording.processes.iter_mut().for_each(|process| settle(process, &mut sources));
}

fn settle(process: &mut Process, sources: &mut HashMap<Arc<str>, Option<String>>) {
    for one in &mut process.loops {
        let code = (one.code.get() as usize).checked_sub(1).and_then(|at| process.codes.get(at));
        let Some(file) = code.map(|code| code.file.clone()) else { continue };
        let source = sources.entry(file).or_insert_with_key(|file| std::fs::read_to_string(&**file).ok());
        if let Some(line) = source.as_deref().and_then(|source| line_of_keyword(source, one.line)) {
            one.line = line;
        }
    }
}

/// The line of the keyword whose body a line is in; `None` where it is there already or cannot be found.
fn line_of_keyword(source: &str, line: u32) -> Option<u32> {
    let lines: Vec<&str> = source.lines().take(line as usize).collect();
    let (body, above) = lines.split_last()?;
    if has_keyword(body) || lines.len() < line as usize {
        return None;
    }
    let nearby = above.iter().rev().take(FARTHEST).zip((1..line).rev());
    let mut outer = nearby.filter(|(text, _)| !is_empty(text) && indent(text) < indent(body));
    outer.next().filter(|(text, _)| has_keyword(text)).map(|(_, number)| number)
}

/// A loop, or a comprehension, whose keyword may stand anywhere.
fn has_keyword(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "for" || word == "while")
}

fn is_empty(text: &str) -> bool {
    matches!(text.trim_start().chars().next(), None | Some('#'))
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        "n = 0\nwhile True:\n    # on and on\n\n    n += 1\n    if n > 5:\n        break\nprint(n)\n";

    #[test]
    fn the_line_of_a_body_becomes_that_of_its_keyword() {
        assert_eq!(line_of_keyword(SOURCE, 5), Some(2));
    }

    #[test]
    fn a_line_with_the_keyword_stays() {
        assert_eq!(line_of_keyword(SOURCE, 2), None);
        assert_eq!(line_of_keyword("rows = [f(x)\n        for x in y]\n", 2), None);
    }

    #[test]
    fn a_line_that_is_in_no_loop_stays() {
        assert_eq!(line_of_keyword(SOURCE, 8), None, "not further in than what is above");
        assert_eq!(line_of_keyword(SOURCE, 7), None, "what is around it is no loop");
        assert_eq!(line_of_keyword(SOURCE, 99), None, "the source has changed");
        assert_eq!(line_of_keyword("", 1), None);
    }
}
