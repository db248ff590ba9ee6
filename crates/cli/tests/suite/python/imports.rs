//! Imports of libraries: each module has exactly what was allocated while it was loaded, and what the user's own code does keeps its stacks.

use std::collections::BTreeMap;

use serde_json::Value;

use super::interpreters::{self, Interpreter};
use super::script;
use crate::harness::{Finished, Folder, Heaplens, besides};

/// Bytes and blocks by a name.
type Amounts = BTreeMap<String, (i64, i64)>;

/// How often each module keeps its blocks in the first and in the second run: Python's own allocations are the same in both.
const TIMES: [&str; 2] = ["3", "8"];

fn run_with(python: &Interpreter, mode: &str, times: &str, seed: &str) -> Finished {
    let folder = Folder::new();
    let run = Heaplens::on(&python.path, &["-q", "--imports", mode]).env("PYTHONHASHSEED", "0").arg("-B");
    run.arg(script("python_imports.py")).arg(folder.path()).arg(times).arg(seed).finish().expect_status(0)
}

/// What the program says of itself.
fn claims(run: &Finished, which: &str) -> Amounts {
    let said: Value = serde_json::from_str(&run.stdout()).expect("the program prints JSON");
    let of = |amount: &Value| (amount[0].as_i64().unwrap(), amount[1].as_i64().unwrap());
    said[which].as_object().unwrap().iter().map(|(name, amount)| (name.clone(), of(amount))).collect()
}

fn add(amounts: &mut Amounts, name: String, more: (i64, i64)) {
    let amount = amounts.entry(name).or_default();
    *amount = (amount.0 + more.0, amount.1 + more.1);
}

/// The list of imports in the report, by name and parent.
fn listed(report: &Value) -> Amounts {
    let mut modules = Amounts::new();
    for import in report["imports"].as_array().unwrap() {
        let [module, parent] =
            ["module", "parent"].map(|field| import[field].as_str().unwrap_or("None").to_owned());
        let amount = ["bytes", "blocks"].map(|field| import[field].as_i64().unwrap());
        add(&mut modules, format!("{module}<{parent}"), (amount[0], amount[1]));
    }
    modules
}

/// The same out of the sites of these kinds.
fn modules(report: &Value, kinds: &[&str], [bytes, blocks]: [&str; 2]) -> Amounts {
    let mut modules = Amounts::new();
    for site in report["sites"].as_array().unwrap() {
        let files =
            site["stack"].as_array().unwrap().iter().map(|frame| frame["file"].as_str().unwrap_or_default());
        let mut names = files.map_while(|file| file.strip_prefix("<import ")?.strip_suffix('>'));
        if let Some(module) = names.next()
            && kinds.iter().any(|kind| site["kind"] == *kind)
        {
            let amount = [bytes, blocks].map(|field| site[field].as_i64().unwrap());
            add(&mut modules, format!("{module}<{}", names.next().unwrap_or("None")), (amount[0], amount[1]));
        }
    }
    modules
}

/// What the report says of C's blocks that `keep` makes outside imports, by the innermost file of the user's; those of threads have none.
fn users(report: &Value) -> Amounts {
    let mut users = Amounts::new();
    for site in report["sites"].as_array().unwrap() {
        let stack = site["stack"].as_array().unwrap();
        let texts = |field: &'static str| stack.iter().filter_map(move |frame| frame[field].as_str());
        let is_kept = site["kind"] == "heap" && texts("function").any(|name| name == "keep");
        if !is_kept || texts("file").any(|file| file.starts_with("<import ")) {
            continue;
        }
        let file = texts("file")
            .find(|file| file.ends_with(".py") && !file.contains("/lib") && !file.contains("site-packages"));
        let name = file.map_or("thread", |file| file.rsplit('/').next().unwrap());
        let amount = ["live_bytes", "live_blocks"].map(|field| site[field].as_i64().unwrap());
        add(&mut users, name.to_owned(), (amount[0], amount[1]));
    }
    users
}

/// Python's own table of its arenas has a node for each part of the address space that they are in, which is another in each run.
const NODE: i64 = 131_072;

/// A node more or less, alone or beside what a module keeps, is none of the program's.
fn without_nodes(mut found: Amounts, claimed: &Amounts) -> Amounts {
    for (name, amount) in &mut found {
        let claim = claimed.get(name).copied().unwrap_or_default();
        let nodes = amount.1 - claim.1;
        if amount.0 - claim.0 == nodes * NODE {
            *amount = claim;
        }
    }
    found.retain(|_, amount| *amount != (0, 0));
    found
}

fn difference(first: &Amounts, second: &Amounts) -> Amounts {
    let names = first.keys().chain(second.keys());
    let of = |amounts: &Amounts, name: &String| amounts.get(name).copied().unwrap_or_default();
    let differences = names.map(|name| {
        let (first, second) = (of(first, name), of(second, name));
        (name.clone(), (second.0 - first.0, second.1 - first.1))
    });
    differences.filter(|(_, difference)| *difference != (0, 0)).collect()
}

/// Blocks of C's malloc, as they were at the end of the process.
const OF_C: (&[&str], [&str; 2]) = (&["heap"], ["live_bytes", "live_blocks"]);
/// All of the heap, as it was at the end of the script.
const OF_LIST: (&[&str], [&str; 2]) = (&["heap", "python-block"], ["held_bytes", "held_blocks"]);

