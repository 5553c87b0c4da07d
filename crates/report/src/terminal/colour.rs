//! Colour where it helps: names of lines, the best row, doubts. Nothing is said by it alone.

/// Writes ANSI colours, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    /// Colours are wanted.
    pub on: bool,
}

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.on && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    fn first(self, code: &str, line: &str, name: &str) -> String {
        match line.strip_prefix(name) {
            Some(rest) if self.on => format!("{}{rest}", self.wrap(code, name)),
            _ => line.into(),
        }
    }

    /// Bold words.
    pub fn bold(self, text: &str) -> String {
        match text.strip_suffix('\n') {
            Some(line) => format!("{}\n", self.wrap("1", line)),
            None => self.wrap("1", text),
        }
    }

    /// Faint words: notes and floors.
    pub fn faint(self, text: &str) -> String {
        match text.strip_suffix('\n') {
            Some(line) => format!("{}\n", self.wrap("2", line)),
            None => self.wrap("2", text),
        }
    }

    /// Green words: the best row.
    pub fn best(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// The name in front of a line.
    pub fn name(self, line: &str, name: &str) -> String {
        self.first("36", line, name)
    }

    /// The name in front of a line that answers.
    pub fn strong(self, line: &str, name: &str) -> String {
        self.first("1;32", line, name)
    }

    /// The name in front of a line that doubts.
    pub fn warning(self, line: &str, name: &str) -> String {
        self.first("1;33", line, name)
    }
}
