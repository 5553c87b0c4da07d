//! The font travels inside the program (DejaVu Sans), so that a picture can be
//! painted on a machine without fonts.

use std::sync::OnceLock;

use ttf_parser::{Face, GlyphId};

pub const FAMILIES: &str = "DejaVu Sans, Verdana, Segoe UI, Helvetica, Arial, sans-serif";

fn face() -> &'static Face<'static> {
    static FACE: OnceLock<Face<'static>> = OnceLock::new();
    FACE.get_or_init(|| Face::parse(dejavu::sans::regular(), 0).expect("the built-in font parses"))
}

#[derive(Debug, Clone, Copy)]
pub struct Letter {
    pub glyph: GlyphId,
    /// Distance from the first letter's start, in font heights.
    pub offset: f32,
}

pub fn letters(text: &str) -> (Vec<Letter>, f32) {
    let face = face();
    let em = f32::from(face.units_per_em());
    let mut offset = 0.0;
    let mut letters = Vec::with_capacity(text.len());
    for c in text.chars() {
        let glyph = face.glyph_index(c).unwrap_or(GlyphId(0));
        letters.push(Letter { glyph, offset });
        offset += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) / em;
    }
    (letters, offset)
}

pub fn width(text: &str, size: f32) -> f32 {
    letters(text).1 * size
}

pub fn outline(glyph: GlyphId, builder: &mut dyn ttf_parser::OutlineBuilder) {
    face().outline_glyph(glyph, builder);
}

pub fn units_per_height() -> f32 {
    f32::from(face().units_per_em())
}

/// Breaks a text at spaces into lines no wider than a limit; one word may be wider.
pub fn wrap(text: &str, size: f32, limit: f32) -> Vec<String> {
    hanging(text, size, limit, 0.0)
}

/// The first line is shorter by an indent.
pub fn hanging(text: &str, size: f32, limit: f32, indent: f32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let limit = if lines.len() > 1 { limit } else { limit - indent };
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + size * 0.32 <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

pub fn cut(text: &str, size: f32, limit: f32) -> String {
    if width(text, size) <= limit {
        return text.into();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while !kept.is_empty() {
        kept.pop();
        let short = kept.iter().collect::<String>() + "…";
        if width(&short, size) <= limit {
            return short;
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_words_are_wider() {
        assert!(width("MMMM", 10.0) > width("iiii", 10.0));
        assert_eq!(width("", 10.0), 0.0);
    }

    #[test]
    fn wrapped_lines_keep_every_word() {
        let text = "each dot is one trial, in the order of its block";
        let lines = wrap(text, 12.0, 120.0);
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|line| width(line, 12.0) <= 120.0));
        assert_eq!(lines.join(" "), text);
    }

    #[test]
    fn long_labels_are_cut_visibly() {
        let short = cut("ext4:noatime,barrier=0;mkfs=-O ^has_journal", 12.0, 100.0);
        assert!(short.ends_with('…') && width(&short, 12.0) <= 100.0);
        assert_eq!(cut("xfs", 12.0, 100.0), "xfs");
    }
}
