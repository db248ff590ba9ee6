//! Which file of a crate imports which, read from its text, and where that runs in a circle. Code of tests does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::imports::{imports, without_tests};

/// A module by its path below the crate's root.
type Module = Vec<String>;

/// Modules that import each other, each with those of them that it imports.
pub type Circle = BTreeMap<String, Vec<String>>;

/// The files of a crate, with what each imports.
pub struct Crate {
    files: BTreeMap<Module, File>,
}

#[derive(Default)]
struct File {
    /// Every path that it names, as it is written.
    named: Vec<Vec<String>>,
    /// Types that it defines.
    types: Vec<String>,
    /// Modules that it declares.
    declared: BTreeSet<String>,
    /// Paths that it gives on, by the name that they have here.
    given_on: BTreeMap<String, Vec<String>>,
}

impl Crate {
    /// Reads the folder of sources.
    pub fn read(source: &Path) -> Result<Self> {
        let mut texts = BTreeMap::new();
        collect(source, &Module::new(), &mut texts)?;
        let tests: BTreeSet<Module> =
            texts.iter().flat_map(|(module, text)| test_files(module, text)).collect();
        texts.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        let files =
            texts.into_iter().map(|(module, text)| (module, File::of(&without_tests(&text)))).collect();
        Ok(Self { files })
    }

    /// Files that import each other, directly or through others: each circle as its modules, each with those of the circle that it imports.
    pub fn circles(&self) -> Vec<Circle> {
        let reached: BTreeMap<&Module, BTreeSet<Module>> =
            self.files.keys().map(|module| (module, self.reached_from(module))).collect();
        let mut circles = Vec::new();
        let mut known = BTreeSet::new();
        for (module, others) in &reached {
            let is_mutual = |other: &&Module| reached.get(*other).is_some_and(|back| back.contains(*module));
            let circle: BTreeSet<&Module> = others.iter().filter(is_mutual).collect();
            if circle.len() > 1 && known.insert(circle.clone()) {
                circles.push(self.edges_inside(&circle));
            }
        }
        circles
    }

    /// Names of types that mean more than one thing, each with the files that define it.
    pub fn ambiguous_types(&self) -> BTreeMap<&str, Vec<String>> {
        let mut defined: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (module, file) in &self.files {
            file.types.iter().for_each(|kind| defined.entry(kind).or_default().push(name(module)));
        }
        defined.retain(|_, modules| modules.len() > 1);
        defined
    }

    fn edges_inside(&self, circle: &BTreeSet<&Module>) -> Circle {
        let inside = |module: &Module| {
            let imported = self.imported_by(module);
            imported.iter().filter(|other| circle.contains(other)).map(name).collect()
        };
        circle.iter().map(|module| (name(module), inside(module))).collect()
    }

    fn reached_from(&self, module: &Module) -> BTreeSet<Module> {
        let (mut reached, mut waiting) = (BTreeSet::new(), vec![module.clone()]);
        while let Some(next) = waiting.pop() {
            for import in self.imported_by(&next) {
                if reached.insert(import.clone()) {
                    waiting.push(import);
                }
            }
        }
        reached
    }

    fn imported_by(&self, module: &Module) -> BTreeSet<Module> {
        let Some(file) = self.files.get(module) else { return BTreeSet::new() };
        let resolved = file.named.iter().filter_map(|path| self.resolve(module, path, 8));
        resolved.filter(|other| other != module).collect()
    }

    /// The file that has what a path names, past those that only give it on.
    fn resolve(&self, from: &Module, path: &[String], depth: u8) -> Option<Module> {
        let (mut module, mut rest) = self.start(from, path)?;
        while let Some((name, after)) = rest.split_first() {
            let child: Module = module.iter().chain([name]).cloned().collect();
            if !self.files.contains_key(&child) {
                break;
            }
            (module, rest) = (child, after);
        }
        // A module whose file is elsewhere, by an attribute.
        if rest
            .first()
            .is_some_and(|name| self.files.get(&module).is_some_and(|file| file.declared.contains(name)))
        {
            return None;
        }
        let given_on = rest.first().and_then(|name| self.files.get(&module)?.given_on.get(name));
        match given_on.filter(|_| depth > 0) {
            Some(path) => self.resolve(&module, path, depth - 1).or(Some(module)),
            None => Some(module),
        }
    }

    /// Where a path begins; `None` where that is another crate.
    fn start<'p>(&self, from: &Module, path: &'p [String]) -> Option<(Module, &'p [String])> {
        let mut module = from.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => return Some((Module::new(), &rest[1..])),
            "self" => return Some((module, &rest[1..])),
            "super" => {}
            name => {
                module.push(name.to_owned());
                return self.files.contains_key(&module).then(|| (from.clone(), rest));
            }
        }
        while rest.first().is_some_and(|name| name == "super") {
            module.pop()?;
            rest = &rest[1..];
        }
        Some((module, rest))
    }
}

