//! Formats of stacks: pprof, gperftools, collapsed, speedscope, massif, dot.

use std::collections::BTreeMap;
use std::process::Command;

use inferno::flamegraph;

use super::readers::{Pprof, google_pprof, read, speedscope};
use super::{FEW, MANY, NATIVE, SIZE, export, exported, growing_line, refused, sum, totals};
use crate::harness::{Heaplens, program};

#[test]
fn pprof_reads_all_four_values_to_the_byte() {
    for (run, name) in [(&*NATIVE, "native.pb.gz"), (&*FEW, "few.pb.gz")] {
        let file = exported(run, "pprof", name, &[]);
        let Some(read) = Pprof::read("export::stacks::pprof_reads_all_four_values_to_the_byte", &file) else {
            return;
        };
        assert_eq!(read.sum(""), totals(run), "{name}");
    }
}

#[test]
fn pprof_has_lines_layers_iterations_and_build_ids() {
    let test = "export::stacks::pprof_has_lines_layers_iterations_and_build_ids";
    let Some(native) = Pprof::read(test, &exported(&NATIVE, "pprof", "lines.pb.gz", &[])) else { return };
    assert_eq!(native.sum("sampled.c:14")[..2], [100, 10_009_900], "{}", native.text);
    let notes =
        Command::new("readelf").arg("-n").arg(program("sampled.c")).output().expect("binutils are there");
    let notes = String::from_utf8_lossy(&notes.stdout).into_owned();
    let id = notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).expect("a build id");
    let mappings = native.text.split_once("Mappings\n").expect("mappings").1;
    let first = mappings.lines().next().expect("the program comes first");
    assert!(first.contains("/sampled ") && first.contains(id), "{id}: {mappings}");
    let Some(python) = Pprof::read(test, &exported(&FEW, "pprof", "labels.pb.gz", &[])) else { return };
    assert_eq!(python.sum(&growing_line(&FEW))[..2], [40, 40 * SIZE], "{}", python.text);
    for layer in ["native", "python"] {
        assert!(python.samples.iter().any(|one| one.labels["layer"] == layer), "{layer}");
    }
    assert!(python.samples.iter().all(|one| one.labels["iteration"] == "40"), "{}", python.text);
}

/// Threads that came one after the other with different names are none's, and what two use at once is named by what is known.
#[test]
fn pprof_names_threads() {
    let test = "export::stacks::pprof_names_threads";
    let run = Heaplens::on(&program("named_threads.c"), &["-q"]).finish().expect_status(0);
    let Some(read) = Pprof::read(test, &exported(&run, "pprof", "threads.pb.gz", &[])) else { return };
    let said = run.stdout();
    let truths: Vec<Vec<&str>> = said.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(truths.len(), 5, "{said}");
    for truth in truths {
        let due: [i64; 2] = [3, 4].map(|at: usize| truth[at].parse().expect("a number"));
        let name = (truth[1] != "-").then_some(truth[1]);
        assert_eq!(read.by_thread(truth[2]), BTreeMap::from([(name, due)]), "{}", read.text);
    }
    let shared = read.by_thread("shared");
    let names = [Some("loader"), Some("several"), Some("worker")];
    assert!(shared.keys().all(|name| names.contains(name)), "{shared:?}");
    let sum = shared.values().fold([0; 2], |sum, one| std::array::from_fn(|at| sum[at] + one[at]));
    assert_eq!(sum, [200, 20_000], "{shared:?}");
}

#[test]
fn live_bytes_of_an_iteration_are_those_that_were_kept_before_it() {
    let test = "export::stacks::live_bytes_of_an_iteration_are_those_that_were_kept_before_it";
    let file = exported(&FEW, "pprof", "pass.pb.gz", &[&"--at", &"pass:21"]);
    let Some(read) = Pprof::read(test, &file) else { return };
    assert!(read.samples.iter().all(|one| one.labels["iteration"] == "21"), "{}", read.text);
    assert_eq!(read.sum(&growing_line(&FEW))[..2], [20, 20 * SIZE], "{}", read.text);
}

#[test]
fn a_difference_for_pprof_is_the_difference_of_both() {
    let test = "export::stacks::a_difference_for_pprof_is_the_difference_of_both";
    for (from, to, sign) in [(&*FEW, &*MANY, 1), (&*MANY, &*FEW, -1)] {
        let file = exported(to, "pprof", "difference.pb.gz", &[&"--base", &from.recording()]);
        let Some(read) = Pprof::read(test, &file) else { return };
        assert_eq!(read.sum(&growing_line(&FEW))[..2], [60 * sign, 60 * SIZE * sign], "{}", read.text);
        let (before, after) = (totals(from), totals(to));
        assert_eq!(read.sum(""), std::array::from_fn(|at| after[at] - before[at]));
    }
}

