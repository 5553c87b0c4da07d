//! Characters that steer what shows them: a terminal, a table of a spreadsheet.

use std::fmt::Write as _;

/// Control characters, C1 ones too, and marks that turn the direction of what follows.
pub fn steers(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control()
}

/// Puts a character behind a text: as `\u001b` if it steers. Line feeds and tabs stay.
pub fn push_visible(shown: &mut String, c: char) {
    match steers(c) && !matches!(c, '\n' | '\t') {
        true => drop(write!(shown, "\\u{:04x}", u32::from(c))),
        false => shown.push(c),
    }
}

/// The text with everything that steers shown.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| push_visible(&mut shown, c));
    shown
}
