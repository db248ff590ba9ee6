//! The document as a whole: records first, their counts at its end.

use std::io::Read;

use super::fold::{EngineFindings, Fold};
use super::record::XmlRecord;
use super::whose::UserCode;
use super::xml::{Incomplete, Xml};

/// Begins the line of the preamble that names the version.
const USING: &str = "Using Valgrind-";

/// Reads what Memcheck writes, to its end or as far as it can be read.
pub fn read(input: &mut dyn Read, code: &UserCode) -> EngineFindings {
    let (mut xml, mut fold) = (Xml::new(input), Fold::new(code));
    let end = document(&mut xml, &mut fold);
    fold.finish(end.err())
}

fn document<R: Read>(xml: &mut Xml<R>, fold: &mut Fold<'_>) -> Result<(), Incomplete> {
    xml.root()?;
    while let Some(name) = xml.child()? {
        match name.as_str() {
            "error" => fold.add(XmlRecord::read(xml)?),
            "errorcounts" => error_counts(xml, fold)?,
            "suppcounts" => suppressed(xml, fold)?,
            "preamble" => preamble(xml, fold)?,
            "fatal_signal" => fatal_signal(xml, fold)?,
            _ => xml.skip()?,
        }
    }
    Ok(())
}

fn error_counts<R: Read>(xml: &mut Xml<R>, fold: &mut Fold<'_>) -> Result<(), Incomplete> {
    while xml.child()?.is_some() {
        let (count, unique) = pair(xml, "unique")?;
        fold.count(number(&unique), count);
    }
    Ok(())
}

fn suppressed<R: Read>(xml: &mut Xml<R>, fold: &mut Fold<'_>) -> Result<(), Incomplete> {
    while xml.child()?.is_some() {
        let (count, name) = pair(xml, "name")?;
        fold.suppress(name, count);
    }
    Ok(())
}

/// A count, and what it counts.
fn pair<R: Read>(xml: &mut Xml<R>, what: &str) -> Result<(u64, String), Incomplete> {
    let (mut count, mut counted) = (0, String::new());
    while let Some(name) = xml.child()? {
        match name.as_str() {
            "count" => count = xml.number()?,
            name if name == what => counted = xml.text()?,
            _ => xml.skip()?,
        }
    }
    Ok((count, counted))
}

fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn preamble<R: Read>(xml: &mut Xml<R>, fold: &mut Fold<'_>) -> Result<(), Incomplete> {
    while xml.child()?.is_some() {
        let line = xml.text()?;
        if let Some(rest) = line.strip_prefix(USING) {
            fold.use_version(rest.split([' ', ';']).next().unwrap_or_default());
        }
    }
    Ok(())
}

fn fatal_signal<R: Read>(xml: &mut Xml<R>, fold: &mut Fold<'_>) -> Result<(), Incomplete> {
    while let Some(name) = xml.child()? {
        match name.as_str() {
            "signame" => fold.end_by(xml.text()?),
            _ => xml.skip()?,
        }
    }
    Ok(())
}
