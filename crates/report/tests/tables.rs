//! A row more in the tables of memory is in every output, and no output was edited for it.

#[expect(dead_code, reason = "other tests take more of the samples")]
mod sample;

use heaplens_analyze::diff::{Moment, Side, of_recordings};
use heaplens_analyze::profile_by;
use heaplens_analyze::{Profile, profile};
use heaplens_format::Bytes;
use heaplens_format::memory::{Colour, LINES, Line, LineRow, SPACES, Space, SpaceKind, SpaceRow, Tables};
use heaplens_format::recording::{Decoded, Ledger, SpaceLedgers};
use heaplens_report::export::csv;
use heaplens_report::{html, json, text};
use serde_json::Value;

use sample::with_ledgers;

const MIB: u64 = 1 << 20;
/// A line that no version has.
const SPARE: Line = Line::new(200);
/// Where its row stands: the fifth.
const PLACE: usize = 4;

fn with_a_line_more() -> Tables {
    let row = LineRow {
        line: SPARE,
        key: "Spare",
        layer: "spare",
        label: "spare in some pool",
        colour: Colour { light: 0x123456, dark: 0xabcdef },
        ..LineRow::PLAIN
    };
    let mut lines = LINES.to_vec();
    lines.insert(PLACE, row);
    Tables { lines: lines.leak(), ..Tables::default() }
}

/// Ledgers that have so many MiB on that line at their end.
fn decoded(mib: u64) -> Decoded {
    let mut decoded = with_ledgers(true);
    let end = decoded.recording.processes[0].ledgers.last_mut().unwrap();
    end.lines.set(SPARE, Bytes::new(mib * MIB));
    end.rss += Bytes::new(mib * MIB);
    decoded
}

fn written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn in_csv(profile: &Profile) -> String {
    written(|out| csv::write(profile, profile.ledger.as_ref().unwrap(), out))
}

#[test]
fn a_line_more_is_in_text_json_tables_and_pages() {
    let profile = profile_by(&decoded(7), None, with_a_line_more()).unwrap();
    let page = written(|out| text::write(&profile, out));
    let row = page.lines().find(|line| line.contains("spare in some pool")).unwrap();
    assert!(row.split_whitespace().eq("spare in some pool 0.0 7.0 7.0".split(' ')), "{row}");

    let report: Value = serde_json::from_str(&written(|out| json::write(&profile, out))).unwrap();
    let row = report["ledger"].as_array().unwrap().iter().find(|row| row["layer"] == "spare").unwrap();
    assert_eq!((row["start"].as_u64(), row["end"].as_u64()), (Some(0), Some(7 * MIB)));

    let table = in_csv(&profile);
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let column = lines.next().unwrap().iter().position(|name| *name == "spare").unwrap();
    assert_eq!(lines.next_back().unwrap()[column], (7 * MIB).to_string());

    let page = written(|out| html::write(&profile, out));
    assert!(page.contains("<tr data-line=\"Spare\"><th scope=\"row\">spare in some pool</th>"));
    assert!(page.contains(".layer-4 { --of: light-dark(#123456, #abcdef); }"), "it has its colour");
    let (_, data) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let drawn = data["timeline"]["layers"].as_array().unwrap();
    let at = drawn.iter().position(|name| name == "spare in some pool").unwrap();
    assert_eq!(data["timeline"]["colours"][at], PLACE);
}

#[test]
fn a_line_more_is_in_comparisons() {
    let side = |mib: u64| {
        let mut side = Side::to(&decoded(mib), None, &Moment::End).unwrap();
        side.profile.tables = with_a_line_more();
        side
    };
    let (from, to) = (side(7), side(20));
    let diff = of_recordings(&from, &to, &mut |_, _| None);
    let options = text::Options::default();
    let page = written(|out| text::diff::write(&diff, ("a", &from), ("b", &to), options, out));
    assert!(page.contains("spare in some pool"), "{page}");
    let report = written(|out| json::diff::write(&diff, ("a", &from), ("b", &to), out));
    let report: Value = serde_json::from_str(&report).unwrap();
    let row = &report["ledger"]["rows"][0];
    assert_eq!((&row["layer"], &row["bytes"]), (&"spare".into(), &(13 * MIB).into()));
}

