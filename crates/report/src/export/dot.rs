//! The call graph that google-pprof draws, for graphviz: a box for each function, larger where it allocates more itself, an
//! arrow for each call with the bytes that were allocated below it. Small functions are left out, and the legend says how
//! many. Of a difference, only growth is drawn.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

use super::samples::StackRow;
use super::{Samples, What};
use crate::catalogue::stack::label::{CUT, NO_STACK, label};
use crate::catalogue::wording::one_line;

/// Boxes of a picture.
const BOXES: usize = 80;
/// A box with less than this part of the total is left out: one in two hundred.
const LEAST_OF_BOX: u64 = 200;
/// And an arrow: one in a thousand.
const LEAST_OF_ARROW: u64 = 1000;
/// Characters of a name: longer ones make unreadable boxes.
const LONGEST: usize = 80;

/// Writes the graph of one value.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(samples: &Samples<'_>, what: What, out: &mut dyn Write) -> io::Result<()> {
    let graph = Graph::of(samples, what);
    let kept = graph.kept();
    let title = quoted(&samples.profile.run.command.join(" "));
    writeln!(out, "digraph \"{title}; {} B\" {{", graph.total)?;
    writeln!(out, "node [width=0.375,height=0.25];")?;
    let legend = graph.legend(&title, what, kept.len());
    writeln!(out, "Legend [shape=plaintext,fontsize=24,label=\"{legend}\"];")?;
    for &function in &kept {
        writeln!(out, "N{function} {}", graph.node(function))?;
    }
    let is_kept: BTreeSet<usize> = kept.into_iter().collect();
    for (&(caller, callee), &bytes) in &graph.arrows {
        let matters = bytes.saturating_mul(LEAST_OF_ARROW) >= graph.total;
        if matters && is_kept.contains(&caller) && is_kept.contains(&callee) {
            writeln!(out, "N{caller} -> N{callee} {}", graph.arrow(bytes))?;
        }
    }
    writeln!(out, "}}")
}

/// Functions by number, and what was allocated in them and below them.
#[derive(Default)]
struct Graph {
    total: u64,
    names: Vec<String>,
    /// In the function itself, and with all that it called.
    bytes: Vec<[u64; 2]>,
    /// Caller and callee.
    arrows: BTreeMap<(usize, usize), u64>,
}

impl Graph {
    fn of(samples: &Samples<'_>, what: What) -> Self {
        let (mut graph, mut known) = (Self::default(), HashMap::new());
        for row in &samples.rows {
            if let Some(bytes) = u64::try_from(row.bytes(what)).ok().filter(|&bytes| bytes > 0) {
                let stack: Vec<usize> =
                    names(row).into_iter().map(|name| graph.number(&mut known, name)).collect();
                graph.add(&stack, bytes);
            }
        }
        graph
    }

    fn number(&mut self, known: &mut HashMap<String, usize>, name: String) -> usize {
        *known.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.bytes.push([0; 2]);
            self.names.len() - 1
        })
    }

    /// A function that is on a stack twice counts once.
    fn add(&mut self, stack: &[usize], bytes: u64) {
        self.total += bytes;
        self.bytes[stack[0]][0] += bytes;
        for function in stack.iter().collect::<BTreeSet<_>>() {
            self.bytes[*function][1] += bytes;
        }
        let calls: BTreeSet<(usize, usize)> = stack.windows(2).map(|pair| (pair[1], pair[0])).collect();
        for call in calls {
            *self.arrows.entry(call).or_default() += bytes;
        }
    }

    /// Functions that are drawn, the largest first.
    fn kept(&self) -> Vec<usize> {
        let matters = |function: &usize| self.bytes[*function][1].saturating_mul(LEAST_OF_BOX) >= self.total;
        let mut kept: Vec<usize> = (0..self.names.len()).filter(matters).collect();
        kept.sort_by_key(|&function| (Reverse(self.bytes[function]), function));
        kept.sort_by_key(|&function| Reverse(self.bytes[function][1]));
        kept.truncate(BOXES);
        kept
    }

    fn legend(&self, title: &str, what: What, kept: usize) -> String {
        let dropped = self.names.len() - kept;
        format!(
            "{title}\\l{}: {} B\\l{dropped} of {} functions are not drawn\\l",
            what.name(),
            self.total,
            self.names.len()
        )
    }

    fn node(&self, function: usize) -> String {
        let [own, all] = self.bytes[function];
        let name = quoted(&shortened(&self.names[function]));
        let (own_share, all_share) = (self.percent(own), self.percent(all));
        // As large as what it allocates itself: area, not height.
        let font = 8.0 + 42.0 * (own as f64 / self.total.max(1) as f64).sqrt();
        format!(
            "[label=\"{name}\\n{own} ({own_share})\\nof {all} ({all_share})\",shape=box,fontsize={font:.1}];"
        )
    }

    fn arrow(&self, bytes: u64) -> String {
        let share = bytes as f64 / self.total.max(1) as f64;
        let (weight, width) = ((100.0 * share).ceil(), 0.5 + 4.5 * share);
        format!("[label={bytes},weight={weight:.0},penwidth={width:.1}];")
    }

    fn percent(&self, bytes: u64) -> String {
        format!("{:.1}%", 100.0 * bytes as f64 / self.total.max(1) as f64)
    }
}

fn names(row: &StackRow<'_>) -> Vec<String> {
    let mut names: Vec<String> = row.frames.iter().map(|frame| label(frame)).collect();
    names.extend(row.is_cut.then(|| CUT.to_owned()));
    if names.is_empty() {
        names.push(NO_STACK.to_owned());
    }
    names
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    let start: String = name.chars().take(LONGEST - 1).collect();
    start + "…"
}

/// For use between quotation marks: a name may hold any character.
fn quoted(text: &str) -> String {
    let sound = one_line(text);
    sound.replace('\\', "\\\\").replace('"', "\\\"")
}