impl File {
    fn of(text: &str) -> Self {
        let (declared, types) = (declared(text).collect(), types(text).collect());
        let mut file = Self { declared, types, ..Self::default() };
        for import in imports(text) {
            if import.is_given_on
                && let Some(name) = import.path.last()
            {
                file.given_on.insert(name.clone(), import.path.clone());
            }
            file.named.push(import.path);
        }
        file
    }
}

/// The modules that a text declares: `mod x;`, `pub mod x;`.
fn declared(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| {
        let words = line.trim().strip_suffix(';')?;
        let (_, name) =
            words.rsplit_once("mod ").filter(|(before, _)| before.is_empty() || before.starts_with("pub"))?;
        Some(name.to_owned())
    })
}

/// The types that a text defines, other than those that a trait asks for.
fn types(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| {
        let words = line
            .strip_prefix("pub(crate) ")
            .or(line.strip_prefix("pub(super) "))
            .or(line.strip_prefix("pub "));
        let (kind, rest) = words.unwrap_or(line).split_once(' ')?;
        let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
        matches!(kind, "struct" | "enum" | "type" | "trait" | "union").then(|| name.to_owned())
    })
}

fn name(module: &Module) -> String {
    if module.is_empty() { "(root)".to_owned() } else { module.join("::") }
}

fn collect(folder: &Path, module: &Module, texts: &mut BTreeMap<Module, String>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let inner: Module = module.iter().cloned().chain([name]).collect();
            collect(&path, &inner, texts)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            let own = !matches!(name.as_str(), "mod" | "lib" | "main");
            let path: PathBuf = path;
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            texts.insert(module.iter().cloned().chain(own.then_some(name)).collect(), text);
        }
    }
    Ok(())
}

/// Modules that a file declares for its tests alone.
fn test_files(module: &Module, text: &str) -> Vec<Module> {
    let mut lines = text.lines().map(str::trim);
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" {
            continue;
        }
        let next = lines.next().unwrap_or_default();
        let name = next.trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        if let Some(name) = name.strip_prefix("mod ").and_then(|name| name.strip_suffix(';')) {
            found.push(module.iter().cloned().chain([name.to_owned()]).collect());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let module =
            |path: &str| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let files = files.iter().map(|(path, text)| (module(path), File::of(text))).collect();
        Crate { files }.circles().into_iter().map(|circle| circle.into_keys().collect()).collect()
    }

    #[test]
    fn files_that_import_each_other_are_a_circle_also_around_corners() {
        let files =
            [("", ""), ("a", "use crate::b::B;"), ("b", "use super::c;"), ("c", "fn f(a: crate::a::A) {}")];
        assert_eq!(circles(&files), [["a", "b", "c"]]);
    }

    #[test]
    fn a_door_that_gives_names_on_is_not_where_they_are_imported_from() {
        let door = "mod x;\nmod y;\npub use x::X;\npub use y::Y;";
        let files = [("", ""), ("d", door), ("d::x", "use super::Y;"), ("d::y", "struct Y;")];
        assert_eq!(circles(&files), Vec::<Vec<String>>::new());
        let files = [("", ""), ("d", door), ("d::x", "use super::Y;"), ("d::y", "use super::{X, other};")];
        assert_eq!(circles(&files).len(), 1);
    }

    #[test]
    fn a_module_whose_file_is_elsewhere_is_not_the_one_that_declares_it() {
        let files = [("", "mod far;\nmod a;\nuse a::A;"), ("a", "use crate::far::F;")];
        assert_eq!(circles(&files), Vec::<Vec<String>>::new());
        let files = [("", "mod far;\nmod a;\nuse a::A;"), ("a", "use crate::near;")];
        assert_eq!(circles(&files).len(), 1);
    }

    #[test]
    fn a_type_that_two_files_define_is_ambiguous() {
        let file = |text: &str| File::of(text);
        let a = file("pub struct Key(u8);\nenum Own {}\nimpl X {\n    type Item = u8;\n}");
        let b = file("pub(crate) type Key<'a> = &'a str;\ntrait Item {}");
        let found = Crate { files: BTreeMap::from([(vec!["a".to_owned()], a), (vec!["b".to_owned()], b)]) };
        assert_eq!(found.ambiguous_types(), BTreeMap::from([("Key", vec!["a".to_owned(), "b".to_owned()])]));
    }
}
