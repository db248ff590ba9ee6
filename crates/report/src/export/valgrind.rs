//! Memory errors and lost blocks in Valgrind's XML (protocol 4, tool memcheck), which build servers and development environments read.

use std::io::{self, Write};

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{AnalysedError, LeakRecord, Leaks, StackFrame};
use heaplens_analyze::suppressions::{Generated, Names, UNNAMED};
use heaplens_format::recording::LeakKind;
use quick_xml::Writer;
use quick_xml::events::{BytesCData, BytesDecl, BytesText, Event};

use crate::catalogue::errors;
use crate::catalogue::leaks::{name, suppression};
use crate::catalogue::number::count;
use crate::catalogue::wording::one_line;

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlOptions<'a> {
    /// Kinds that are written.
    pub kinds: Vec<LeakKind>,
    /// Frames of a stack.
    pub callers: usize,
    /// The command line up to the program, beginning with heaplens.
    pub own_words: Vec<String>,
    /// The user's comment, copied.
    pub comment: Option<String>,
    /// What Valgrind calls the frames, where a suppression is to follow each stack.
    pub suppressions: Option<&'a Names>,
}

/// Writes the file.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, options: &XmlOptions<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut xml = Xml(Writer::new_with_indent(out, b' ', 2));
    xml.0.write_event(Event::Decl(BytesDecl::new("1.0", None, None)))?;
    xml.inside("valgrindoutput", |xml| {
        xml.text("protocolversion", "4")?;
        xml.text("protocoltool", "memcheck")?;
        xml.head(profile, options)?;
        xml.memory_errors(profile, options)?;
        xml.finished(profile)?;
        xml.leaks(profile, options)?;
        xml.inside("errorcounts", |xml| xml.counts(profile))?;
        xml.suppressed(profile)
    })?;
    writeln!(xml.0.into_inner())
}

struct Xml<'a>(Writer<&'a mut dyn Write>);

