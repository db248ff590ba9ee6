//! The code of a source line: the other way round from what a report needs, for options that name a line.

use std::path::Path;

use addr2line::Loader;

/// The ranges of addresses in an object file whose code belongs to a line, inlined code included. Empty where the file has no line
/// information, or none of this line. `file` is a path as the compiler saw it, or the end of one.
pub fn code_of_line(object: &Path, file: &str, line: u32) -> Vec<(u64, u64)> {
    const LAST: u64 = i64::MAX as u64;
    let Ok(loader) = Loader::new(object) else { return Vec::new() };
    let Ok(rows) = loader.find_location_range(0, LAST) else { return Vec::new() };
    let of_line = rows.filter(|(_, _, location)| {
        location.line == Some(line) && location.file.is_some_and(|path| ends_with(path, file))
    });
    of_line.map(|(start, length, _)| (start, start + length)).filter(|(start, end)| start < end).collect()
}

/// Whether the last parts of a path are these.
fn ends_with(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_path_ends_with_whole_parts() {
        assert!(ends_with("/src/a/main.c", "main.c") && ends_with("/src/a/main.c", "a/main.c"));
        assert!(ends_with("main.c", "main.c") && !ends_with("/src/domain.c", "main.c"));
    }

    #[test]
    fn the_code_of_a_line_is_found_by_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("lines.c"), folder.path().join("lines"));
        std::fs::write(
            &source,
            "int one(int x) {\n  return x * 3;\n}\nint main(void) {\n  return one(0);\n}\n",
        )
        .unwrap();
        let made = Command::new("gcc").args(["-g", "-O0", "-o"]).arg(&program).arg(&source).status().unwrap();
        assert!(made.success());
        let second = code_of_line(&program, "lines.c", 2);
        assert_eq!(second.len(), 1, "{second:x?}");
        assert_ne!(second, code_of_line(&program, "lines.c", 5));
        assert!(
            code_of_line(&program, "lines.c", 99).is_empty() && code_of_line(&program, "s.c", 2).is_empty()
        );
        assert!(code_of_line(&source, "lines.c", 2).is_empty());
    }
}
