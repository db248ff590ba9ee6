//! The programs of `tests/corpus`: reads their headers, checks that they are as different as promised, and chooses those that a run is
//! about. Never runs one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::header::Header;
use super::options::{CorpusOptions, Part, Task};
use crate::workspace::root;

/// As many different causes the corpus has at least.
const CAUSES: usize = 80;
/// As many programs share a cause at most.
const OF_ONE_CAUSE: usize = 4;

/// One program.
#[derive(Clone, Debug)]
pub struct CorpusProgram {
    /// Its class and its file, such as `c/page_lru.c`: its name everywhere.
    pub name: String,
    pub header: Header,
}

impl CorpusProgram {
    /// Where its source is.
    pub fn path(&self) -> PathBuf {
        folder().join(&self.name)
    }

    /// The name of its file.
    pub fn file(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// Its name where folders are not wanted.
    pub fn flat_name(&self) -> String {
        self.name.replace(['/', '.'], "-")
    }
}

/// Where the corpus is.
pub fn folder() -> PathBuf {
    root().join("tests/corpus")
}

/// All programs, by name.
pub fn all() -> Result<Vec<CorpusProgram>> {
    let mut programs = Vec::new();
    for class in entries(&folder())?.into_iter().filter(|entry| entry.is_dir()) {
        for path in entries(&class)? {
            programs.push(read(&path)?);
        }
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    check(&programs)?;
    Ok(programs)
}

/// Those that the options ask for.
pub fn chosen(programs: Vec<CorpusProgram>, options: &CorpusOptions) -> Result<Vec<CorpusProgram>> {
    let (held_out, fast) = (list("held-out.txt", &programs)?, list("fast.txt", &programs)?);
    ensure!(!fast.iter().any(|name| held_out.contains(name)), "fast.txt names a program that is held out");
    let in_part = |name: &String| match (options.part, options.task) {
        (Part::Open, Task::Truth) => true,
        (Part::Open, Task::Score | Task::Rescore) => !held_out.contains(name),
        (Part::Fast, _) => fast.contains(name),
        (Part::HeldOut, _) => held_out.contains(name),
    };
    let is_named =
        |name: &str| options.only.is_empty() || options.only.iter().any(|part| name.contains(part));
    let of_class = |class: &String| options.classes.is_empty() || options.classes.contains(class);
    let wanted = |program: &CorpusProgram| {
        in_part(&program.name) && is_named(&program.name) && of_class(&program.header.class)
    };
    let chosen: Vec<_> = programs.into_iter().filter(wanted).collect();
    ensure!(!chosen.is_empty(), "no such program in this part of the corpus");
    Ok(chosen)
}

fn read(path: &Path) -> Result<CorpusProgram> {
    let name = path.strip_prefix(folder()).unwrap_or(path).display().to_string();
    let source = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let header = Header::parse(&source).with_context(|| name.clone())?;
    let in_place = name.split('/').next() == Some(header.class.as_str());
    ensure!(in_place, "{name} says that its class is {}", header.class);
    Ok(CorpusProgram { name, header })
}

/// Whether causes are as many and as different as the README promises.
fn check(programs: &[CorpusProgram]) -> Result<()> {
    let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
    for program in programs {
        *causes.entry(&program.header.cause).or_default() += 1;
    }
    ensure!(causes.len() >= CAUSES, "{} causes, and {CAUSES} are promised", causes.len());
    let often = causes.iter().find(|(_, count)| **count > OF_ONE_CAUSE);
    ensure!(often.is_none(), "more than {OF_ONE_CAUSE} programs have one cause: {often:?}");
    Ok(())
}

/// Names that a file of the corpus lists, one in a line.
fn list(file: &str, programs: &[CorpusProgram]) -> Result<Vec<String>> {
    let path = folder().join(file);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let names: Vec<String> = text.lines().map(str::to_owned).collect();
    for name in &names {
        ensure!(
            programs.iter().any(|program| program.name == *name),
            "{file} names {name}, which is not there"
        );
    }
    Ok(names)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Vec<String> {
        let programs = chosen(all().unwrap(), &CorpusOptions::parse(words).unwrap()).unwrap();
        programs.into_iter().map(|program| program.name).collect()
    }

    #[test]
    fn every_program_is_labelled_and_no_class_has_leaks_alone() {
        let programs = all().unwrap();
        assert!(programs.len() >= 200, "{}", programs.len());
        for program in &programs {
            let mut class = programs.iter().filter(|other| other.header.class == program.header.class);
            assert!(class.any(|other| !other.header.label.is_leak()), "{}", program.header.class);
        }
    }

    #[test]
    fn what_is_held_out_runs_only_where_it_is_asked_for() {
        let (held_out, open) = (names(&["--held-out"]), names(&[]));
        assert!(!open.iter().any(|name| held_out.contains(name)));
        assert_eq!(open.len() + held_out.len(), names(&["--truth"]).len());
        assert!(names(&["--fast"]).iter().all(|name| open.contains(name)));
    }

    #[test]
    fn programs_are_chosen_by_class_and_by_part_of_their_name() {
        assert!(names(&["--class", "rust"]).iter().all(|name| name.starts_with("rust/")));
        assert!(names(&["--only", "cache"]).iter().all(|name| name.contains("cache")));
    }
}
