//! Colours, dashes and markers: no series is told from another by colour alone.
//!
//! The colours keep apart under the common kinds of colour blindness (after
//! Okabe and Ito, "Color Universal Design", 2008), darkened where white paper
//! needs it and lightened for dark paper.

use super::{Dash, Form};

/// The place of a series in the palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// A candidate, by its position.
    Series(usize),
    /// The floor: memory, no file system on a device; grey.
    Floor(usize),
}

const LIGHT: [u32; 8] =
    [0x0067A5, 0xD1491B, 0x008A64, 0xB5488E, 0x3A9BD9, 0xB97A00, 0x7A4FBF, 0x6B5B00];
const DARK: [u32; 8] =
    [0x5AB4F0, 0xFF8A5C, 0x2FC99A, 0xEE9CCB, 0xA9D8FF, 0xF2B63C, 0xB79CF5, 0xD8CB5A];

/// A colour of the page as red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(pub u32);

impl Rgb {
    /// As CSS writes it.
    pub fn css(self) -> String {
        format!("#{:06x}", self.0)
    }

    /// The three parts.
    pub fn parts(self) -> [u8; 3] {
        [(self.0 >> 16) as u8, (self.0 >> 8) as u8, self.0 as u8]
    }
}

/// Behind everything.
pub const PAPER: (Rgb, Rgb) = (Rgb(0xFFFFFF), Rgb(0x14181D));
/// Words and axes.
pub const TEXT: (Rgb, Rgb) = (Rgb(0x1B2229), Rgb(0xE4E9EE));
/// Secondary words.
pub const MUTED: (Rgb, Rgb) = (Rgb(0x56616B), Rgb(0x9BA7B2));
/// Grid lines.
pub const GRID: (Rgb, Rgb) = (Rgb(0xDDE2E7), Rgb(0x2C343C));
/// The floor.
pub const FLOOR: (Rgb, Rgb) = (Rgb(0x7B858F), Rgb(0x8D98A3));

impl Slot {
    /// The colour on light and on dark paper.
    pub fn colours(self) -> (Rgb, Rgb) {
        match self {
            Slot::Floor(_) => FLOOR,
            Slot::Series(index) => (Rgb(LIGHT[index % 8]), Rgb(DARK[index % 8])),
        }
    }

    /// The name of the colour in a style sheet: `c0` to `c7`, or `cf`.
    pub fn class(self) -> String {
        match self {
            Slot::Floor(_) => "cf".into(),
            Slot::Series(index) => format!("c{}", index % 8),
        }
    }

    /// The dash of its lines.
    pub fn dash(self) -> Dash {
        let index = match self {
            Slot::Floor(index) => index + 2,
            Slot::Series(index) => index + index / 8,
        };
        [Dash::Solid, Dash::Long, Dash::Short, Dash::Mixed][index % 4]
    }

    /// The form of its markers.
    pub fn form(self) -> Form {
        let index = match self {
            Slot::Floor(index) | Slot::Series(index) => index,
        };
        [Form::Disc, Form::Square, Form::Triangle, Form::Diamond, Form::Wedge][index % 5]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_in_the_palette_differ_in_more_than_colour() {
        for index in 0..24 {
            let (here, next) = (Slot::Series(index), Slot::Series(index + 1));
            assert_ne!(here.dash(), next.dash(), "{index}");
            assert_ne!(here.form(), next.form(), "{index}");
        }
        let look = |i| (Slot::Series(i).class(), Slot::Series(i).dash(), Slot::Series(i).form());
        for index in 0..16 {
            assert_ne!(look(index), look(index + 8), "{index}");
        }
    }

    #[test]
    fn every_colour_stands_out_from_its_paper() {
        for index in 0..8 {
            let (light, dark) = Slot::Series(index).colours();
            assert!(contrast(light, PAPER.0) >= 3.0, "light {index}");
            assert!(contrast(dark, PAPER.1) >= 4.5, "dark {index}");
        }
        assert!(contrast(MUTED.0, PAPER.0) >= 4.5);
        assert!(contrast(MUTED.1, PAPER.1) >= 4.5);
    }

    /// Contrast ratio of WCAG 2.1.
    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn luminance(colour: Rgb) -> f64 {
        let [r, g, b] = colour.parts().map(|part| {
            let v = f64::from(part) / 255.0;
            if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }
}
