//! Scores of many programs as a table, a line for each class and one for all, and the list of what is wrong. Only adds up.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::score::Score;

const HEAD: &str = "\
| class | programs | verdicts | leaks found | false alarms | precision | lines | slopes | iterations | holders | fixes |
|---|---|---|---|---|---|---|---|---|---|---|
";

/// How many of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    right: usize,
    of: usize,
}

impl Share {
    fn add(&mut self, right: Option<bool>) {
        self.right += usize::from(right == Some(true));
        self.of += usize::from(right.is_some());
    }

    fn text(self) -> String {
        match self.of {
            0 => "–".to_owned(),
            of => format!("{} of {of}", self.right),
        }
    }

    fn percent(self) -> String {
        match self.of {
            0 => "–".to_owned(),
            of => format!("{:.0} %", 100.0 * self.right as f64 / of as f64),
        }
    }
}

/// One line of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ClassScore {
    verdicts: Share,
    leaks_found: Share,
    false_alarms: Share,
    precision: Share,
    lines: Share,
    slopes: Share,
    iterations: Share,
    holders: Share,
    fixes: Share,
}

impl ClassScore {
    fn add(&mut self, score: &Score) {
        self.verdicts.add(Some(score.verdict_right));
        self.leaks_found.add(score.label.is_leak().then_some(score.says_leak));
        self.false_alarms.add((!score.label.is_leak()).then_some(score.says_leak));
        self.precision.add(score.says_leak.then_some(score.label.is_leak()));
        self.lines.add(score.line_right);
        self.slopes.add(score.slope_right());
        self.iterations.add(score.iterations_right);
        self.holders.add(score.holder_right);
        self.fixes.add(score.fix_right);
    }

    fn text(&self, name: &str) -> String {
        let shares = [self.verdicts, self.leaks_found, self.false_alarms].map(Share::text).join(" | ");
        let rest = [self.lines, self.slopes, self.iterations, self.holders, self.fixes].map(Share::text);
        let (programs, precision) = (self.verdicts.of, self.precision.percent());
        format!("| {name} | {programs} | {shares} | {precision} | {} |\n", rest.join(" | "))
    }

    fn percents(&self) -> String {
        format!(
            "verdicts right {}, recall {}, precision {}, false alarms {}, lines right {}, slopes within 10 % {}, \
             iterations right {}, holders right {}, fixes right {}\n",
            self.verdicts.percent(),
            self.leaks_found.percent(),
            self.precision.percent(),
            self.false_alarms.right,
            self.lines.percent(),
            self.slopes.percent(),
            self.iterations.percent(),
            self.holders.percent(),
            self.fixes.percent(),
        )
    }
}

/// The table, and the totals in percent.
pub fn table(scores: &[Score]) -> String {
    let (mut classes, mut all) = (BTreeMap::<&str, ClassScore>::new(), ClassScore::default());
    for score in scores {
        classes.entry(&score.class).or_default().add(score);
        all.add(score);
    }
    let lines: String = classes.iter().map(|(name, class)| class.text(name)).collect();
    format!("{HEAD}{lines}{}\n{}", all.text("all"), all.percents())
}

/// Each program whose page is wrong somewhere, with what was expected and said.
pub fn wrong(scores: &[Score]) -> String {
    let mut text = String::new();
    for score in scores {
        let complaints = score.complaints();
        if !complaints.is_empty() {
            let _ = writeln!(text, "{}: {}", score.name, complaints.join(", "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::header::Label;
    use super::super::report::SaidReport;
    use super::*;

    fn score(class: &str, label: Label, said: &str) -> Score {
        let says_leak = matches!(said, "leak" | "lost");
        Score {
            name: format!("{class}/x"),
            class: class.to_owned(),
            label,
            said: SaidReport { verdict: said.to_owned(), ..SaidReport::default() },
            verdict_right: said == label.name(),
            says_leak,
            line_right: (says_leak && label.grows()).then_some(true),
            iterations_right: None,
            slope_error: (says_leak && label.grows()).then_some(0.2),
            holder_right: label.grows().then_some(says_leak),
            fix_right: None,
        }
    }

    fn scores() -> [Score; 4] {
        [
            score("c", Label::Leak, "leak"),
            score("c", Label::Leak, "clean"),
            score("c", Label::Clean, "leak"),
            score("rust", Label::Plateau, "plateau"),
        ]
    }

    #[test]
    fn classes_and_all_of_them_have_a_line() {
        let table = table(&scores());
        let c = "| c | 3 | 1 of 3 | 1 of 2 | 1 of 1 | 50 % | 1 of 1 | 0 of 1 | – | 1 of 2 | – |";
        assert!(table.contains(c), "{table}");
        assert!(table.contains("| all | 4 | 2 of 4 | 1 of 2 | 1 of 2 | 50 % |"), "{table}");
        assert!(
            table.contains("verdicts right 50 %, recall 50 %, precision 50 %, false alarms 1,"),
            "{table}"
        );
    }

    #[test]
    fn what_is_right_is_not_listed() {
        let wrong = wrong(&scores());
        assert_eq!(wrong.lines().count(), 3);
        assert!(wrong.contains("c/x: verdict leak, said clean, holder\n"), "{wrong}");
    }
}
