//! As much of a terminal as the status line needs: text, rows that scroll, a cursor that can be kept. What it does not know
//! is a mistake of the test or of the line.

/// What is seen, and what has scrolled away.
pub struct Screen {
    columns: u16,
    rows: Vec<Vec<char>>,
    gone: Vec<String>,
    row: u16,
    column: u16,
    kept: (u16, u16),
    /// The last row that scrolls; the first one is always the first.
    bottom: u16,
}

impl Screen {
    pub fn new(rows: u16, columns: u16) -> Self {
        let empty = vec![Vec::new(); rows.into()];
        Self { columns, rows: empty, gone: Vec::new(), row: 0, column: 0, kept: (0, 0), bottom: rows - 1 }
    }

    /// Takes what was written.
    pub fn feed(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\r' => self.column = 0,
                '\n' => self.down(),
                '\u{1b}' => self.escape(&mut chars),
                c => self.put(c),
            }
        }
    }

    /// The text of a row.
    pub fn row(&self, row: u16) -> String {
        text(&self.rows[usize::from(row)])
    }

    /// Row and column.
    pub fn cursor(&self) -> (u16, u16) {
        (self.row, self.column)
    }

    /// All lines, those that have scrolled away first; empty ones at the end are left out.
    pub fn everything(&self) -> Vec<String> {
        let mut lines = self.gone.clone();
        lines.extend(self.rows.iter().map(|row| text(row)));
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Whether no row is kept from scrolling.
    pub fn scrolls_whole(&self) -> bool {
        usize::from(self.bottom) == self.rows.len() - 1
    }

    fn put(&mut self, c: char) {
        if self.column == self.columns {
            self.column = 0;
            self.down();
        }
        let row = &mut self.rows[usize::from(self.row)];
        let column = usize::from(self.column);
        row.resize(row.len().max(column + 1), ' ');
        row[column] = c;
        self.column += 1;
    }

    fn down(&mut self) {
        if self.row == self.bottom {
            let row = self.rows.remove(0);
            self.gone.push(text(&row));
            self.rows.insert(self.bottom.into(), Vec::new());
        } else if usize::from(self.row) + 1 < self.rows.len() {
            self.row += 1;
        }
    }

    fn escape(&mut self, chars: &mut std::str::Chars<'_>) {
        match chars.next() {
            Some('D') => self.down(),
            Some('M') => self.row = self.row.checked_sub(1).expect("nothing scrolls down"),
            Some('7') => self.kept = (self.row, self.column),
            Some('8') => (self.row, self.column) = self.kept,
            Some('[') => self.sequence(chars),
            other => panic!("unknown: ESC {other:?}"),
        }
    }

    fn sequence(&mut self, chars: &mut std::str::Chars<'_>) {
        let mut numbers = String::new();
        let end = chars.find(|c| {
            let is_end = c.is_ascii_alphabetic();
            if !is_end {
                numbers.push(*c);
            }
            is_end
        });
        let numbers: Vec<u16> = numbers.split(';').filter_map(|word| word.parse().ok()).collect();
        match (end, numbers.as_slice()) {
            (Some('H'), &[row, column]) => (self.row, self.column) = (row - 1, column - 1),
            (Some('K'), &[2]) => self.rows[usize::from(self.row)].clear(),
            (Some('r'), &[1, bottom]) => self.scroll_to(bottom - 1),
            (Some('r'), &[]) => self.scroll_to(self.rows.len() as u16 - 1),
            other => panic!("unknown: CSI {other:?}"),
        }
    }

    /// Setting what scrolls moves the cursor to the first cell.
    fn scroll_to(&mut self, bottom: u16) {
        (self.row, self.column, self.bottom) = (0, 0, bottom);
    }
}

fn text(row: &[char]) -> String {
    row.iter().collect::<String>().trim_end().to_owned()
}
