//! Interpreters that the machine's own packages do not have: from a newer suite of Debian, unpacked into a folder below the
//! build's. Nothing is installed, and the machine's apt keeps its lists, its state and its settings.
//!
//! ```text
//!   target/interpreters/usr/bin/python3.14         with the loader and the libraries of the same folder written into it
//!                      /usr/lib/x86_64-linux-gnu/  the newer libc and whatever else the interpreter needs
//!                      /apt/                       lists, state and packages of this one set-up
//! ```
//!
//! Tests find the folder when it is there; where it cannot be had, they say what did not run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::{printed, succeed, target};

/// The suite that has them.
const SUITE: &str = "forky";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A version whose lines are read, its headers, one that is too new, and a debug build; and what writes paths into programs.
const PACKAGES: [&str; 6] =
    ["python3.14", "python3.14-venv", "libpython3.14-dev", "python3.15", "python3.14-dbg", "patchelf"];
/// The programs of these packages.
const PROGRAMS: [&str; 3] = ["python3.14", "python3.15", "python3.14d"];

/// Unpacks them where they are not there yet. Without them the long runs are shorter.
pub fn provide() {
    let folder = target().join("interpreters");
    let has_headers = folder.join("usr/include/python3.14").exists();
    if has_headers && PROGRAMS.iter().all(|name| starts(&program(&folder, name))) {
        return;
    }
    println!("setting up {} with {}", folder.display(), PACKAGES.join(", "));
    if let Err(error) = unpack(&folder) {
        eprintln!("no other interpreters: {error:#}");
    }
}

fn unpack(folder: &Path) -> Result<()> {
    let apt = Apt::new(folder.join("apt"))?;
    for package in apt.download()? {
        succeed(Command::new("dpkg-deb").arg("-x").arg(package).arg(folder))?;
    }
    remove_library(folder)?;
    PROGRAMS.iter().try_for_each(|name| bind(folder, name))
}

/// The headers bring the interpreter as a library, which needs a newer libc than the programs of the tests that would load it.
fn remove_library(folder: &Path) -> Result<()> {
    let library = folder.join("usr/lib/x86_64-linux-gnu/libpython3.14.so.1.0");
    match std::fs::remove_file(&library) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", library.display()))
        }
        _ => Ok(()),
    }
}

fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join("usr/bin").join(name)
}

fn starts(program: &Path) -> bool {
    Command::new(program).args(["-c", ""]).status().is_ok_and(|status| status.success())
}

/// Writes the folder's own loader and libraries into a program. First the libraries: the other way round patchelf 0.18 writes
/// programs at a fixed address that do not start.
fn bind(folder: &Path, name: &str) -> Result<()> {
    let libraries = folder.join("usr/lib/x86_64-linux-gnu");
    let loader = libraries.join("ld-linux-x86-64.so.2");
    let patch = |option: &str, value: &Path| {
        let mut patchelf = Command::new(&loader); // it is as new as the rest
        patchelf.arg("--library-path").arg(&libraries).arg(program(folder, "patchelf"));
        succeed(patchelf.args(["--force-rpath", option]).arg(value).arg(program(folder, name)))
    };
    patch("--set-rpath", &libraries)?;
    patch("--set-interpreter", &loader)
}

/// Debian's package tool with a folder of its own for everything that it reads and writes.
struct Apt {
    folder: PathBuf,
    settings: PathBuf,
}

impl Apt {
    fn new(folder: PathBuf) -> Result<Self> {
        for part in ["state/lists/partial", "cache/archives/partial"] {
            std::fs::create_dir_all(folder.join(part)).context("cannot make a folder for packages")?;
        }
        let apt = Self { settings: folder.join("apt.conf"), folder };
        let source = format!("deb {}{} {SUITE} main\n", signed_by(), mirror()?);
        apt.write("sources.list", &source)?;
        apt.write("status", "")?; // as if nothing were installed: libc comes along, too
        apt.write("apt.conf", &apt.words())?;
        Ok(apt)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// What differs from the machine's settings; what that runs behind an update is for the machine's own packages.
    fn words(&self) -> String {
        let place = |name: &str| self.folder.join(name).display().to_string();
        format!(
            "#clear APT::Update;\nDebug::NoLocking \"1\";\nDir::Etc::SourceList \"{}\";\nDir::Etc::SourceParts \"/dev/null\";\n\
             Dir::State \"{}\";\nDir::State::status \"{}\";\nDir::Cache \"{}\";\n",
            place("sources.list"),
            place("state"),
            place("status"),
            place("cache"),
        )
    }

    /// The packages with all that they need.
    fn download(&self) -> Result<Vec<PathBuf>> {
        let apt = |words: &[&str]| {
            let mut command = Command::new("apt-get");
            command.arg("-qq").arg("-c").arg(&self.settings).args(words);
            printed(&mut command)
        };
        apt(&["update"])?;
        apt(&[&["install", "--yes", "--download-only", "--no-install-recommends"][..], &PACKAGES].concat())?;
        let files = std::fs::read_dir(self.folder.join("cache/archives")).context("no packages came")?;
        let packages = files.flatten().map(|file| file.path());
        Ok(packages.filter(|path| path.extension().is_some_and(|end| end == "deb")).collect())
    }
}

/// Where the machine has Debian's own packages from.
fn mirror() -> Result<String> {
    const FORMAT: &str = "$(ORIGIN)|$(LABEL)|$(REPO_URI)";
    let known =
        printed(Command::new("apt-get").args(["indextargets", "--format", FORMAT, "Created-By: Packages"]))?;
    let mut known = known.lines().filter_map(|line| line.strip_prefix("Debian|Debian|"));
    known.next().map(str::to_owned).context("apt has no packages of Debian here")
}

fn signed_by() -> String {
    if Path::new(KEYRING).exists() { format!("[signed-by={KEYRING}] ") } else { String::new() }
}
