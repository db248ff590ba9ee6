//! C34: memory rose and then levelled off, as after a warm-up or with a bounded cache. It is neither a leak nor a finding; the line
//! that retains most of it is reported all the same.

use crate::diagnose::rule::Rule;

pub(crate) static RULE: Rule = Rule::new("C34", "warm-up", 900);
