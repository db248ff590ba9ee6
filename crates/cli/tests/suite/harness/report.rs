//! The JSON report, as far as the tests read it.

use serde_json::Value;

/// A report on one process, and the text of its two lists of stacks, which stand as `null` in it. Both are megabytes, most tests read
/// neither, and to read them took longer than to run the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Report(pub Value, [String; 2]);

/// These lists: where each begins, and the field that comes after it. A text that has quotation marks has them escaped, so that
/// neither can be found within one.
const LISTS: [[&str; 2]; 2] =
    [["\"records\":[", ",\"records_omitted\":"], ["\"sites\":[", ",\"sites_omitted\":"]];

/// A stack that allocates.
#[derive(Clone, Debug)]
pub struct Site {
    /// Layer.
    pub layer: String,
    /// Live bytes and blocks, allocated bytes and blocks, bytes and blocks at the peak: the order of a truth line.
    pub amounts: [i64; 6],
    /// Innermost first.
    pub stack: Vec<Frame>,
}

/// A frame of a stack.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Name without its parameters.
    pub function: Option<String>,
    /// File name of the source, without its folder.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u64>,
    /// Path of the object file.
    pub module: Option<String>,
}

impl Report {
    /// Reads one; `schema` must be the one that the tests know.
    pub fn parse(text: &[u8]) -> Self {
        let text = std::str::from_utf8(text).expect("a report is UTF-8");
        let [records, sites] = LISTS;
        let (text, records) = without(text, records);
        let (text, sites) = without(&text, sites);
        let value = json(&text);
        assert_eq!(value["schema"], "heaplens-report/1");
        Self(value, [records, sites])
    }

    /// All of it, the lists as well.
    pub fn whole(self) -> Value {
        let Self(mut value, [records, sites]) = self;
        if value["lost"].is_object() {
            value["lost"]["records"] = json(&records);
        }
        value["sites"] = json(&sites);
        value
    }

    /// All sites.
    pub fn sites(&self) -> Vec<Site> {
        array(&json(&self.1[1])).iter().map(site).collect()
    }

    /// The count of a loss whose description contains these words.
    pub fn loss(&self, words: &str) -> u64 {
        let named = |loss: &&Value| loss["what"].as_str().is_some_and(|what| what.contains(words));
        array(&self.0["losses"]).iter().filter(named).filter_map(|loss| loss["count"].as_u64()).sum()
    }

    /// The processes of the run.
    pub fn pids(&self) -> Vec<u64> {
        array(&self.0["processes"]).iter().filter_map(|process| process["pid"].as_u64()).collect()
    }

    /// Bytes of the arena.
    pub fn arena_bytes(&self) -> u64 {
        self.0["cost"]["arena_bytes"].as_u64().expect("cost.arena_bytes is a number")
    }
}

/// A report with `null` instead of one of its lists, and this list; `null` where it has none.
fn without(report: &str, [field, next]: [&str; 2]) -> (String, String) {
    let found = |what: &str| memchr::memmem::find(report.as_bytes(), what.as_bytes());
    let none = "null";
    let Some((from, to)) = found(field).zip(found(next)) else { return (report.into(), none.into()) };
    let from = from + field.len() - "[".len();
    ([&report[..from], none, &report[to..]].concat(), report[from..to].to_owned())
}

/// Not `from_slice`: generic, it would be compiled with the tests, and those are not optimised.
fn json(text: &str) -> Value {
    text.parse().unwrap_or_else(|error| panic!("the report is no JSON ({error}):\n{text}"))
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn site(value: &Value) -> Site {
    const FIELDS: [&str; 6] =
        ["live_bytes", "live_blocks", "allocated_bytes", "allocated_blocks", "peak_bytes", "peak_blocks"];
    let amount = |field| value[field].as_i64().unwrap_or_else(|| panic!("a site without {field}: {value}"));
    Site {
        layer: value["layer"].as_str().expect("a site has a layer").to_owned(),
        amounts: FIELDS.map(amount),
        stack: array(&value["stack"]).iter().map(frame).collect(),
    }
}

fn frame(value: &Value) -> Frame {
    let text = |field: &str| value[field].as_str().map(str::to_owned);
    Frame {
        function: text("function").map(|name| name.split('(').next().unwrap_or_default().to_owned()),
        file: text("file").map(|path| path.rsplit('/').next().unwrap_or_default().to_owned()),
        line: value["line"].as_u64(),
        module: text("module"),
    }
}
