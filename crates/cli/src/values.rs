//! Values that options of several commands take.

use clap::ValueEnum;

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A page to read
    Text,
    /// For scripts (schema heaplens-report/1)
    Json,
    /// Collapsed stacks for flame graphs
    Collapsed,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Memcheck's spelling of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesNo {
    /// On
    Yes,
    /// Off
    No,
}
