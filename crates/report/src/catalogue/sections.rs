//! What is said of the parts of a program whose leaks were checked.

use heaplens_analyze::profile::{Category, CheckedAt, LeftAs, SectionLine, SectionProfile};
use heaplens_format::Bytes;
use heaplens_format::recording::Amount;

use super::leaks::name;
use super::number::{count, size};
use super::wording::amount_words;

/// What became of blocks, in words.
pub(crate) fn left_words(left_as: LeftAs) -> &'static str {
    match left_as {
        LeftAs::Lost(kind) => name(kind),
        LeftAs::Unreferenced => "unreferenced",
        LeftAs::Garbage => "garbage",
        LeftAs::Held => "held",
        LeftAs::Unknown => "not checked",
    }
}

/// Whether blocks are lost: nothing leads to them that the program could use.
pub(crate) fn is_lost(line: &SectionLine) -> bool {
    matches!(line.left_as, LeftAs::Lost(_) | LeftAs::Unreferenced)
}

/// `eval: 3 passes, allocated 4.0 MiB in 1,024 blocks, left 12.0 KiB in 3 blocks`.
pub(crate) fn headline(section: &SectionProfile) -> String {
    let heap = section.of(Category::Heap);
    let left = match heap.left.blocks {
        0 => "left nothing of it on the heap".to_owned(),
        _ => format!("left {}", amount_words(heap.left)),
    };
    let passes = format!("{} {}", count(section.passes), if section.passes == 1 { "pass" } else { "passes" });
    format!("{}: {passes}, allocated {}, {left}", section.name, amount_words(heap.allocated))
}

/// What is to be known of how its lines were found; nothing where they are of the end of its last pass.
pub(crate) fn note(section: &SectionProfile) -> Option<String> {
    let open = if section.is_open { "it had not ended when the program did; " } else { "" };
    let checked = match &section.checked {
        CheckedAt::Never => "no heap snapshot was taken at its end: what is lost is not known".to_owned(),
        CheckedAt::NotDone(why) => format!("no leak check: {why}"),
        CheckedAt::Exit => "its blocks were looked for at exit".to_owned(),
        CheckedAt::Pass(pass) if *pass == section.passes && !section.is_open => return None,
        CheckedAt::Pass(pass) => format!("its blocks were looked for at the end of pass {}", count(*pass)),
    };
    Some(format!("{open}{checked}"))
}

/// How what it leaves rises from pass to pass, where several are known.
pub(crate) fn growth(section: &SectionProfile) -> Option<String> {
    let bytes = section.bytes_per_pass()?;
    let passes = section.ends.len() as u64;
    let amount = size(Bytes::new(bytes.abs().round() as u64));
    Some(match bytes {
        bytes if bytes >= 0.5 => format!("each pass left {amount} more, on average of {}", count(passes)),
        bytes if bytes <= -0.5 => format!("each pass left {amount} less, on average of {}", count(passes)),
        _ => "no pass left more than the first".to_owned(),
    })
}

/// What Python's small objects were left, which are a sample.
pub(crate) fn objects(section: &SectionProfile, are_sampled: bool) -> Option<String> {
    let left = section.of(Category::Objects).left;
    let about = if are_sampled { "about " } else { "" };
    (left != Amount::default()).then(|| format!("small Python objects: left {about}{}", amount_words(left)))
}
