//! Categories: what bytes are counted together. Each byte is in one of them, except that small Python objects lie in memory
//! that the interpreter mapped. Reports have one sum and one ranking for each.

/// How much of it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// All of it, also in a sampled run: it is rare.
    Never,
    /// As the run's sample interval says.
    Heap,
    /// As the sample interval of small Python objects says.
    Objects,
}

/// What the ranking of a category is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Titles {
    /// Of a process that still runs.
    pub now: &'static str,
    /// At the exit.
    pub at_exit: &'static str,
    /// When the script was through; what is left after Python's own clean-up is hardly ever what the user asks for.
    pub at_end_of_script: &'static str,
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CategoryRow {
    /// Its key among the sums of a comparison, in JSON.
    pub key: &'static str,
    /// The same in text.
    pub label: &'static str,
    /// What the ranking says its sites did.
    pub verb: &'static str,
    /// What the ranking is called.
    pub titles: Titles,
    /// How much of it is recorded.
    pub sampling: Sampling,
    /// Whether it is whole mappings, not blocks: left out of rankings of blocks and of exports that are not asked for them.
    pub is_mapped: bool,
}

impl CategoryRow {
    const PLAIN: Self = Self {
        key: "",
        label: "",
        verb: "allocated by",
        titles: Titles { now: "", at_exit: "", at_end_of_script: "" },
        sampling: Sampling::Never,
        is_mapped: false,
    };
}

rows! {
    /// What bytes are counted together.
    Category, CategoryRow;

    /// Blocks of the heap, whoever asked for them.
    Heap = 0 {
        key: "heap",
        label: "heap",
        titles: Titles {
            now: "Live now",
            at_exit: "Live at exit",
            at_end_of_script: "Live at the end of the script",
        },
        sampling: Sampling::Heap,
    }
    /// Small Python objects.
    Objects = 1 {
        key: "python_objects",
        label: "small Python objects",
        verb: "made by",
        titles: Titles {
            now: "Python objects now",
            at_exit: "Python objects at exit",
            at_end_of_script: "Python objects at the end of the script",
        },
        sampling: Sampling::Objects,
    }
    /// Anonymous memory that the program mapped itself.
    Anonymous = 2 {
        key: "mapped_anonymous",
        label: "mapped by the program",
        verb: "mapped by",
        titles: Titles { now: "Mapped now", at_exit: "Mapped at exit", at_end_of_script: "Mapped at exit" },
        is_mapped: true,
    }
    /// Files that the program mapped itself.
    Files = 3 {
        key: "mapped_files",
        label: "mapped files",
        verb: "mapped by",
        titles: Titles {
            now: "Files mapped now",
            at_exit: "Files mapped at exit",
            at_end_of_script: "Files mapped at exit",
        },
        is_mapped: true,
    }
}