const DEVICE: SpaceKind = SpaceKind::new(9);

fn with_a_space_more() -> Tables {
    let space = SpaceRow { kind: DEVICE, name: "device", is_numbered: true, sum: "used" };
    let line = |number, layer, label| LineRow {
        line: Line::new(number),
        key: label,
        layer,
        label,
        space: DEVICE,
        ..LineRow::PLAIN
    };
    let lines = [line(201, "gpu", "tensors there"), line(202, "gpu-free", "free in its pool")];
    Tables {
        spaces: [SPACES.to_vec(), vec![space]].concat().leak(),
        lines: [LINES.to_vec(), lines.to_vec()].concat().leak(),
    }
}

/// On the second device of its kind, 5 MiB are in use, and 3 are free.
fn on_a_device() -> Decoded {
    let mut decoded = with_ledgers(true);
    let lines = [(Line::new(201), Bytes::new(5 * MIB)), (Line::new(202), Bytes::new(3 * MIB))];
    let ledger = Ledger { rss: Bytes::new(8 * MIB), lines: lines.into_iter().collect(), ..Ledger::default() };
    let space = Space { kind: DEVICE, index: 1 };
    decoded.recording.processes[0].spaces =
        vec![SpaceLedgers { space, source: "driver".into(), ledgers: vec![ledger] }];
    decoded
}

#[test]
fn a_space_more_has_a_ledger_of_its_own() {
    let decoded = on_a_device();
    let profile = profile_by(&decoded, None, with_a_space_more()).unwrap();
    let page = written(|out| text::write(&profile, out));
    let rows: Vec<&str> =
        page.lines().skip_while(|line| !line.contains("Ledger of device 1 (MiB)")).collect();
    for (row, expected) in rows[1..].iter().zip(["tensors there 5.0", "free in its pool 3.0", "used 8.0"]) {
        assert!(row.trim_start().starts_with(expected.rsplit_once(' ').unwrap().0), "{page}");
        assert!(row.ends_with(expected.rsplit_once(' ').unwrap().1), "{page}");
    }

    let report: Value = serde_json::from_str(&written(|out| json::write(&profile, out))).unwrap();
    let space = &report["spaces"][0];
    assert_eq!((&space["space"], &space["source"]), (&"device 1".into(), &"driver".into()));
    assert_eq!(space["used"], 8 * MIB);
    assert_eq!(
        (&space["ledger"][0]["layer"], &space["ledger"][0]["end"]),
        (&"gpu".into(), &(5 * MIB).into())
    );

    let table = in_csv(&profile);
    let (head, last) = (table.lines().next().unwrap(), table.lines().last().unwrap());
    assert!(head.ends_with(",unexplained,device 1 used,device 1 gpu,device 1 gpu-free"), "{head}");
    assert!(last.ends_with(",,8388608,5242880,3145728"), "{last}");

    let page = written(|out| html::write(&profile, out));
    assert!(page.contains("<h3>Ledger of device 1</h3>") && page.contains("tensors there"));
}

#[test]
fn a_space_that_is_not_known_changes_nothing() {
    let [with, without] = [on_a_device(), with_ledgers(true)].map(|decoded| {
        let profile = profile(&decoded, None).unwrap();
        written(|out| json::write(&profile, out))
    });
    assert_eq!(with, without);
    assert!(!with.contains("\"spaces\""));
}

#[test]
fn without_its_row_it_is_in_none_of_them() {
    let profile = profile(&decoded(7), None).unwrap();
    let page = written(|out| text::write(&profile, out));
    let report = written(|out| json::write(&profile, out));
    let drawn = written(|out| html::write(&profile, out));
    for output in [page, report, in_csv(&profile), drawn] {
        assert!(!output.to_lowercase().contains("spare"));
    }
}
