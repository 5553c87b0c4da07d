//! Nothing is said by it alone.
//! In a text a colour is a mark, one of Unicode's noncharacters (for a program's own use); who writes the text to a terminal turns marks into colours by [`colour_of`], when
//! everything else that would steer the terminal is gone.

use crate::chart::{COLOURS, Slot};

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
/// The colours of charts, as near as 256 colours come on light and on dark; the floor's is the last. Their marks are
/// the noncharacters at the ends of the planes.
const SERIES: [&str; COLOURS + 1] = [
    "\x1b[38;5;32m",
    "\x1b[38;5;166m",
    "\x1b[38;5;35m",
    "\x1b[38;5;169m",
    "\x1b[38;5;74m",
    "\x1b[38;5;172m",
    "\x1b[38;5;98m",
    "\x1b[38;5;100m",
    "\x1b[38;5;125m",
    "\x1b[38;5;201m",
    "\x1b[38;5;27m",
    "\x1b[38;5;92m",
    "\x1b[38;5;23m",
    "\x1b[38;5;170m",
    "\x1b[38;5;165m",
    "\x1b[38;5;38m",
    "\x1b[38;5;126m",
    "\x1b[38;5;171m",
    "\x1b[38;5;130m",
    "\x1b[38;5;148m",
    "\x1b[38;5;24m",
    "\x1b[38;5;145m",
    "\x1b[38;5;106m",
    "\x1b[38;5;22m",
    "\x1b[38;5;198m",
    "\x1b[38;5;94m",
    "\x1b[38;5;20m",
    "\x1b[38;5;29m",
    "\x1b[38;5;131m",
    "\x1b[38;5;176m",
    "\x1b[38;5;127m",
    "\x1b[38;5;245m",
];

fn series_mark(index: usize) -> char {
    let code = 0x1fffe + 0x10000 * (index / 2) + index % 2;
    char::from_u32(code as u32).unwrap_or(END)
}

pub fn colour_of(mark: char) -> Option<&'static str> {
    let fixed = MARKS.iter().find(|(of, _)| *of == mark).map(|(_, code)| *code);
    fixed.or_else(|| (0..=COLOURS).find(|at| series_mark(*at) == mark).map(|at| SERIES[at]))
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

    pub fn series(self, slot: Slot, text: &str) -> String {
        let mark = match slot {
            Slot::Series(index) => index % COLOURS,
            Slot::Floor(_) => COLOURS,
        };
        self.wrap(series_mark(mark), text)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_series_has_a_mark_and_a_colour_of_its_own() {
        let slots = (0..COLOURS).map(Slot::Series).chain([Slot::Floor(0)]);
        let colour = |slot| colour_of(Paint { on: true }.series(slot, "x").chars().next()?);
        let colours: Option<std::collections::BTreeSet<_>> = slots.map(colour).collect();
        assert_eq!(colours.map(|found| found.len()), Some(COLOURS + 1));
    }
}
