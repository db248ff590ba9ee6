//! What a test program says about itself: the lines of `tests/programs/truth.h`, found among whatever else was printed.

/// Bytes or blocks, where the program makes a claim.
pub type Claim = Option<i64>;

/// One line that allocates.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The process that says so.
    pub pid: u32,
    /// Layer as in the JSON report.
    pub layer: String,
    /// File name of the source.
    pub file: String,
    /// Line of the allocating call.
    pub line: u64,
    /// Live bytes and blocks, allocated bytes and blocks, bytes and blocks at the peak.
    pub claims: [Claim; 6],
}

/// The functions on the stack of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The process that says so.
    pub pid: u32,
    /// File name of the source.
    pub file: String,
    /// Line of the allocating call.
    pub line: u64,
    /// Innermost first.
    pub functions: Vec<String>,
}

/// Everything that the processes of one run said.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Lines that allocate.
    pub rows: Vec<Row>,
    /// Stacks of some of them.
    pub chains: Vec<Chain>,
    /// Processes that said all they had to say.
    pub pids: Vec<u32>,
    /// Whether lines that are not spoken of may allocate, too.
    pub is_partial: bool,
}

impl Truth {
    /// Reads it from a program's output. A program that ended before its `truth-end` line is a failed test.
    pub fn parse(output: &str) -> Self {
        let mut truth = Self::default();
        for line in output.lines() {
            truth.take(line.split_whitespace().collect::<Vec<_>>().as_slice(), line);
        }
        let spoke = |pid| truth.pids.contains(&pid);
        assert!(
            truth.rows.iter().all(|row| spoke(row.pid)),
            "a program ended in the middle of its truth:\n{output}"
        );
        assert!(!truth.pids.is_empty(), "no program printed its truth:\n{output}");
        truth
    }

    /// The only process of a run without children.
    pub fn pid(&self) -> u32 {
        assert_eq!(self.pids.len(), 1, "one process was expected to speak");
        self.pids[0]
    }

    fn take(&mut self, words: &[&str], line: &str) {
        match words {
            ["truth", pid, layer, file, at, claims @ ..] => self.rows.push(Row {
                pid: number(pid, line),
                layer: (*layer).to_owned(),
                file: (*file).to_owned(),
                line: number(at, line),
                claims: claim_array(claims, line),
            }),
            ["chain", pid, file, at, functions] => self.take_chain(Chain {
                pid: number(pid, line),
                file: (*file).to_owned(),
                line: number(at, line),
                functions: functions.split(';').map(str::to_owned).collect(),
            }),
            ["truth-partial"] => self.is_partial = true,
            ["truth-end", pid] => self.pids.push(number(pid, line)),
            _ => {}
        }
    }

    fn take_chain(&mut self, chain: Chain) {
        if !self.chains.contains(&chain) {
            self.chains.push(chain);
        }
    }
}

fn claim_array(words: &[&str], line: &str) -> [Claim; 6] {
    let claims: Vec<Claim> = words.iter().map(|word| (*word != "-").then(|| number(word, line))).collect();
    claims.try_into().unwrap_or_else(|_| panic!("a truth line has six numbers: {line}"))
}

fn number<T: std::str::FromStr>(word: &str, line: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("{word} is no number, in: {line}"))
}