fn assert_seed(python: &Interpreter, seed: &str) {
    let case = format!("Python {}, seed {seed}", python.version);
    let runs = TIMES.map(|times| run_with(python, "folded", times, seed));
    let reports = [&runs[0], &runs[1]].map(|run| run.report().whole());
    let claimed = |which| difference(&claims(&runs[0], which), &claims(&runs[1], which));
    let found = reports.each_ref().map(|report| modules(report, OF_C.0, OF_C.1));
    let truth = claimed("modules");
    let mut found = difference(&found[0], &found[1]);
    // A table of the interpreter that grows while a module of its own is loaded is not the program's.
    found.retain(|name, _| name.starts_with("pack"));
    assert_eq!(without_nodes(found, &truth), truth, "{case}");
    assert_eq!(difference(&users(&reports[0]), &users(&reports[1])), claimed("users"), "{case}");
    assert_eq!(reports[0]["sites_omitted"], Value::Null, "{case}");
    let mut held = modules(&reports[0], OF_LIST.0, OF_LIST.1);
    let mut list = listed(&reports[0]);
    [&mut held, &mut list].into_iter().for_each(|amounts| amounts.retain(|_, amount| *amount != (0, 0)));
    assert_eq!(list, held, "{case}");
}

/// What `keep` has made, wherever it was called: with whole stacks it is on all of them.
fn kept(report: &Value) -> (i64, i64) {
    let is_kept = |site: &&Value| {
        let mut functions = site["stack"].as_array().unwrap().iter().map(|frame| &frame["function"]);
        site["kind"] == "heap" && functions.any(|name| name == "keep")
    };
    let sites = report["sites"].as_array().unwrap().iter().filter(is_kept);
    sites.fold((0, 0), |sum, site| {
        (sum.0 + site["live_bytes"].as_i64().unwrap(), sum.1 + site["live_blocks"].as_i64().unwrap())
    })
}

fn assert_whole_stacks(python: &Interpreter, seed: &str) {
    let runs = TIMES.map(|times| run_with(python, "full", times, seed));
    let [first, second] = [&runs[0], &runs[1]].map(|run| run.report().whole());
    let mut claimed = (0, 0);
    for which in ["modules", "users"] {
        for (bytes, blocks) in difference(&claims(&runs[0], which), &claims(&runs[1], which)).values() {
            claimed = (claimed.0 + bytes, claimed.1 + blocks);
        }
    }
    let (before, after) = (kept(&first), kept(&second));
    let found = (after.0 - before.0, after.1 - before.1);
    assert_eq!(found, claimed, "Python {}, seed {seed}", python.version);
    assert_eq!(first["imports"], serde_json::json!([]), "whole stacks name no modules");
}

#[test]
fn each_module_has_what_was_allocated_while_it_was_loaded() {
    let test = "python::imports::each_module_has_what_was_allocated_while_it_was_loaded";
    let pythons = interpreters::in_turn(test);
    let seeds: Vec<String> = (1..=3)
        .chain(besides(&[4, 5, 6, 7, 8, 9, 10]).iter().copied())
        .map(|seed: u32| seed.to_string())
        .collect();
    for (case, seed) in seeds.iter().enumerate() {
        for python in pythons.of(case) {
            assert_seed(python, seed);
            assert_whole_stacks(python, seed);
        }
    }
}

/// A library that is reloaded again and again, and keeps more each time.
#[test]
fn a_leak_inside_an_import_is_found_at_the_line_that_imports() {
    const LIBRARY: &str = "import builtins\nbuiltins.REGISTRY.append(bytearray(20_000))\n";
    const SCRIPT: &str = "import builtins, importlib, sys
builtins.REGISTRY = []
sys.path.insert(0, sys.argv[1])
import registers
for i in range(300):
    importlib.reload(registers)
";
    let test = "python::imports::a_leak_inside_an_import_is_found_at_the_line_that_imports";
    let folder = Folder::new();
    let libraries = folder.file("site-packages");
    std::fs::create_dir_all(&libraries).expect("the folder is writable");
    std::fs::write(libraries.join("registers.py"), LIBRARY).expect("the folder is writable");
    std::fs::write(folder.file("reloads.py"), SCRIPT).expect("the folder is writable");
    for python in interpreters::some(test) {
        let run = Heaplens::on(&python.path, &[]).arg(folder.file("reloads.py")).arg(&libraries);
        let run = run.finish().expect_status(0);
        let report = run.report().whole();
        assert_eq!(report["verdict"], "leak", "Python {}: {}", python.version, run.stderr());
        let location = &report["findings"][0]["location"];
        assert_eq!(location["line"], 6, "Python {}: {}", python.version, run.stderr());
        let kept = listed(&report)["registers<None"];
        assert!(kept.0 >= 301 * 20_000, "Python {}: {kept:?}", python.version);
    }
}

#[test]
fn the_tree_of_imports_names_modules_and_lines() {
    let test = "python::imports::the_tree_of_imports_names_modules_and_lines";
    let folder = Folder::new();
    std::fs::write(folder.file("imports.py"), "import os\nimport xml.dom.minidom\n")
        .expect("the folder is writable");
    for python in interpreters::some(test) {
        let run =
            Heaplens::on(&python.path, &["-q"]).arg(folder.file("imports.py")).finish().expect_status(0);
        let tree = Heaplens::bare([
            std::ffi::OsStr::new("report"),
            run.recording().as_os_str(),
            std::ffi::OsStr::new("--imports"),
        ]);
        let tree = { tree }.output().expect("heaplens can be started");
        let text = String::from_utf8(tree.stdout).expect("text");
        let roots = text.lines().filter(|line| line.contains("imports.py:2"));
        let modules: Vec<_> = roots.filter_map(|line| line.split_whitespace().rev().nth(1)).collect();
        assert!(modules.contains(&"xml.dom.minidom"), "Python {}: {text}", python.version);
    }
}
