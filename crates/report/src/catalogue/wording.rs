//! Building blocks of texts: plurals, amounts, and lines that are broken, truncated and free of control characters.

use heaplens_format::recording::Amount;

use super::number::{count, size};

/// Lines of at most so many characters, broken between words; a longer word is not broken.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

pub(crate) fn plural(number: u64, noun: &str) -> String {
    if number == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// `3 blocks`.
pub(crate) fn plural_count(number: u64, noun: &str) -> String {
    format!("{} {}", count(number), plural(number, noun))
}

/// `4 KiB in 3 blocks`.
pub(crate) fn amount_words(amount: Amount) -> String {
    format!("{} in {}", size(amount.bytes), plural_count(amount.blocks, "block"))
}

/// A text from the program, made harmless: a newline, an escape sequence or a mark of direction in a name must not change the page.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if is_disruptive(c) { '?' } else { c }).collect()
}

/// The same where marks of direction can do no harm, and names that need them are to be read.
pub(crate) fn without_controls(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Whether a character may change how those around it are shown: control characters, ends of lines and paragraphs, and marks of direction, by
/// which text reads differently from what it is.
pub(crate) fn is_disruptive(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_change_what_is_around_them() {
        assert_eq!(one_line("a\u{1b}[31mb\nc\u{202e}d\u{2066}e\u{2028}"), "a?[31mb?c?d?e?");
        assert_eq!(one_line("naïve – Größe 数"), "naïve – Größe 数");
    }

    #[test]
    fn words_are_never_broken() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("overlong word", 3), ["overlong", "word"]);
        assert!(wrapped("", 9).is_empty());
    }
}