#[test]
fn google_pprof_finds_functions_by_addresses() {
    let test = "export::stacks::google_pprof_finds_functions_by_addresses";
    let file = exported(&NATIVE, "gperftools", "native.heap", &[]);
    let words = [&*program("sampled.c").display().to_string(), &*file.display().to_string()];
    let Some(rows) = google_pprof(test, &words) else { return };
    assert_eq!(rows["Total"].0, totals(&NATIVE)[1]);
    for (function, bytes) in [("small", 4_788_000), ("middle", 8_998_000), ("large", 10_009_900)] {
        assert_eq!(rows[function], (bytes, bytes), "{rows:?}");
    }
    let mut words = words.to_vec();
    words.insert(0, "--alloc_objects");
    let Some(rows) = google_pprof(test, &words) else { return };
    assert_eq!(rows["Total"].0, totals(&NATIVE)[2]);
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn google_pprof_reads_names_and_compares_two_recordings_by_them() {
    let test = "export::stacks::google_pprof_reads_names_and_compares_two_recordings_by_them";
    let [few, many] = [(&*FEW, "few.heap"), (&*MANY, "many.heap")]
        .map(|(run, name)| exported(run, "gperftools", name, &[&"--symbols"]).display().to_string());
    let line = format!("{}:main", growing_line(&FEW));
    let Some(rows) = google_pprof(test, &[&few]) else { return };
    assert_eq!(rows["Total"].0, totals(&FEW)[1]);
    assert_eq!(rows[&line].1, 40 * SIZE, "{rows:?}");
    let base = format!("--base={few}");
    let Some(rows) = google_pprof(test, &[&base, &many]) else { return };
    assert_eq!(rows["Total"].0, totals(&MANY)[1] - totals(&FEW)[1]);
    assert_eq!(rows[&line].1, 60 * SIZE, "{rows:?}");
}

#[test]
fn what_a_heap_profile_cannot_hold_is_said() {
    let plain = export(&MANY, "gperftools", &[]);
    assert!(
        String::from_utf8_lossy(&plain.stderr)
            .contains("Python frames are omitted because they have no addresses"),
        "{:?}",
        plain.stderr
    );
    let less = export(&FEW, "gperftools", &[&"--symbols", &"--base", &MANY.recording()]);
    assert!(
        String::from_utf8_lossy(&less.stderr).contains("are smaller than in the base"),
        "{:?}",
        less.stderr
    );
}

/// The samples of the whole in a flame graph.
fn drawn(lines: &[u8]) -> (i64, String) {
    let mut picture = Vec::new();
    let lines = std::str::from_utf8(lines).expect("text").lines();
    flamegraph::from_lines(&mut flamegraph::Options::default(), lines, &mut picture)
        .expect("stacks can be drawn");
    let picture = String::from_utf8(picture).expect("a picture is text");
    let whole = picture.split_once("<title>all (").expect("a frame for all").1;
    let digits: String = whole.chars().take_while(|c| *c != ' ').filter(char::is_ascii_digit).collect();
    (digits.parse().expect("a number"), picture)
}

#[test]
fn flame_graphs_of_collapsed_stacks_have_our_totals() {
    let all = totals(&MANY);
    for (what, bytes) in
        [("live", all[1]), ("peak", sum(&MANY, "peak_bytes")), ("allocated", all[3]), ("growth", SIZE)]
    {
        let (total, picture) = drawn(&export(&MANY, "collapsed", &[&"--what", &what]).stdout);
        assert_eq!(total, bytes, "{what}");
        assert!(picture.contains(&growing_line(&MANY)), "{what}");
    }
}

#[test]
fn a_difference_of_collapsed_stacks_is_drawn_as_one() {
    let output = export(&MANY, "collapsed", &[&"--base", &FEW.recording()]);
    let (total, _) = drawn(&output.stdout);
    assert_eq!(total, totals(&MANY)[1], "the width is what there is now");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let own = text.lines().filter(|line| line.contains(&growing_line(&FEW)));
    let sides =
        own.map(|line| line.rsplitn(3, ' ').take(2).map(|word| word.parse().unwrap()).collect::<Vec<i64>>());
    let [after, before] = sides.fold([0, 0], |sum, sides| [sum[0] + sides[0], sum[1] + sides[1]]);
    assert_eq!([before, after], [40 * SIZE, 100 * SIZE], "{text}");
}

#[test]
fn speedscope_reads_all_values_to_the_byte() {
    let test = "export::stacks::speedscope_reads_all_values_to_the_byte";
    let file = exported(&FEW, "speedscope", "few.speedscope.json", &[]);
    let Some(found) = speedscope(test, &file) else { return };
    let all = totals(&FEW);
    let expected = [
        ("live", all[1]),
        ("peak", sum(&FEW, "peak_bytes")),
        ("allocated", all[3]),
        ("growth per iteration", SIZE),
    ];
    assert_eq!(found, expected.map(|(name, bytes)| (name.to_owned(), bytes as u64)).into());
    let more = exported(
        &MANY,
        "speedscope",
        "more.speedscope.json",
        &[&"--what", &"live", &"--base", &FEW.recording()],
    );
    let Some(found) = speedscope(test, &more) else { return };
    let difference = totals(&MANY)[1] - all[1];
    assert_eq!(found["live: more"] as i64 - found["live: less"] as i64, difference, "{found:?}");
}

#[test]
fn speedscope_reads_pprof_and_collapsed_stacks_too() {
    let test = "export::stacks::speedscope_reads_pprof_and_collapsed_stacks_too";
    for (format, name) in [("pprof", "other.pb.gz"), ("collapsed", "other.txt")] {
        let Some(found) = speedscope(test, &exported(&FEW, format, name, &[])) else { return };
        assert_eq!(found, BTreeMap::from([(name.to_owned(), totals(&FEW)[1] as u64)]));
    }
}

#[test]
fn ms_print_shows_the_peak_and_the_end_to_the_byte() {
    let test = "export::stacks::ms_print_shows_the_peak_and_the_end_to_the_byte";
    for (run, name) in [(&*NATIVE, "native.massif"), (&*MANY, "many.massif")] {
        let file = exported(run, "massif", name, &[]);
        let Some(page) = read(test, Command::new("ms_print").arg(&file)) else { return };
        let sums = &run.report().0["totals"];
        let rows: Vec<Vec<String>> = page
            .lines()
            .map(|line| line.replace(',', "").split_whitespace().map(str::to_owned).collect())
            .collect();
        let total = |number: &str| {
            let row = rows
                .iter()
                .find(|row| row.len() == 6 && row[0] == number)
                .unwrap_or_else(|| panic!("{page}"));
            row[2].parse::<u64>().expect("bytes")
        };
        let snapshots =
            page.lines().find_map(|line| line.strip_prefix(" Detailed snapshots: [")).expect("snapshots");
        let numbers: Vec<&str> = snapshots.split([' ', ',', ']']).collect();
        let at_peak = numbers[numbers.iter().position(|word| *word == "(peak)").expect("a peak") - 1];
        let last = numbers.iter().rev().find(|word| word.parse::<u32>().is_ok()).expect("the last one");
        assert_eq!(total(at_peak), sums["peak_bytes"].as_u64().expect("bytes"), "{page}");
        assert_eq!(total(last), sums["live_bytes"].as_u64().expect("bytes"), "{page}");
        let trees = page.lines().filter(|line| line.starts_with("100.00% ("));
        assert_eq!(trees.count(), 2, "{page}");
    }
}

/// Functions and calls of a graph with their bytes.
fn graph(text: &str) -> BTreeMap<String, u64> {
    let mut names = BTreeMap::new();
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('N') && line.contains(" [")) {
        let (key, rest) = line.split_once(" [label=").expect("a label");
        match key.split_once(" -> ") {
            None => _ = names.insert(key, rest.trim_start_matches('"').split("\\n").next().expect("a name")),
            Some((from, to)) => {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                let call = format!("{} -> {}", names[from], names[to]);
                found.insert(call, digits.parse().expect("bytes"));
            }
        }
    }
    found
}

