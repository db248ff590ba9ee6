//! Names and lines against real files: a program prints where it called from, and the resolver must say the same, or
//! nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use heaplens_analyze::{SymbolCache, resolve_symbols};
use heaplens_format::recording::{Frame, Function, Module, Node, Process, Recording};
use heaplens_format::{ModuleId, NodeId};
use object::Object;
use tempfile::TempDir;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/calls.cpp");

/// A compiled program, and what it said about itself.
struct Program {
    folder: TempDir,
    truth: Vec<Truth>,
    build_id: Vec<u8>,
}

struct Truth {
    return_address: u64,
    line: u32,
    function: String,
}

impl Program {
    fn compile(flags: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("calls");
        let mut compiler = Command::new("g++");
        run(compiler.args(["-O1", "-Wl,--build-id"]).args(flags).arg("-o").arg(&path).arg(SOURCE));
        let truth = run(&mut Command::new(&path)).lines().map(Truth::parse).collect();
        let build_id = build_id_of(&path);
        Self { folder, truth, build_id }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("calls")
    }

    /// A recording of the program whose stacks are its calls, resolved.
    fn resolved(&self) -> Recording {
        self.resolved_with(&self.build_id)
    }

    fn resolved_with(&self, build_id: &[u8]) -> Recording {
        self.resolved_from(build_id, &SymbolCache::default())
    }

    fn resolved_from(&self, build_id: &[u8], cache: &SymbolCache) -> Recording {
        let path = self.path().into_os_string().into_string().unwrap();
        let code = |truth: &Truth| Frame::Code { module: ModuleId::new(1), offset: truth.return_address };
        let node = |truth| Node { parent: NodeId::default(), frame: code(truth) };
        let process = Process {
            modules: vec![Module { path, build_id: build_id.to_vec(), ..Module::default() }],
            nodes: self.truth.iter().map(node).collect(),
            ..Process::default()
        };
        let mut recording = Recording { processes: vec![process], ..Recording::default() };
        resolve_symbols(&mut recording, cache);
        recording
    }

    fn truth_of(&self, function: &str) -> &Truth {
        self.truth.iter().find(|truth| truth.function == function).expect("the program calls from there")
    }

    fn functions(&self, recording: &Recording, function: &str) -> Vec<Function> {
        let address = self.truth_of(function).return_address;
        let symbols = &recording.processes[0].symbols;
        let found = symbols.iter().find(|symbol| symbol.offset == address);
        found.map_or_else(Vec::new, |symbol| symbol.functions.clone())
    }
}

impl Truth {
    fn parse(line: &str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        Self {
            return_address: u64::from_str_radix(words[0], 16).unwrap(),
            line: words[1].parse().unwrap(),
            function: words[2].to_owned(),
        }
    }
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn build_id_of(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    object::File::parse(&*bytes).unwrap().build_id().unwrap().expect("the linker wrote one").to_vec()
}

fn assert_lines_are_true(program: &Program) {
    let recording = program.resolved();
    assert_eq!(program.truth.len(), 4);
    for truth in &program.truth {
        let functions = program.functions(&recording, &truth.function);
        let innermost = functions.first().unwrap_or_else(|| panic!("{} has a name", truth.function));
        assert_eq!(innermost.name.as_deref(), Some(&*truth.function));
        assert_eq!(innermost.file.as_deref(), Some(SOURCE));
        assert_eq!(innermost.line, Some(truth.line), "in {}", truth.function);
    }
}

#[test]
fn names_from_the_cache_are_those_of_the_files_and_end_with_them() {
    let program = Program::compile(&["-g"]);
    let cache = SymbolCache::in_folder(program.folder.path().join("cache"));
    for _ in 0..2 {
        assert_eq!(program.resolved_from(&program.build_id, &cache), program.resolved());
    }
    std::fs::remove_file(program.path()).unwrap();
    assert!(program.resolved_from(&program.build_id, &cache).processes[0].symbols.is_empty());
}

#[test]
fn with_debug_information_every_line_is_the_one_the_program_prints() {
    assert_lines_are_true(&Program::compile(&["-g"]));
}

#[test]
fn an_inlined_function_stands_before_the_one_it_is_inlined_into() {
    let program = Program::compile(&["-g"]);
    let functions = program.functions(&program.resolved(), "folded");
    let names: Vec<_> = functions.iter().filter_map(|function| function.name.as_deref()).collect();
    assert_eq!(names, ["folded", "visible"]);
    // The call of `folded` stands on the line above the call of `probe` that says where it is.
    assert_eq!(functions[1].line, Some(program.truth_of("visible").line - 1));
}

#[test]
fn without_debug_information_there_are_names_and_no_lines() {
    let program = Program::compile(&[]);
    let recording = program.resolved();
    for (from, name) in
        [("shop::Rows::fill", "shop::Rows::fill"), ("hidden", "hidden"), ("folded", "visible")]
    {
        let expected = Function { name: Some(name.into()), file: None, line: None };
        assert_eq!(program.functions(&recording, from), [expected]);
    }
}

#[test]
fn a_stripped_file_names_only_what_it_exports() {
    let program = Program::compile(&["-s", "-rdynamic"]);
    let recording = program.resolved();
    let expected = Function { name: Some("visible".into()), file: None, line: None };
    assert_eq!(program.functions(&recording, "visible"), [expected]);
    assert_eq!(
        program.functions(&recording, "hidden"),
        [],
        "no symbol covers it, the nearest would be a lie"
    );
}

#[test]
fn a_debug_file_beside_the_stripped_one_gives_its_lines() {
    let program = Program::compile(&["-g"]);
    let folder = program.folder.path();
    let objcopy = |arguments: &[&str]| run(Command::new("objcopy").current_dir(folder).args(arguments));
    objcopy(&["--only-keep-debug", "calls", "calls.debug"]);
    objcopy(&["--strip-all", "calls"]);
    assert_eq!(program.resolved().processes[0].symbols, [], "nothing leads to the debug file");
    objcopy(&["--add-gnu-debuglink=calls.debug", "calls"]);
    assert_lines_are_true(&program);
}

#[test]
fn a_file_that_is_gone_gives_no_names() {
    let program = Program::compile(&["-g"]);
    std::fs::remove_file(program.path()).unwrap();
    assert_eq!(program.resolved().processes[0].symbols, []);
}

#[test]
fn a_file_that_was_replaced_gives_no_names() {
    let program = Program::compile(&["-g"]);
    let other = Program::compile(&["-g", "-O2", "-fno-inline"]);
    assert_ne!(other.build_id, program.build_id);
    std::fs::copy(other.path(), program.path()).unwrap();
    assert_eq!(program.resolved().processes[0].symbols, []);
}

#[test]
fn a_file_without_a_recorded_build_id_is_taken_at_its_path() {
    let program = Program::compile(&["-g"]);
    assert_eq!(program.resolved_with(&[]).processes[0].symbols.len(), 4);
}

#[test]
fn a_folder_or_a_text_instead_of_the_file_gives_no_names() {
    let program = Program::compile(&["-g"]);
    std::fs::write(program.path(), "no object file").unwrap();
    assert_eq!(program.resolved_with(&[]).processes[0].symbols, []);
    std::fs::remove_file(program.path()).unwrap();
    std::fs::create_dir(program.path()).unwrap();
    assert_eq!(program.resolved_with(&[]).processes[0].symbols, []);
}
