//! One `<error>` of the XML: what Memcheck says, and its stacks, as they are written. It judges nothing.

use std::io::Read;

use super::xml::{Incomplete, Xml};
use crate::profile::{Origin, StackFrame};

/// Frames of a stack, at most (Valgrind's own limit of --num-callers).
const MOST_FRAMES: usize = 500;
/// Further sentences of a record, at most; Memcheck has three.
const MOST_AUXILIARY: usize = 8;

/// A record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct XmlRecord {
    /// Its number in this run.
    pub(super) unique: u64,
    pub(super) kind: String,
    pub(super) what: String,
    pub(super) stack: Vec<XmlFrame>,
    /// What Memcheck says besides, each with its stack or none.
    pub(super) auxiliary: Vec<(String, Vec<XmlFrame>)>,
    /// Bytes and blocks that are lost.
    pub(super) leaked: Option<(u64, u64)>,
}

/// A frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct XmlFrame {
    pub(super) address: u64,
    pub(super) module: Option<String>,
    pub(super) function: Option<String>,
    pub(super) folder: Option<String>,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
}

/// What is said besides the error itself: about the address, the block, the origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auxiliary {
    /// In Memcheck's words.
    pub what: String,
    /// Its stack, innermost frame first; empty where there is none.
    pub stack: Vec<StackFrame>,
}

impl XmlRecord {
    /// Reads the element that is open.
    pub(super) fn read<R: Read>(xml: &mut Xml<R>) -> Result<Self, Incomplete> {
        let mut record = Self::default();
        while let Some(name) = xml.child()? {
            match name.as_str() {
                "unique" => record.unique = xml.number()?,
                "kind" => record.kind = xml.text()?,
                "what" => record.what = xml.text()?,
                "xwhat" => record.extended(xml)?,
                "auxwhat" => {
                    let what = xml.text()?;
                    record.say(what);
                }
                "xauxwhat" => {
                    let what = text_of(xml)?;
                    record.say(what);
                }
                "stack" => {
                    let stack = stack(xml)?;
                    record.put(stack);
                }
                _ => xml.skip()?,
            }
        }
        Ok(record)
    }

    /// `<xwhat>`: a sentence, and what is lost.
    fn extended<R: Read>(&mut self, xml: &mut Xml<R>) -> Result<(), Incomplete> {
        let (mut bytes, mut blocks) = (None, None);
        while let Some(name) = xml.child()? {
            match name.as_str() {
                "text" => self.what = xml.text()?,
                "leakedbytes" => bytes = Some(xml.number()?),
                "leakedblocks" => blocks = Some(xml.number()?),
                _ => xml.skip()?,
            }
        }
        self.leaked = bytes.zip(blocks);
        Ok(())
    }

    fn say(&mut self, what: String) {
        if self.auxiliary.len() < MOST_AUXILIARY {
            self.auxiliary.push((what, Vec::new()));
        }
    }

    /// A stack belongs to the sentence before it.
    fn put(&mut self, stack: Vec<XmlFrame>) {
        match self.auxiliary.last_mut() {
            Some((_, of)) if of.is_empty() => *of = stack,
            None if self.stack.is_empty() => self.stack = stack,
            // No sentence goes with it.
            _ => {}
        }
    }

    /// Its stack and those that go with it.
    pub(super) fn stacks(&self) -> impl Iterator<Item = &Vec<XmlFrame>> {
        std::iter::once(&self.stack).chain(self.auxiliary.iter().map(|(_, stack)| stack))
    }
}

fn text_of<R: Read>(xml: &mut Xml<R>) -> Result<String, Incomplete> {
    let mut text = String::new();
    while let Some(name) = xml.child()? {
        match name.as_str() {
            "text" => text = xml.text()?,
            _ => xml.skip()?,
        }
    }
    Ok(text)
}

fn stack<R: Read>(xml: &mut Xml<R>) -> Result<Vec<XmlFrame>, Incomplete> {
    let mut stack = Vec::new();
    while let Some(name) = xml.child()? {
        if name == "frame" && stack.len() < MOST_FRAMES {
            stack.push(frame(xml)?);
        } else {
            xml.skip()?;
        }
    }
    Ok(stack)
}

fn frame<R: Read>(xml: &mut Xml<R>) -> Result<XmlFrame, Incomplete> {
    let mut frame = XmlFrame::default();
    while let Some(name) = xml.child()? {
        match name.as_str() {
            "ip" => frame.address = xml.number()?,
            "obj" => frame.module = Some(xml.text()?),
            "fn" => frame.function = Some(xml.text()?),
            "dir" => frame.folder = Some(xml.text()?),
            "file" => frame.file = Some(xml.text()?),
            "line" => frame.line = u32::try_from(xml.number()?).ok().filter(|line| *line > 0),
            _ => xml.skip()?,
        }
    }
    Ok(frame)
}

impl XmlFrame {
    /// The same as the frames of a recording are.
    pub(super) fn to_frame(&self) -> StackFrame {
        let file = self.file.as_deref().map(|file| match self.folder.as_deref() {
            Some(folder) if !file.starts_with('/') => format!("{}/{file}", folder.trim_end_matches('/')),
            _ => file.to_owned(),
        });
        StackFrame {
            origin: Origin::Native,
            function: self.function.as_deref().map(Into::into),
            file: file.map(Into::into),
            line: self.line,
            module: self.module.as_deref().map(Into::into),
            // Where the object file was loaded is not said: the address is that of the process.
            offset: if self.module.is_some() { 0 } else { self.address },
        }
    }
}
