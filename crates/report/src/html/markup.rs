//! The text of a page. Names of tags and attributes are known at compile time; everything else is
//! escaped here, in one place, so that no name of a program can become markup.

use heaplens_format::Bytes;

use crate::catalogue::number::{count, size};
use crate::catalogue::wording::without_controls;

/// A page that is being written.
#[derive(Debug, Default)]
pub(super) struct Markup(String);

/// Attributes of an element.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Markup {
    /// Fixed markup.
    pub(super) fn fixed(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    /// A text.
    pub(super) fn text(&mut self, text: &str) {
        escape(text, &mut self.0);
    }

    /// An element around what `content` writes.
    pub(super) fn inside(
        &mut self,
        tag: &'static str,
        attributes: Attributes<'_>,
        content: impl FnOnce(&mut Self),
    ) {
        self.open(tag, attributes);
        content(self);
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push('>');
    }

    /// An element that has no content and no end.
    pub(super) fn empty(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.open(tag, attributes);
        self.0.push('\n');
    }

    /// An element with a text in it.
    pub(super) fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.inside(tag, attributes, |markup| markup.text(text));
    }

    /// A name that came from the program: its direction of writing ends with it, and controls show as question marks.
    pub(super) fn name(&mut self, text: &str) {
        self.element("bdi", &[], &without_controls(text));
    }

    /// A size as people read it, with the exact bytes beside it.
    pub(super) fn bytes(&mut self, bytes: Bytes) {
        self.exactly(bytes, &size(bytes));
    }

    /// A size in these words.
    pub(super) fn exactly(&mut self, bytes: Bytes, words: &str) {
        let exact = bytes.get().to_string();
        let title = format!("{} bytes", count(bytes.get()));
        self.element("data", &[("value", &exact), ("title", &title)], words);
    }

    /// A part of the page with a heading, which names it for screen readers.
    pub(super) fn section(&mut self, id: &'static str, heading: &str, content: impl FnOnce(&mut Self)) {
        let heading_id = format!("{id}-heading");
        self.inside("section", &[("id", id), ("aria-labelledby", &heading_id)], |markup| {
            markup.element("h2", &[("id", &heading_id)], heading);
            content(markup);
        });
    }

    /// Text that holds no element: our script or style, or data in which nothing can end the element.
    pub(super) fn verbatim(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.open(tag, attributes);
        self.0.push_str(text);
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push_str(">\n");
    }

    /// The markup.
    pub(super) fn into_text(self) -> String {
        self.0
    }

    fn open(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            escape(value, &mut self.0);
            self.0.push('"');
        }
        self.0.push('>');
    }
}

/// For texts and for attributes in double quotes. A NUL is no character of HTML.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\0' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_program_says_becomes_markup() {
        let mut markup = Markup::default();
        markup.element("p", &[("title", "\"><script>alert(1)</script>")], "</p><b>'&\0");
        let expected = "<p title=\"&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;\">&lt;/p&gt;&lt;b&gt;&#39;&amp;\u{fffd}</p>";
        assert_eq!(markup.into_text(), expected);
    }

    #[test]
    fn a_name_is_kept_apart_from_the_text_around_it() {
        let mut markup = Markup::default();
        markup.name("a\u{202e}b\nc");
        assert_eq!(markup.into_text(), "<bdi>a\u{202e}b?c</bdi>");
    }

    #[test]
    fn a_size_carries_its_bytes() {
        let mut markup = Markup::default();
        markup.bytes(Bytes::new(1_536_000));
        assert_eq!(markup.into_text(), "<data value=\"1536000\" title=\"1,536,000 bytes\">1.46 MiB</data>");
    }
}
