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
const SERIES: [u8; COLOURS + 1] = [
    32, 166, 35, 169, 74, 172, 98, 100, 125, 201, 27, 92, 23, 170, 165, 38, 126, 171, 130, 148, 24,
    145, 106, 22, 198, 94, 20, 29, 131, 176, 127, 245,
];

fn series_mark(index: usize) -> char {
    let code = 0x1fffe + 0x10000 * (index / 2) + index % 2;
    char::from_u32(code as u32).unwrap_or(END)
}

pub fn colour_of(mark: char) -> Option<String> {
    let fixed = MARKS.iter().find(|(of, _)| *of == mark).map(|(_, code)| (*code).to_owned());
    let series = || (0..=COLOURS).find(|at| series_mark(*at) == mark);
    fixed.or_else(|| Some(format!("\x1b[38;5;{}m", SERIES[series()?])))
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
