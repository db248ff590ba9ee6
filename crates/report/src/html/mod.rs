//! The report as one HTML file that opens from disk, without a server and without the network. The text is in the
//! markup, so that it can be read where scripts do not run; the script, without libraries, draws the timeline
//! and the flame graph from data beside it. A Content-Security-Policy lets this script and this style run, by their hashes,
//! and nothing else: no name from a recorded program can become code.

mod data;
mod digest;
mod errors;
mod findings;
mod flame;
mod head;
mod ledger;
mod lost;
mod markup;
mod sections;
mod sites;
mod strings;
mod timeline;
mod unseen;

use std::io::{self, Write};

use heaplens_analyze::Profile;
use serde::Serialize;

use flame::Flame;
use markup::Markup;
use strings::Strings;
use timeline::Timeline;

const STYLE: &str = include_str!("page.css");
/// Where the colours of the ledger's lines go in the style.
const COLOURS: &str = "/* colours of lines */\n";
const SCRIPT: &str = concat!(
    "\"use strict\";\n",
    include_str!("words.js"),
    include_str!("timeline.js"),
    include_str!("flame.js"),
    include_str!("flame_view.js"),
    include_str!("page.js")
);

/// What the script draws.
#[derive(Serialize)]
struct Data {
    strings: Vec<String>,
    /// The unit of growth: iteration or second.
    per: &'static str,
    timeline: Timeline,
    flame: Flame,
}

/// Writes the page.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Markup::default();
    page.fixed("<!DOCTYPE html>\n");
    page.inside("html", &[("lang", "en")], |page| {
        page.inside("head", &[], |page| metadata(profile, page));
        page.inside("body", &[], |page| body(profile, page));
    });
    out.write_all(page.into_text().as_bytes())?;
    out.write_all(b"\n")
}

fn metadata(profile: &Profile, page: &mut Markup) {
    let style = STYLE.replace(COLOURS, &timeline::colours(profile.tables));
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        digest::named(SCRIPT),
        digest::named(&style)
    );
    page.fixed("<meta charset=\"utf-8\">\n");
    page.empty("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
    page.fixed(
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n",
    );
    page.element("title", &[], &head::title(profile));
    page.fixed("\n");
    page.verbatim("style", &[], &style);
}

fn body(profile: &Profile, page: &mut Markup) {
    page.fixed("<a class=\"skip\" href=\"#main\">Skip to the verdict</a>\n");
    head::banner(profile, page);
    page.inside("main", &[("id", "main")], |page| {
        head::verdict(profile, page);
        if profile.pid.is_some() {
            parts(profile, page);
        }
        unseen::write(profile, page);
    });
    head::footer(profile, page);
    let data = data(profile);
    page.verbatim("script", &[("type", "application/json"), ("id", "data")], &data::harmless(&data));
    page.verbatim("script", &[], SCRIPT);
}

fn parts(profile: &Profile, page: &mut Markup) {
    errors::write(profile, page);
    findings::write(profile, page);
    timeline::write(profile, page);
    page.section("flame", "Flame graph", flame_part);
    sites::write(profile, page);
    ledger::write(profile, page);
    lost::write(profile, page);
    sections::write(profile, page);
}

/// The container of the flame graph, which the script fills.
fn flame_part(page: &mut Markup) {
    page.fixed(include_str!("flame.html"));
}

fn data(profile: &Profile) -> Data {
    let mut strings = Strings::default();
    let flame = flame::flame(profile, &mut strings);
    Data {
        timeline: timeline::timeline(profile),
        flame,
        per: crate::catalogue::evidence::per(profile),
        strings: strings.into_list(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The classes in the selectors of the style; of `kind-0`, `kind-1` … what they have in common.
    fn classes() -> Vec<&'static str> {
        let (rules, _) = STYLE.rsplit_once('{').expect("it has rules");
        let selectors = rules.split('{').filter_map(|text| text.rsplit(['}', ';']).next());
        let words = selectors.flat_map(|selector| selector.split('.').skip(1));
        let end =
            |word: &str| word.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(word.len());
        let classes = words.map(|word| word[..end(word)].trim_end_matches(|c: char| c.is_ascii_digit()));
        classes.filter(|class| !class.is_empty()).collect()
    }

    #[test]
    fn every_class_of_the_style_is_one_that_the_page_has() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/html");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let pages = files.filter(|path| path.extension().is_none_or(|extension| extension != "css"));
        let source: String = pages.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        let missing: Vec<&str> = classes().into_iter().filter(|class| !source.contains(class)).collect();
        assert_eq!(missing, [""; 0]);
        assert!(classes().contains(&"command"));
    }
}