#[test]
fn the_graph_is_the_one_that_google_pprof_draws() {
    let test = "export::stacks::the_graph_is_the_one_that_google_pprof_draws";
    let file = exported(&NATIVE, "gperftools", "graph.heap", &[]);
    let mut command = Command::new("google-pprof");
    let Some(theirs) =
        read(test, command.args(["--dot", "--show_bytes"]).arg(program("sampled.c")).arg(file))
    else {
        return;
    };
    let ours = export(&NATIVE, "dot", &[]).stdout;
    let ours = String::from_utf8_lossy(&ours).into_owned();
    assert!(ours.contains(&format!("; {} B\"", totals(&NATIVE)[1])), "{ours}");
    assert_eq!(graph(&ours), graph(&theirs), "{ours}{theirs}");
    assert_eq!(graph(&ours)["main -> large"], 10_009_900);
}

#[test]
fn graphviz_draws_the_graph() {
    let output = export(&FEW, "svg", &[&"--what", &"growth"]);
    if String::from_utf8_lossy(&output.stderr).contains("cannot run Graphviz") {
        return crate::harness::skip("export::stacks::graphviz_draws_the_graph", "graphviz is not installed");
    }
    let picture = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(picture.contains("<svg") && picture.contains(&growing_line(&FEW)), "{picture}");
}

#[test]
fn growth_without_iterations_is_refused() {
    let said = refused(&NATIVE, "collapsed", &[&"--what", &"growth"]);
    assert!(said.contains("growth per stack is not known"), "{said}");
}
