//! Paths that a source file names: its `use` declarations, and paths of its own crate elsewhere in the code.

/// A path that is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Its parts, a glob left out.
    pub path: Vec<String>,
    /// Whether others may import it from here.
    pub is_given_on: bool,
}

/// The text up to its tests, which stand last.
pub fn without_tests(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    text[..end].to_owned()
}

/// Every path that a text names.
pub fn imports(text: &str) -> Vec<Import> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    let mut rest = code.as_str();
    while let Some((declaration, after)) = next_use(rest) {
        let is_given_on = declaration.0;
        let paths = expanded(declaration.1).into_iter();
        found.extend(paths.map(|path| Import { path, is_given_on }));
        rest = after;
    }
    found.extend(mentioned(&code).into_iter().map(|path| Import { path, is_given_on: false }));
    found
}

/// The next `use …;`: whether it is public, what stands in it, and the text after it.
fn next_use(text: &str) -> Option<((bool, &str), &str)> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let (visibility, declared) = match trimmed.strip_prefix("pub") {
            Some(after) => (true, after.split_once("use ").filter(|(between, _)| is_visibility(between))),
            None => (false, trimmed.strip_prefix("use ").map(|after| ("", after))),
        };
        if let Some((_, declared)) = declared {
            let start = offset + line.len() - declared.len();
            let length = text[start..].find(';')?;
            return Some(((visibility, &text[start..start + length]), &text[start + length..]));
        }
        offset += line.len();
    }
    None
}

fn is_visibility(between: &str) -> bool {
    let between = between.trim();
    between.is_empty() || between.starts_with('(') && between.ends_with(')')
}

/// The paths of a tree of imports: `a::{b, c::{d, e as f}}`.
fn expanded(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else { return vec![parts(tree)] };
    let prefix = parts(&tree[..open]);
    let inner = tree[open + 1..].trim_end().strip_suffix('}').unwrap_or(&tree[open + 1..]);
    let branches = branches(inner).into_iter().flat_map(expanded);
    branches.map(|path| prefix.iter().cloned().chain(path).collect()).collect()
}

/// What commas separate, but for those inside braces.
fn branches(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0_usize, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[start..]);
    found.into_iter().filter(|branch| !branch.trim().is_empty()).collect()
}

fn parts(path: &str) -> Vec<String> {
    let path = path.split(" as ").next().unwrap_or_default();
    let parts =
        path.split("::").map(str::trim).filter(|part| !part.is_empty() && *part != "*" && *part != "self");
    parts.map(str::to_owned).collect()
}

/// Paths in code that begin at the crate or above.
fn mentioned(code: &str) -> Vec<Vec<String>> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_' || character == ':';
    let words = code.split(|character| !is_part(character));
    let paths = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    paths.map(parts).filter(|path| path.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_of_imports_are_taken_apart() {
        let text = "pub(crate) use a::{b, c::{self, d as e}};\nuse super::f::*; // use nothing::at_all;\n";
        let paths: Vec<(String, bool)> =
            imports(text).into_iter().map(|import| (import.path.join("::"), import.is_given_on)).collect();
        let expected = [("a::b", true), ("a::c", true), ("a::c::d", true), ("super::f", false)];
        assert_eq!(&paths[..4], expected.map(|(path, given)| (path.to_owned(), given)));
    }

    #[test]
    fn paths_in_code_count_too_and_other_crates_do_not() {
        let paths = imports("fn f() -> crate::a::B { super::c::d(std::mem::take(x)) }");
        let paths: Vec<String> = paths.into_iter().map(|import| import.path.join("::")).collect();
        assert_eq!(paths, ["crate::a::B", "super::c::d"]);
    }
}
