//! Native programs, drawn: one source with a function for each, so that one compilation does. They mark their iterations
//! themselves, through the symbol that the agent exports; some do not, and are judged per second: these keep to a time-table, so
//! that their pace is the same on a busy machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::dice::Dice;
use super::{Program, Truth, write};

/// What keeps blocks: the statement that keeps one of `SIZE` bytes, and who holds it.
const HOLDERS: [(&str, &str, Option<&str>); 4] = [
    ("array", "kept[pass] = filled(malloc(SIZE), SIZE);", Some("global kept")),
    (
        "chain",
        "{ void **node = filled(malloc(SIZE), SIZE); *node = head; head = node; }",
        Some("global head"),
    ),
    ("lost", "filled(malloc(SIZE), SIZE);", None),
    ("calloc", "kept[pass] = calloc(1, SIZE);", Some("global kept")),
];

/// What does not grow.
const BOUNDED: [(&str, &str); 6] = [
    ("ring", "{ free(kept[pass % K]); kept[pass % K] = filled(malloc(SIZE), SIZE); }"),
    ("memory that stops", "if (!kept[pass % K]) kept[pass % K] = filled(malloc(SIZE), SIZE);"),
    ("plateau", "if (pass < PASSES / 3) kept[pass] = filled(malloc(SIZE), SIZE);"),
    ("once", "if (pass == ONCE) kept[0] = filled(malloc(3000000), 3000000);"),
    ("nothing", "free(filled(malloc(SIZE), SIZE));"),
    (
        "cleared",
        "{ kept[pass % K] = filled(malloc(SIZE), SIZE); if (pass % K == K - 1) for (int i = 0; i < K; i++) { free(kept[i]); kept[i] = 0; } }",
    ),
];

const HEAD: &str = r#"#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static void (*mark)(const char *);
static void *kept[100000];
static void **head;
static void *noise;
void *warm[100000];
static void *filled(void *block, size_t size) { memset(block, 1, size); return block; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void wait_until(double at) {
    struct timespec t = {(time_t)at, (long)((at - (time_t)at) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
}
static void begin(int pass, int noisy) {
    if (mark) mark("pass");
    free(noise);
    size_t size = noisy ? 1 + rand() % noisy : 0;
    noise = noisy ? filled(malloc(size), size) : 0;
}
"#;

/// The programs of one source.
pub struct Source {
    text: String,
    programs: Vec<Drawn>,
}

struct Drawn {
    name: String,
    truth: Truth,
    holder: Option<&'static str>,
}

impl Source {
    /// Without a program.
    pub fn new() -> Self {
        Self { text: HEAD.to_owned(), programs: Vec::new() }
    }

    /// Adds one that grows; with `pace` it has no marks and takes so many milliseconds for an iteration.
    pub fn growing(&mut self, dice: &mut Dice, pace: Option<u64>) {
        let (holder, keep, step) = *dice.pick(&HOLDERS);
        let (iterations, size) = (iterations(dice, pace), dice.between(64, 40_000));
        let period = if dice.between(0, 2) == 0 { dice.between(2, iterations / 20) } else { 1 };
        let size = size.max(if pace.is_some() { 8_000 } else { 5_000 * period / iterations });
        let condition = if period == 1 { String::new() } else { format!("if (pass % {period} == 0) ") };
        let statement = format!("{condition}{}", keep.replace("SIZE", &size.to_string()));
        let line = self.function(&statement, iterations, dice, pace);
        let name = format!("{holder} of {size} every {period} of {iterations}{}", unit(pace));
        let bytes = size as f64 / period as f64;
        self.programs.push(Drawn { name, truth: Truth::Grows { bytes, line }, holder: step });
        let whole = bytes * iterations as f64;
        self.text = self.text.replace("WHOLE", &format!("{whole}"));
    }

    /// Adds one that does not.
    pub fn bounded(&mut self, dice: &mut Dice, pace: Option<u64>) {
        let (kind, statement) = *dice.pick(&BOUNDED);
        let (iterations, size) = (iterations(dice, pace), dice.between(600, 60_000));
        let (bound, once) = (dice.between(8, iterations / 5), dice.between(1, iterations - 1));
        let values = [("SIZE", size), ("PASSES", iterations), ("ONCE", once), ("K", bound)];
        let statement = values
            .iter()
            .fold(statement.to_owned(), |text, (name, value)| text.replace(name, &value.to_string()));
        self.function(&statement, iterations, dice, pace);
        let name = format!("{kind} of {size} by {bound} in {iterations}{}", unit(pace));
        self.text = self.text.replace("WHOLE", "0.0");
        self.programs.push(Drawn { name, truth: Truth::Bounded, holder: None });
    }

    /// A function of its own; the line of the statement.
    fn function(&mut self, statement: &str, iterations: u64, dice: &mut Dice, pace: Option<u64>) -> u64 {
        let noisy = *dice.pick(&[0, 3_000, 50_000]);
        let number = self.programs.len();
        let warm = dice.between(0, iterations / 5);
        let wait =
            pace.map_or_else(String::new, |pace| format!("wait_until(start + (pass + 1) * {pace} / 1e3);"));
        self.text += &format!(
            "static void program_{number}(void) {{\n    double start = now();\n    for (int pass = 0; pass < {iterations}; pass++) {{\n        begin(pass, {noisy});\n        if (pass < {warm}) warm[pass] = malloc(700);\n"
        );
        let line = 1 + self.text.lines().count() as u64;
        let said = if pace.is_some() { "printf(\"truth %f\\n\", WHOLE / (now() - start));" } else { "" };
        self.text += &format!("        {statement}\n        {wait}\n    }}\n    {said}\n}}\n");
        line
    }

    /// Compiles them.
    pub fn build(self, folder: &Path) -> Vec<Program> {
        let calls: Vec<String> = (0..self.programs.len())
            .map(|number| format!("    case {number}: program_{number}(); break;\n"))
            .collect();
        let main = format!(
            "int main(int count, char **words) {{\n    if (count > 2) *(void **)&mark = dlsym(RTLD_DEFAULT, \"heaplens_mark\");\n    switch (atoi(words[1])) {{\n{}    }}\n    return 0;\n}}\n",
            calls.concat()
        );
        let (source, command) = (folder.join("programs.c"), folder.join("programs"));
        write(&source, &(self.text + &main));
        compile(&source, &command);
        let program = |(number, drawn): (usize, Drawn)| Program {
            name: format!("native {number}: {}", drawn.name),
            command: command.clone(),
            words: words(number, &drawn.name),
            truth: drawn.truth,
            file: "programs.c".into(),
            holder: drawn.holder,
        };
        self.programs.into_iter().enumerate().map(program).collect()
    }
}

fn iterations(dice: &mut Dice, pace: Option<u64>) -> u64 {
    match pace {
        Some(pace) => 1_500 / pace,
        None => dice.between(200, 600),
    }
}

fn unit(pace: Option<u64>) -> &'static str {
    if pace.is_some() { " per second" } else { "" }
}

/// A program that marks its iterations is asked to by a second word.
fn words(number: usize, name: &str) -> Vec<String> {
    let mut words = vec![number.to_string()];
    words.extend((!name.ends_with("per second")).then(|| "marks".to_owned()));
    words
}

fn compile(source: &Path, command: &PathBuf) {
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O1", "-g", "-w", "-D_GNU_SOURCE", "-fno-builtin"])
        .arg(source)
        .arg("-o")
        .arg(command)
        .arg("-ldl");
    let output = compiler.output().expect("a compiler is part of every test machine");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
