//! What the script of the page reads: JSON in an element that browsers do not run. The characters that could end the element
//! or begin another are written as escapes of JSON, so that no name can escape it.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// JSON that is safe in a script element.
pub(super) fn harmless(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, Harmless))
        .expect("writing to memory does not fail");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_harmful) {
            CompactFormatter.write_string_fragment(writer, &rest[..at])?;
            let c = rest[at..].chars().next().unwrap_or_default();
            write!(writer, "\\u{:04x}", u32::from(c))?;
            rest = &rest[at + c.len_utf8()..];
        }
        CompactFormatter.write_string_fragment(writer, rest)
    }
}

/// `</script`, `<!--` and `&` of markup; the two line separators that old scripts know.
fn is_harmful(c: char) -> bool {
    matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_the_element_and_all_are_read_back() {
        let names = ["</script><script>alert(1)</script>", "<!--&amp;\u{2028}\u{2029}", "\"\\\n\u{202e}ש"];
        let written = harmless(&names);
        assert!(!written.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{written}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&written).unwrap(), names);
    }
}
