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

/// A text from the program, made harmless: a newline or an escape sequence in a name must not change the page.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
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
    fn words_are_never_broken() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("overlong word", 3), ["overlong", "word"]);
        assert!(wrapped("", 9).is_empty());
    }
}
