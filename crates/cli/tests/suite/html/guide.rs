//! The user guide: its pictures are taken here, of the program that it describes, and are kept in `docs/guide`. With
//! HEAPLENS_GUIDE_PICTURES they are put there again.

use std::path::Path;

use super::browser::pictured;
use super::page;
use crate::harness::{Finished, Folder, Heaplens};
use crate::python::interpreters;

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const MOST_BYTES: usize = 150_000;
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The pictures that the guide shows.
fn shown() -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(GUIDE).join("README.md")).expect("the guide is there");
    let pictures = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut pictures: Vec<String> =
        pictures.filter(|name| name.ends_with(".png")).map(str::to_owned).collect();
    pictures.sort();
    pictures
}

fn assert_small_picture(path: &Path) {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(bytes.starts_with(PNG) && bytes.len() < MOST_BYTES, "{}: {} bytes", path.display(), bytes.len());
}

#[test]
fn every_picture_of_the_guide_is_there_and_small() {
    let shown = shown();
    assert!(!shown.is_empty());
    shown.iter().for_each(|name| assert_small_picture(&Path::new(GUIDE).join(name)));
}

/// As people type it: the page shows the words of the command line.
fn recorded() -> Finished {
    let (folder, mut command) =
        Heaplens::on(Path::new("python3"), &["-q"]).arg("examples/history.py").into_parts();
    let own = interpreters::any().parent().expect("it is in a folder").display().to_string();
    let path = format!("{own}:{}", std::env::var("PATH").expect("a path"));
    let output = command.env("PATH", path).current_dir(ROOT).output().expect("heaplens starts");
    Finished { folder, output }.expect_status(0)
}

#[test]
fn the_pictures_of_the_guide_can_be_taken_again() {
    let test = "html::guide::the_pictures_of_the_guide_can_be_taken_again";
    let (run, folder) = (recorded(), Folder::new());
    let Some(taken) = pictured(test, &page(&run), folder.path()) else { return };
    assert_eq!(taken, shown(), "what is taken is what is shown");
    for name in &taken {
        assert_small_picture(&folder.file(name));
        if std::env::var_os("HEAPLENS_GUIDE_PICTURES").is_some() {
            std::fs::copy(folder.file(name), Path::new(GUIDE).join(name))
                .expect("the guide's folder is writable");
        }
    }
}
