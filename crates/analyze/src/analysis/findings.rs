//! What is said of findings: the words of their rules, their lines, who holds what they are about; and what frameworks have to say
//! besides.

use std::borrow::Cow;

use heaplens_format::recording::{Amount, LeakKind};

use super::lost;
use super::profile::Profile;
use crate::diagnose::remark::Remark;
use crate::diagnose::{Finding, Verdict};
use crate::frameworks;
use crate::holder_rules::{self, HolderRule};
use crate::profile::{HeldBy, StackFrame, StackId};

/// The rule for growth of which nothing is known but its line.
const UNEXPLAINED: &str = "G1";

/// All that there may be to say, by what it is called in the JSON report.
pub fn remarks(profile: &Profile) -> impl Iterator<Item = (&'static str, Option<Remark>)> {
    let kinds = frameworks::ALL.iter().flat_map(|framework| framework.remarks);
    kinds.map(move |kind| (kind.key, (kind.of)(&profile.counts, &profile.stacks)))
}

impl Profile {
    /// The one word for the run, by what is above the floor; `None` where nothing was recorded.
    pub fn verdict(&self) -> Option<Verdict> {
        let verdict = self.diagnosis.verdict?;
        let is_harmless = matches!(verdict, Verdict::Clean | Verdict::Plateau | Verdict::TooShort);
        let has_lost = self.lost(LeakKind::DefinitelyLost).blocks > 0 && self.lost_below_floor().is_none();
        Some(if is_harmless && has_lost { Verdict::Lost } else { verdict })
    }

    /// The line that allocates what holds the objects of a finding, where that is another line and the interpreter may have reused most of
    /// these objects.
    pub fn container_line(&self, finding: &Finding) -> Option<&StackFrame> {
        let own = finding.line(self)?;
        let sites = finding.sites.iter().map(|&site| &self.sites[site]);
        let growing = sites.filter_map(|site| Some((site.stack, self.diagnosis.of_site(site)?.max(0.0))));
        let (mut all, mut elsewhere) = (0.0, None::<(f64, &StackFrame)>);
        for (stack, slope) in growing {
            all += slope;
            let line = self.holders.container_of(stack).and_then(|container| self.line_of(container));
            if let Some(line) = line.filter(|line| (&line.file, line.line) != (&own.file, own.line)) {
                let (sum, largest) = elsewhere.unwrap_or((0.0, line));
                elsewhere = Some((sum + slope, largest));
            }
        }
        elsewhere.filter(|&(sum, _)| sum > 0.0 && 2.0 * sum >= all).map(|(_, line)| line)
    }

    /// Who holds what a finding is about: what grows, not what was made once at the same line. Garbage has no holder.
    pub fn held_by(&self, finding: &Finding) -> Option<HeldBy<'_>> {
        if finding.garbage.is_some() {
            return None;
        }
        let have_stayed = 2 * finding.held.bytes.get() >= finding.live.bytes.get();
        let sites = finding.sites.iter().map(|&site| &self.sites[site]);
        let mut growing: Vec<(f64, StackId)> =
            sites.clone().filter_map(|site| Some((self.diagnosis.of_site(site)?, site.stack))).collect();
        growing.sort_by(|one, other| other.0.total_cmp(&one.0));
        let half = growing.iter().map(|(slope, _)| slope.max(0.0)).sum::<f64>() / 2.0;
        if half == 0.0 {
            let stacks: Vec<StackId> = sites.map(|site| site.stack).collect();
            return self.holders.of_stacks(&stacks, have_stayed);
        }
        let mut seen = 0.0;
        for (slope, stack) in growing {
            if seen >= half {
                break;
            }
            seen += slope;
            if let Some(held) = self.holders.of_stacks(&[stack], have_stayed) {
                return Some(held);
            }
        }
        None
    }
}

/// Who holds what a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolderOf<'a> {
    /// A registry that is known by what was counted, step by step.
    Registry(&'static [&'static str]),
    /// Nothing: so much of it was lost.
    Nothing(Amount),
    /// What this path leads through.
    Path(HeldBy<'a>),
    /// That was not seen: why; `None` where no block is known that could be held.
    Unknown(Option<String>),
}

/// What its rule says of a finding, and what its holder does.
impl Finding {
    /// Who holds what it is about: every output says the same.
    pub fn holder<'a>(&self, profile: &'a Profile) -> HolderOf<'a> {
        let lost = profile.lost_of(self);
        if !self.rule.holder.is_empty() {
            HolderOf::Registry(self.rule.holder)
        } else if 2 * lost.bytes.get() >= self.held.bytes.get().max(1) {
            HolderOf::Nothing(lost)
        } else if let Some(held) = profile.held_by(self) {
            HolderOf::Path(held)
        } else {
            HolderOf::Unknown(self.why_no_holder(profile))
        }
    }

    fn why_no_holder(&self, profile: &Profile) -> Option<String> {
        let stacks: Vec<StackId> = self.sites.iter().map(|&site| profile.sites[site].stack).collect();
        let could_be_held = !stacks.is_empty() && self.threads.is_none() && self.reclaimed.is_none();
        could_be_held.then(|| profile.holders.why_none(&stacks))
    }

    /// The known holder of what it is about, by its reference path.
    pub fn holder_rule(&self, profile: &Profile) -> Option<&'static HolderRule> {
        match self.holder(profile) {
            HolderOf::Path(held) if self.rule.yields_to_holder => {
                let explains = self.rule.id != UNEXPLAINED;
                holder_rules::find(&held.steps, &held.view.bases).filter(|row| !(row.is_general && explains))
            }
            _ => None,
        }
    }

    /// The headline.
    pub fn title(&self, profile: &Profile) -> Cow<'static, str> {
        self.rule.title.of(self, self.line(profile))
    }

    /// The word for it.
    pub fn verdict(&self, profile: &Profile) -> Cow<'static, str> {
        self.rule.verdict.of(self, self.line(profile))
    }

    /// What to do, as far as it is known.
    pub fn fix(&self, profile: &Profile) -> Cow<'static, str> {
        if self.rule.yields_to_holder && matches!(self.holder(profile), HolderOf::Nothing(_)) {
            return lost::fix(profile, self);
        }
        let of_rule = || self.rule.fix.of(self, self.line(profile));
        self.holder_rule(profile).map_or_else(of_rule, |holder| Cow::Borrowed(holder.fix))
    }

    /// The line that it is about.
    pub fn line<'a>(&self, profile: &'a Profile) -> Option<&'a StackFrame> {
        match (self.representative.map(|site| &profile.sites[site]), self.rule.line) {
            (Some(site), Some(line)) => line(profile.stack(site)),
            (Some(site), None) => profile.line(site),
            (None, _) => profile.line_of(self.counting.as_ref()?.lines.first()?.stack),
        }
    }
}
