//! Elements of an XML document, one after the other. It knows no element's meaning, keeps nothing, and checks that each one ends.

use std::io::Read;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

use super::limited::Limited;

/// Why a document was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// There was none.
    Empty,
    /// It ends in the middle.
    CutOff,
    /// It cannot be read further.
    Malformed {
        /// Bytes read.
        at: u64,
        /// Why.
        why: String,
    },
}

/// A document that is being read.
pub(super) struct Xml<R> {
    reader: Reader<Limited<R>>,
    buffer: Vec<u8>,
}

/// What comes next.
enum XmlEvent {
    Opened(String),
    Text(String),
    Closed,
    End,
}

impl<R: Read> Xml<R> {
    pub(super) fn new(input: R) -> Self {
        let mut reader = Reader::from_reader(Limited::new(input));
        reader.config_mut().expand_empty_elements = true;
        Self { reader, buffer: Vec::new() }
    }

    /// The name of the outermost element.
    pub(super) fn root(&mut self) -> Result<String, Incomplete> {
        loop {
            match self.next()? {
                XmlEvent::Opened(name) => return Ok(name),
                XmlEvent::Text(text) if text.trim().is_empty() => {}
                XmlEvent::Text(_) | XmlEvent::Closed => return Err(self.malformed("no XML document")),
                XmlEvent::End => return Err(Incomplete::Empty),
            }
        }
    }

    /// The name of the next element inside the one that is open; `None` where that ends.
    pub(super) fn child(&mut self) -> Result<Option<String>, Incomplete> {
        loop {
            match self.next()? {
                XmlEvent::Opened(name) => return Ok(Some(name)),
                XmlEvent::Text(_) => {}
                XmlEvent::Closed => return Ok(None),
                XmlEvent::End => return Err(Incomplete::CutOff),
            }
        }
    }

    /// The text of the element that is open, up to its end.
    pub(super) fn text(&mut self) -> Result<String, Incomplete> {
        let mut whole = String::new();
        loop {
            match self.next()? {
                XmlEvent::Opened(_) => self.skip()?,
                XmlEvent::Text(text) if whole.is_empty() => whole = text,
                XmlEvent::Text(text) => whole.push_str(&text),
                XmlEvent::Closed => return Ok(whole.trim().to_owned()),
                XmlEvent::End => return Err(Incomplete::CutOff),
            }
        }
    }

    /// A number, as decimals or after `0x`; 0 where there is none.
    pub(super) fn number(&mut self) -> Result<u64, Incomplete> {
        let text = self.text()?;
        let hexadecimal = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
        Ok(hexadecimal.unwrap_or_else(|| text.parse()).unwrap_or(0))
    }

    /// Leaves out the element that is open.
    pub(super) fn skip(&mut self) -> Result<(), Incomplete> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next()? {
                XmlEvent::Opened(_) => depth += 1,
                XmlEvent::Closed => depth -= 1,
                XmlEvent::Text(_) => {}
                XmlEvent::End => return Err(Incomplete::CutOff),
            }
        }
        Ok(())
    }

    fn malformed(&self, why: impl ToString) -> Incomplete {
        Incomplete::Malformed { at: self.reader.buffer_position(), why: why.to_string() }
    }

    fn next(&mut self) -> Result<XmlEvent, Incomplete> {
        loop {
            self.buffer.clear();
            self.reader.get_mut().renew();
            let piece = match self.reader.read_event_into(&mut self.buffer) {
                Ok(event) => piece(&event),
                // A tag, a reference or the like that is not closed.
                Err(_) if at_end(&mut self.reader) => return Err(Incomplete::CutOff),
                Err(error) => return Err(self.malformed(error)),
            };
            if let Some(piece) = piece {
                return Ok(piece);
            }
        }
    }
}

fn at_end<R: Read>(reader: &mut Reader<Limited<R>>) -> bool {
    std::io::BufRead::fill_buf(reader.get_mut()).is_ok_and(<[u8]>::is_empty)
}

/// `None`: nothing that counts.
fn piece(event: &Event<'_>) -> Option<XmlEvent> {
    match event {
        Event::Start(tag) | Event::Empty(tag) => Some(XmlEvent::Opened(tag.name().as_ref().to_owned())),
        Event::End(_) => Some(XmlEvent::Closed),
        Event::Text(text) => Some(XmlEvent::Text(text.to_string())),
        Event::CData(text) => Some(XmlEvent::Text(text.to_string())),
        Event::GeneralRef(name) => {
            let known = resolve_predefined_entity(name).map(str::to_owned);
            let character = || name.resolve_char_ref().ok().flatten().map(String::from);
            known.or_else(character).map(XmlEvent::Text)
        }
        Event::Eof => Some(XmlEvent::End),
        Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => None,
    }
}
