//! C31: the number of threads grows, and with it their stacks. The engine counts them, and applies this rule where only the
//! timeline or the ledgers show the growth.

use super::site_growth::by_owner;
use crate::diagnose::rule::{Finding, Rule, Text};
use crate::profile::StackFrame;

pub(crate) static RULE: Rule = Rule {
    title: Text::By(|finding, _| match have_ended(finding) {
        true => "Finished threads are never joined and keep their stacks",
        false => "Thread growth: threads are started and do not exit",
    }),
    verdict: Text::By(by_owner),
    fix: Text::By(|finding, line| {
        let is_python = line.is_some_and(StackFrame::is_python);
        match (have_ended(finding), is_python) {
            (true, _) => "join each thread, or detach it when you start it",
            (false, true) => {
                "let each thread exit when its work is done, shut down executors, or share one pool across iterations"
            }
            (false, false) => "let each thread exit when its work is done, or use one thread pool",
        }
    }),
    layer: Some("thread-stacks"),
    holder: &["the threads that were started"],
    of_line: Some(|_, threads| threads.is_some()),
    ..Rule::new("C31", "threads", 210)
};

fn have_ended(finding: &Finding) -> bool {
    finding.threads.is_some_and(|threads| threads.have_ended)
}
