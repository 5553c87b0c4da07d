//! Nothing is said by it alone.
//! In a text a colour is a mark, one of Unicode's noncharacters (U+FDD0 and on, for a program's own
//! use); who writes the text to a terminal turns marks into colours by [`colour_of`], when
//! everything else that would steer the terminal is gone.

use crate::chart::{COLOURS, Slot};

const MARKS: [(char, &str); 32] = [
    (END, "\x1b[0m"),
    (BOLD, "\x1b[1m"),
    (FAINT, "\x1b[2m"),
    (GREEN, "\x1b[32m"),
    (CYAN, "\x1b[36m"),
    (BOLD_GREEN, "\x1b[1;32m"),
    (BOLD_YELLOW, "\x1b[1;33m"),
    // The colours of charts, as near as 256 colours come on light and on dark.
    (SERIES[0], "\x1b[38;5;32m"),
    (SERIES[1], "\x1b[38;5;166m"),
    (SERIES[2], "\x1b[38;5;35m"),
    (SERIES[3], "\x1b[38;5;169m"),
    (SERIES[4], "\x1b[38;5;74m"),
    (SERIES[5], "\x1b[38;5;172m"),
    (SERIES[6], "\x1b[38;5;98m"),
    (SERIES[7], "\x1b[38;5;100m"),
    (SERIES[COLOURS], "\x1b[38;5;125m"),
    (SERIES[9], "\x1b[38;5;201m"),
    (SERIES[10], "\x1b[38;5;27m"),
    (SERIES[11], "\x1b[38;5;92m"),
    (SERIES[12], "\x1b[38;5;23m"),
    (SERIES[13], "\x1b[38;5;170m"),
    (SERIES[14], "\x1b[38;5;165m"),
    (SERIES[15], "\x1b[38;5;38m"),
    (SERIES[16], "\x1b[38;5;126m"),
    (SERIES[17], "\x1b[38;5;171m"),
    (SERIES[18], "\x1b[38;5;130m"),
    (SERIES[19], "\x1b[38;5;148m"),
    (SERIES[20], "\x1b[38;5;24m"),
    (SERIES[21], "\x1b[38;5;145m"),
    (SERIES[22], "\x1b[38;5;106m"),
    (SERIES[23], "\x1b[38;5;22m"),
    (SERIES[24], "\x1b[38;5;245m"),
];
const END: char = '\u{fdd0}';
const BOLD: char = '\u{fdd1}';
const FAINT: char = '\u{fdd2}';
const GREEN: char = '\u{fdd3}';
const CYAN: char = '\u{fdd4}';
const BOLD_GREEN: char = '\u{fdd5}';
const BOLD_YELLOW: char = '\u{fdd6}';
const SERIES: [char; COLOURS + 1] = [
    '\u{fdd7}', '\u{fdd8}', '\u{fdd9}', '\u{fdda}', '\u{fddb}', '\u{fddc}', '\u{fddd}', '\u{fdde}',
    '\u{fddf}', '\u{fde0}', '\u{fde1}', '\u{fde2}', '\u{fde3}', '\u{fde4}', '\u{fde5}', '\u{fde6}',
    '\u{fde7}', '\u{fde8}', '\u{fde9}', '\u{fdea}', '\u{fdeb}', '\u{fdec}', '\u{fded}', '\u{fdee}',
    '\u{fdef}',
];

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

    pub fn series(self, slot: Slot, text: &str) -> String {
        let mark = match slot {
            Slot::Series(index) => SERIES[index % COLOURS],
            Slot::Floor(_) => SERIES[COLOURS],
        };
        self.wrap(mark, text)
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
