//! What corpus programs need to run: an interpreter with their packages, or themselves compiled. All of it goes below the build folder, but
//! for Debian's packages. Says what cannot be had; never leaves a program out silently.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

use super::programs::CorpusProgram;
use crate::environment::{self, Wanted};
use crate::packages::{self, FOR_CORPUS};
use crate::workspace::{printed, target};

const NUMPY: Wanted = ("numpy", "numpy==2.4.6");
const DATA: &[Wanted] = &[
    NUMPY,
    ("pandas", "pandas==3.1.1"),
    ("scipy", "scipy==1.17.1"),
    ("PIL", "pillow==13.0.0"),
    ("pyarrow", "pyarrow==26.0.1"),
];
const WEB: &[Wanted] = &[
    ("requests", "requests==2.34.2"),
    ("flask", "flask==3.1.3"),
    ("werkzeug", "werkzeug==3.1.9"),
    ("jinja2", "jinja2==3.1.6"),
    ("sqlalchemy", "sqlalchemy==2.1.8"),
    ("starlette", "starlette==1.10.0"),
    ("prometheus_client", "prometheus-client==0.26.0"),
];

/// The Python environment that a program runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Environment {
    Plain,
    Numpy,
    Data,
    Web,
    Torch,
    Jax,
    Tensorflow,
}

impl Environment {
    /// The smallest one that has all these packages.
    fn of(needs: &[String]) -> Result<Self> {
        let pypi = |need: &&String| !need.starts_with("apt:") || *need == "apt:python3-torch";
        let needs: Vec<&str> = needs.iter().filter(pypi).map(String::as_str).collect();
        let all = [Self::Plain, Self::Numpy, Self::Data, Self::Web, Self::Torch, Self::Jax, Self::Tensorflow];
        let found = all.into_iter().find(|environment| needs.iter().all(|need| environment.has(need)));
        found.with_context(|| format!("no environment has {}", needs.join(", ")))
    }

    fn has(self, need: &str) -> bool {
        let lists = |wanted: &[Wanted]| {
            let name = need.replace('_', "-");
            wanted.iter().any(|(_, distribution)| distribution.split("==").next() == Some(name.as_str()))
        };
        match self {
            Self::Plain => false,
            Self::Numpy => lists(&[NUMPY]),
            Self::Data => lists(DATA),
            Self::Web => lists(WEB),
            Self::Torch => need == "apt:python3-torch",
            Self::Jax => need == "jax",
            Self::Tensorflow => need == "tensorflow",
        }
    }

    /// Its interpreter, set up where it is not there yet.
    fn provide(self) -> Result<PathBuf> {
        match self {
            Self::Plain => environment::provide("corpus-python-plain", &[]),
            Self::Numpy => environment::provide("corpus-python-numpy", &[NUMPY]),
            Self::Data => environment::provide("corpus-python-data", DATA),
            Self::Web => environment::provide("corpus-python-web", WEB),
            Self::Torch => environment::torch(),
            Self::Jax => environment::jax(),
            Self::Tensorflow => environment::tensorflow(),
        }
    }
}

/// Command lines of programs.
#[derive(Debug)]
pub struct Setup {
    /// The interpreter of each environment that is needed, or why there is none.
    interpreters: BTreeMap<Environment, Result<PathBuf, String>>,
}

impl Setup {
    /// Sets up what these programs need.
    pub fn provide(programs: &[CorpusProgram]) -> Result<Self> {
        packages::provide(FOR_CORPUS);
        let mut interpreters = BTreeMap::new();
        for program in programs.iter().filter(|program| program.name.ends_with(".py")) {
            let environment = Environment::of(&program.header.needs).with_context(|| program.name.clone())?;
            let provide = || environment.provide().map_err(|error| format!("{error:#}"));
            interpreters.entry(environment).or_insert_with(provide);
        }
        Ok(Self { interpreters })
    }

    /// What runs a program; compiles it first where it is to be compiled.
    pub fn command_line(&self, program: &CorpusProgram) -> Result<Vec<OsString>> {
        if !program.name.ends_with(".py") {
            return Ok(vec![compiled(program)?.into()]);
        }
        match self.interpreters.get(&Environment::of(&program.header.needs)?) {
            Some(Ok(python)) => Ok(vec![python.into(), program.path().into()]),
            Some(Err(reason)) => Err(anyhow!("{reason}")),
            None => bail!("its environment was not set up"),
        }
    }
}

/// The program, built as its users would: optimised a little, with line tables.
fn compiled(program: &CorpusProgram) -> Result<PathBuf> {
    let (source, folder) = (program.path(), target().join("corpus/bin"));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let output = folder.join(program.flat_name());
    if !is_newer(&output, &source) {
        let (compiler, options) = compiler(&program.name)?;
        printed(Command::new(compiler).args(options).arg("-o").arg(&output).arg(&source))?;
    }
    Ok(output)
}

fn compiler(name: &str) -> Result<(&'static str, &'static [&'static str])> {
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("c") => Ok(("cc", &["-g", "-O1", "-pthread"])),
        Some("cpp") => Ok(("c++", &["-std=c++17", "-g", "-O1", "-pthread"])),
        Some("rs") => Ok(("rustc", &["-g", "-Copt-level=1", "--edition=2021"])),
        _ => bail!("nothing compiles {name}"),
    }
}

fn is_newer(output: &Path, source: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified());
    matches!((changed(output), changed(source)), (Ok(output), Ok(source)) if output > source)
}

#[cfg(test)]
mod tests {
    use super::super::programs;
    use super::*;

    #[test]
    fn every_program_has_an_environment_or_a_compiler() {
        for program in programs::all().unwrap() {
            if program.name.ends_with(".py") {
                Environment::of(&program.header.needs).unwrap();
            } else {
                compiler(&program.name).unwrap();
            }
        }
    }

    #[test]
    fn an_environment_is_chosen_by_what_is_needed() {
        let of = |needs: &[&str]| {
            Environment::of(&needs.iter().map(|need| (*need).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]).unwrap(), Environment::Plain);
        assert_eq!(of(&["apt:gcc"]).unwrap(), Environment::Plain);
        assert_eq!(of(&["numpy"]).unwrap(), Environment::Numpy);
        assert_eq!(of(&["numpy", "pillow"]).unwrap(), Environment::Data);
        assert_eq!(of(&["prometheus_client"]).unwrap(), Environment::Web);
        assert_eq!(of(&["apt:python3-torch"]).unwrap(), Environment::Torch);
        assert!(of(&["flask", "numpy"]).is_err());
    }
}
