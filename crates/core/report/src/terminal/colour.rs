//! Nothing is said by it alone.
//! In a text a colour is a mark, one of Unicode's noncharacters (U+FDD0 and on, for a program's own
//! use); who writes the text to a terminal turns marks into colours by [`colour_of`], when
//! everything else that would steer the terminal is gone.

const MARKS: [(char, &str); 7] = [
    (END, "\x1b[0m"),
    (BOLD, "\x1b[1m"),
    (FAINT, "\x1b[2m"),
    (GREEN, "\x1b[32m"),
    (CYAN, "\x1b[36m"),
    (BOLD_GREEN, "\x1b[1;32m"),
    (BOLD_YELLOW, "\x1b[1;33m"),
];
const END: char = '\u{fdd0}';
const BOLD: char = '\u{fdd1}';
const FAINT: char = '\u{fdd2}';
const GREEN: char = '\u{fdd3}';
const CYAN: char = '\u{fdd4}';
const BOLD_GREEN: char = '\u{fdd5}';
const BOLD_YELLOW: char = '\u{fdd6}';

pub fn colour_of(mark: char) -> Option<&'static str> {
    MARKS.iter().find(|(of, _)| *of == mark).map(|(_, code)| *code)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    pub on: bool,
}

impl Paint {
    fn wrap(self, mark: char, text: &str) -> String {
        if self.on && !text.is_empty() { format!("{mark}{text}{END}") } else { text.into() }
    }

    fn first(self, mark: char, line: &str, name: &str) -> String {
        match line.strip_prefix(name) {
            Some(rest) if self.on => format!("{}{rest}", self.wrap(mark, name)),
            _ => line.into(),
        }
    }

    pub fn bold(self, text: &str) -> String {
        match text.strip_suffix('\n') {
            Some(line) => format!("{}\n", self.wrap(BOLD, line)),
            None => self.wrap(BOLD, text),
        }
    }

    pub fn faint(self, text: &str) -> String {
        match text.strip_suffix('\n') {
            Some(line) => format!("{}\n", self.wrap(FAINT, line)),
            None => self.wrap(FAINT, text),
        }
    }

    pub fn best(self, text: &str) -> String {
        self.wrap(GREEN, text)
    }

    pub fn name(self, line: &str, name: &str) -> String {
        self.first(CYAN, line, name)
    }

    pub fn strong(self, line: &str, name: &str) -> String {
        self.first(BOLD_GREEN, line, name)
    }

    pub fn equal(self, line: &str, name: &str) -> String {
        self.first(BOLD, line, name)
    }

    pub fn warning(self, line: &str, name: &str) -> String {
        self.first(BOLD_YELLOW, line, name)
    }
}
