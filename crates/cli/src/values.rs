//! Option values that several commands share. It imports no command.

use clap::ValueEnum;

/// Report formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Human-readable text
    Text,
    /// JSON for scripts (schema heaplens-report/1)
    Json,
    /// Collapsed stacks for flame graphs
    Collapsed,
}

/// When to use color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// If the output is a terminal and NO_COLOR is not set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// A switch, spelled as Memcheck spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesNo {
    /// On
    Yes,
    /// Off
    No,
}
