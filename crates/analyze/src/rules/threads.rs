//! C31: threads become more and more, and with them their stacks. The engine finds how many there are, and names the rule where
//! the time-line or the ledgers alone say so.

use super::site_growth::by_owner;
use crate::growth::{Finding, Rule, Text};
use crate::profile::StackFrame;

pub(crate) static RULE: Rule = Rule {
    title: Text::By(|_, finding| match have_ended(finding) {
        true => "Threads end and are never joined: their stacks stay",
        false => "More and more threads are started, and they do not end",
    }),
    verdict: Text::By(by_owner),
    fix: Text::By(|profile, finding| {
        let is_python = finding.line(profile).is_some_and(StackFrame::is_python);
        match (have_ended(finding), is_python) {
            (true, _) => "join each thread, or detach it when it is started",
            (false, true) => {
                "end each thread when its work is done, shut executors down, or use one pool for all iterations"
            }
            (false, false) => "end each thread when its work is done, or use one pool of threads",
        }
    }),
    layer: Some("thread-stacks"),
    of_line: Some(|_, threads| threads.is_some()),
    ..Rule::new("C31", "threads", 210)
};

fn have_ended(finding: &Finding) -> bool {
    finding.threads.is_some_and(|threads| threads.have_ended)
}
