//! Compilers: large processes with deep stacks, and drivers that start them.

use std::fmt::Write;

use super::amount;
use super::trial::Trial;

/// Templates, lambdas and containers of own types, so that little of it is shared between the parts.
fn large_source(parts: u64) -> String {
    let mut source = String::from(
        "#include <algorithm>\n#include <functional>\n#include <iostream>\n#include <map>\n#include <regex>\n\
         #include <string>\n#include <unordered_map>\n#include <vector>\n\
         template <int N> struct Sum { static constexpr long value = Sum<N - 1>::value + N % 7; };\n\
         template <> struct Sum<0> { static constexpr long value = 1; };\n",
    );
    for part in 0..parts {
        writeln!(
            source,
            "struct Part{part} {{ int key; std::map<std::string, std::vector<Part{part}>> below; }};\n\
             long total(Part{part}& part) {{\n\
             \x20 long sum = Sum<{part}>::value;\n\
             \x20 for (auto& [name, parts] : part.below) {{\n\
             \x20   std::sort(parts.begin(), parts.end(), [](auto& a, auto& b) {{ return a.key < b.key; }});\n\
             \x20   sum += parts.size() + name.size();\n\
             \x20 }}\n\
             \x20 return sum;\n\
             }}"
        )
        .expect("a string takes all");
    }
    source + "int main() { Part0 part{3, {}}; std::cout << total(part) << std::endl; return 0; }\n"
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_cpp_compiler_on_a_large_file_is_unharmed() {
    let Some(trial) = Trial::of("a_cpp_compiler_on_a_large_file_is_unharmed", &["g++"]) else { return };
    let parts = amount("HEAPLENS_CPP_PARTS", 25);
    trial.input("large.cpp", large_source(parts)).unharmed(
        "g++ -std=c++17 -O1 -g -c large.cpp -o large.o
         g++ large.o -o large
         ./large",
    );
}

#[test]
fn a_cpp_compiler_that_reports_errors_is_unharmed() {
    let Some(trial) = Trial::of("a_cpp_compiler_that_reports_errors_is_unharmed", &["g++"]) else { return };
    let wrong =
        "#include <map>\n#include <string>\nint main() { std::map<std::string, int> m; return m.find(3); }\n";
    trial.input("wrong.cpp", wrong).unharmed_with_status("g++ -c wrong.cpp", 1);
}

/// `rustc` brings an allocator of its own that wins over every preloaded one: only its mappings are seen.
#[test]
fn cargo_building_a_small_crate_is_unharmed() {
    let Some(trial) = Trial::of("cargo_building_a_small_crate_is_unharmed", &["cargo"]) else { return };
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    let build = "fn main() { println!(\"cargo:rustc-env=BUILT=yes\"); }\n";
    let program = "use std::collections::HashMap;\n\
        fn main() {\n\
        \x20   let squares: HashMap<u32, u32> = (0..9).map(|n| (n, n * n)).collect();\n\
        \x20   let sum = std::thread::spawn(move || squares.values().sum::<u32>()).join().unwrap();\n\
        \x20   println!(\"{sum} {}\", env!(\"BUILT\"));\n\
        }\n";
    let trial = trial.input("Cargo.toml", manifest).input("build.rs", build).input("src/main.rs", program);
    // Cargo's own notes hold times; what it built does not.
    trial.unharmed(
        "export CARGO_TARGET_DIR=$PWD/built CARGO_INCREMENTAL=0
         cargo build --offline --quiet
         ./built/debug/small
         mv built/debug/small . && rm -r built",
    );
}