impl Xml<'_> {
    fn inside(&mut self, name: &str, write: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        self.0.write_event(Event::Start(quick_xml::events::BytesStart::new(name)))?;
        write(self)?;
        self.0.write_event(Event::End(quick_xml::events::BytesEnd::new(name)))
    }

    fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        // Characters that XML cannot hold at all: a name of a file may have them.
        let sound = one_line(text);
        self.0.create_element(name).write_text_content(BytesText::new(&sound)).map(|_| ())
    }

    fn head(&mut self, profile: &Profile, options: &XmlOptions<'_>) -> io::Result<()> {
        let row = profile.shown();
        let command = row.map_or(&profile.run.command, |row| &row.command);
        self.inside("preamble", |xml| {
            xml.text(
                "line",
                &format!("Heaplens {}, memory errors and lost blocks", env!("CARGO_PKG_VERSION")),
            )?;
            xml.text("line", &format!("Command: {}", command.join(" ")))?;
            match not_done(profile) {
                Some(why) => xml.text("line", &format!("No leak check: {why}")),
                None => Ok(()),
            }
        })?;
        self.text("pid", &row.map_or(0, |row| row.pid.get()).to_string())?;
        self.text("ppid", &row.map_or(0, |row| row.parent.get()).to_string())?;
        self.text("tool", "memcheck")?;
        if let Some(comment) = &options.comment {
            self.text("usercomment", comment)?;
        }
        self.inside("args", |xml| {
            xml.inside("vargv", |xml| xml.words(&options.own_words))?;
            xml.inside("argv", |xml| xml.words(command))
        })?;
        self.inside("status", |xml| xml.moment("RUNNING", 0))
    }

    /// Whose end was not seen has not finished: that there are no errors is not known.
    fn finished(&mut self, profile: &Profile) -> io::Result<()> {
        match not_done(profile) {
            Some(_) => Ok(()),
            None => self.inside("status", |xml| xml.moment("FINISHED", profile.run.wall.get() / 1_000_000)),
        }
    }

    fn words(&mut self, words: &[String]) -> io::Result<()> {
        let Some((first, rest)) = words.split_first() else { return Ok(()) };
        self.text("exe", first)?;
        rest.iter().try_for_each(|word| self.text("arg", word))
    }

    /// `days:hours:minutes:seconds.milliseconds`.
    fn moment(&mut self, state: &str, ms: u64) -> io::Result<()> {
        self.text("state", state)?;
        let (seconds, minutes, hours) = (ms / 1000 % 60, ms / 60_000 % 60, ms / 3_600_000 % 24);
        let days = ms / 86_400_000;
        self.text("time", &format!("{days:02}:{hours:02}:{minutes:02}:{seconds:02}.{:03}", ms % 1000))
    }

    /// Each with its stacks in the order of Memcheck: what and where, then what is known of the block.
    fn memory_errors(&mut self, profile: &Profile, options: &XmlOptions<'_>) -> io::Result<()> {
        for (number, error) in profile.errors.reported.iter().enumerate() {
            self.inside("error", |xml| xml.memory_error(number, error, options))?;
        }
        Ok(())
    }

    fn memory_error(
        &mut self,
        number: usize,
        error: &AnalysedError,
        options: &XmlOptions<'_>,
    ) -> io::Result<()> {
        self.text("unique", &format!("{number:#x}"))?;
        self.text("tid", "1")?;
        self.text("kind", &error.memcheck_kind)?;
        for (at, section) in error.sections().iter().enumerate() {
            self.text(if at == 0 { "what" } else { "auxwhat" }, section.text)?;
            if at == 0 || !section.stack.is_empty() {
                self.inside("stack", |xml| {
                    section.stack.iter().take(options.callers).try_for_each(|frame| xml.frame(frame))
                })?;
            }
        }
        let Some(names) = options.suppressions else { return Ok(()) };
        self.suppression(&errors::suppression(error, names, options.callers))
    }

    /// How often each was made.
    fn counts(&mut self, profile: &Profile) -> io::Result<()> {
        for (number, error) in profile.errors.reported.iter().enumerate() {
            self.inside("pair", |xml| {
                xml.text("count", &error.count.to_string())?;
                xml.text("unique", &format!("{number:#x}"))
            })?;
        }
        Ok(())
    }

    fn leaks(&mut self, profile: &Profile, options: &XmlOptions<'_>) -> io::Result<()> {
        let Some(Leaks::Done(records)) = &profile.leaks else { return Ok(()) };
        let shown: Vec<&LeakRecord> =
            records.iter().filter(|record| options.kinds.contains(&record.kind)).collect();
        let first = profile.errors.reported.len();
        for (number, record) in shown.iter().enumerate() {
            self.inside("error", |xml| {
                xml.text("unique", &format!("{:#x}", first + number))?;
                xml.text("tid", "1")?;
                xml.text("kind", kind(record.kind))?;
                xml.inside("xwhat", |xml| {
                    xml.text("text", &what(record, number + 1, shown.len()))?;
                    xml.text("leakedbytes", &record.bytes().to_string())?;
                    xml.text("leakedblocks", &record.direct.blocks.to_string())
                })?;
                xml.inside("stack", |xml| {
                    profile.frames(record.stack).take(options.callers).try_for_each(|frame| xml.frame(frame))
                })?;
                let Some(names) = options.suppressions else { return Ok(()) };
                xml.suppression(&suppression(profile, record, names, options.callers))
            })?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: &StackFrame) -> io::Result<()> {
        self.inside("frame", |xml| {
            xml.text("ip", &format!("{:#X}", frame.offset).replace("0X", "0x"))?;
            if let Some(module) = frame.module.as_deref() {
                xml.text("obj", module)?;
            }
            if let Some(function) = frame.function.as_deref() {
                xml.text("fn", function)?;
            }
            let Some(file) = frame.file.as_deref() else { return Ok(()) };
            let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
            if !folder.is_empty() {
                xml.text("dir", folder)?;
            }
            xml.text("file", name)?;
            frame.line.map_or(Ok(()), |line| xml.text("line", &line.to_string()))
        })
    }

    fn suppression(&mut self, suppression: &Generated) -> io::Result<()> {
        self.inside("suppression", |xml| {
            xml.text("sname", UNNAMED)?;
            xml.text("skind", &format!("Memcheck:{}", suppression.what))?;
            if let Some(kind) = suppression.kind {
                xml.text("skaux", &format!("match-leak-kinds: {kind}"))?;
            }
            for frame in &suppression.frames {
                // The schema has elements for functions and objects alone.
                if let Some((kind, name)) = frame.split_once(':') {
                    xml.inside("sframe", |xml| xml.text(kind, name))?;
                }
            }
            let raw = format!("\n{suppression}");
            xml.0.create_element("rawtext").write_cdata_content(BytesCData::new(raw)).map(|_| ())
        })
    }

    fn suppressed(&mut self, profile: &Profile) -> io::Result<()> {
        self.inside("suppcounts", |xml| {
            let leaks = profile.suppressed.iter().map(|(name, amount)| (name, amount.blocks));
            let errors = profile.errors.suppressed.iter().map(|(name, count)| (name, *count));
            leaks.chain(errors).try_for_each(|(name, count)| {
                xml.inside("pair", |xml| {
                    xml.text("count", &count.to_string())?;
                    xml.text("name", name)
                })
            })
        })
    }
}

/// Why there was no leak check.
fn not_done(profile: &Profile) -> Option<&str> {
    match &profile.leaks {
        Some(Leaks::NotDone(why)) => Some(why),
        _ => None,
    }
}

fn kind(kind: LeakKind) -> &'static str {
    match kind {
        LeakKind::DefinitelyLost => "Leak_DefinitelyLost",
        LeakKind::IndirectlyLost => "Leak_IndirectlyLost",
        LeakKind::PossiblyLost => "Leak_PossiblyLost",
        LeakKind::StillReachable => "Leak_StillReachable",
    }
}

/// The sentence that readers of Memcheck's output know, and some of them parse.
fn what(record: &LeakRecord, number: usize, of: usize) -> String {
    let bytes = match record.indirect.bytes.get() {
        0 => count(record.direct.bytes.get()),
        indirect => format!(
            "{} ({} direct, {} indirect)",
            count(record.bytes()),
            count(record.direct.bytes.get()),
            count(indirect)
        ),
    };
    let blocks = count(record.direct.blocks);
    let name = name(record.kind);
    format!(
        "{bytes} bytes in {blocks} blocks are {name} in loss record {} of {}",
        count(number as u64),
        count(of as u64)
    )
}
