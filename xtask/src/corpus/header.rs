//! What the header of a corpus program says: the truth that a correct report agrees with. Parses it and nothing else; the format is in
//! `tests/corpus/README.md`.

use anyhow::{Context, Result, bail, ensure};

/// The verdict that a correct report gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    Leak,
    Lost,
    Growth,
    Plateau,
    Clean,
}

impl Label {
    const ALL: [Self; 5] = [Self::Leak, Self::Lost, Self::Growth, Self::Plateau, Self::Clean];

    /// Its spelling in headers and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::Lost => "lost",
            Self::Growth => "growth",
            Self::Plateau => "plateau",
            Self::Clean => "clean",
        }
    }

    /// Whether the program has a defect that a report must find.
    pub fn is_leak(self) -> bool {
        matches!(self, Self::Leak | Self::Lost)
    }

    /// Whether memory grows to the end of the run.
    pub fn grows(self) -> bool {
        self.is_leak() || self == Self::Growth
    }

    fn parse(text: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|label| label.name() == text);
        known.with_context(|| format!("no verdict `{text}`"))
    }
}

/// What must stand in the holder of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedHolder {
    /// Nothing holds it: lost blocks, missing decrements of a reference count.
    Nobody,
    /// A path that contains all of these words.
    Words(Vec<String>),
}

/// Where and how a program grows.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// The line of the program that allocates what grows, and others that are as good to name: the one that opens what is never closed.
    pub lines: Vec<u32>,
    /// What is allocated and kept; the growth of resident memory is in `truth.json`.
    pub bytes_per_iteration: f64,
    pub holder: ExpectedHolder,
    /// A right fix contains one of these words; none: no fix is certain.
    pub fix: Vec<String>,
}

/// A parsed header.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    pub cause: String,
    pub class: String,
    pub label: Label,
    /// There where memory grows.
    pub growth: Option<Growth>,
    /// Packages of PyPI, and Debian's as `apt:NAME`.
    pub needs: Vec<String>,
}

const KEYS: [&str; 10] =
    ["cause", "class", "report", "verdict", "line", "bytes-per-iteration", "holder", "fix", "needs", "note"];

impl Header {
    /// Parses the first lines of a program, up to an empty one.
    pub fn parse(source: &str) -> Result<Self> {
        let fields = Fields::read(source)?;
        let label = Label::parse(fields.required("verdict")?)?;
        fields.required("report")?;
        ensure!(label.grows() || fields.get("line").is_none(), "a healthy program has no `line`");
        Ok(Self {
            cause: fields.required("cause")?.to_owned(),
            class: fields.required("class")?.to_owned(),
            label,
            growth: label.grows().then(|| growth(&fields)).transpose()?,
            needs: fields.list("needs"),
        })
    }
}

fn growth(fields: &Fields) -> Result<Growth> {
    let number = |key: &str| -> Result<f64> {
        let text = fields.required(key)?;
        text.parse().with_context(|| format!("{key}: `{text}` is no number"))
    };
    let holder = match fields.required("holder")? {
        "-" => ExpectedHolder::Nobody,
        _ => ExpectedHolder::Words(fields.list("holder")),
    };
    fields.required("line")?;
    let lines = fields.list("line").iter().map(|line| line.parse()).collect::<Result<_, _>>();
    let lines = lines.context("`line` is a number, or several")?;
    let bytes_per_iteration = number("bytes-per-iteration")?;
    Ok(Growth { lines, bytes_per_iteration, holder, fix: fields.list("fix") })
}

/// Keys and values, as they were written.
struct Fields<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Fields<'a> {
    fn read(source: &'a str) -> Result<Self> {
        let lines = source.lines().take_while(|line| !line.is_empty());
        let fields: Vec<_> = lines.map(field).collect::<Result<_>>()?;
        for (index, (key, _)) in fields.iter().enumerate() {
            ensure!(KEYS.contains(key), "no key `{key}` in headers");
            ensure!(!fields[..index].iter().any(|(before, _)| before == key), "`{key}` stands twice");
        }
        Ok(Self(fields))
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    fn required(&self, key: &str) -> Result<&'a str> {
        self.get(key).with_context(|| format!("the header has no `{key}`"))
    }

    fn list(&self, key: &str) -> Vec<String> {
        let value = self.get(key).unwrap_or_default();
        value.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }
}

fn field(line: &str) -> Result<(&str, &str)> {
    let text = line.strip_prefix("# ").or_else(|| line.strip_prefix("// "));
    match text.and_then(|text| text.split_once(": ")) {
        Some((key, value)) => Ok((key, value.trim())),
        None => bail!("`{line}` is no `key: value` of a header"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAK: &str = "\
# cause: lru-cache-on-method
# class: plain-python
# report: https://github.com/python/cpython/issues/64058
# verdict: leak
# line: 23
# bytes-per-iteration: 10240
# holder: Reader.parse, lru_cache
# fix: maxsize, cache
# needs: numpy, apt:gcc
# note: why: a colon may follow

import functools # verdict: clean
";

    #[test]
    fn a_header_ends_at_the_first_empty_line() {
        let header = Header::parse(LEAK).unwrap();
        let growth = header.growth.as_ref().unwrap();
        assert_eq!((header.label, growth.bytes_per_iteration), (Label::Leak, 10240.0));
        assert_eq!(growth.lines, [23]);
        assert_eq!(growth.holder, ExpectedHolder::Words(vec!["Reader.parse".into(), "lru_cache".into()]));
        assert_eq!(growth.fix, ["maxsize", "cache"]);
        assert_eq!(header.needs, ["numpy", "apt:gcc"]);
    }

    #[test]
    fn lost_blocks_have_no_holder_and_headers_of_c_are_comments_of_c() {
        let source = LEAK
            .replace("# ", "// ")
            .replace("verdict: leak", "verdict: lost")
            .replace("Reader.parse, lru_cache", "-");
        let header = Header::parse(&source).unwrap();
        assert_eq!(header.label, Label::Lost);
        assert_eq!(header.growth.unwrap().holder, ExpectedHolder::Nobody);
    }

    #[test]
    fn what_is_missing_unknown_or_out_of_place_is_refused() {
        let error = |from: &str, to: &str| Header::parse(&LEAK.replace(from, to)).unwrap_err().to_string();
        assert_eq!(error("line: 23", "line: 23, x"), "`line` is a number, or several");
        assert_eq!(error("# line: 23\n", ""), "the header has no `line`");
        assert_eq!(error("# fix:", "# fixes:"), "no key `fixes` in headers");
        assert_eq!(error("# needs:", "# fix:"), "`fix` stands twice");
        assert_eq!(error("verdict: leak", "verdict: clean"), "a healthy program has no `line`");
        assert_eq!(error("verdict: leak", "verdict: grows"), "no verdict `grows`");
    }
}
