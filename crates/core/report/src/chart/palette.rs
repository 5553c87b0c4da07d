//! Colours, dashes and markers: no series is told from another by colour alone.
//!
//! The colours keep apart under the common kinds of colour blindness (after
//! Okabe and Ito, "Color Universal Design", 2008), darkened where white paper
//! needs it and lightened for dark paper.

use pickfs_candidate::fs::FILE_SYSTEMS;

use super::{Dash, Form};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    Series(usize),
    /// The floor: memory, no file system on a device; grey.
    Floor(usize),
}

pub const COLOURS: usize = 31;
/// Behind the first eight those that are farthest from all before them and from the floor.
const LIGHT: [u32; COLOURS] = [
    0x0067A5, 0xD1491B, 0x008A64, 0xB5488E, 0x3A9BD9, 0xB97A00, 0x7A4FBF, 0x6B5B00, 0x770033,
    0xEE00FF, 0x0000FF, 0x441199, 0x004433, 0xFF33AA, 0x9977FF, 0x2266FF, 0x880088, 0xAA00FF,
    0xAA0000, 0x779900, 0x6611FF, 0x664466, 0xCC7788, 0x004477, 0xFF1155, 0x663300, 0x0000BB,
    0x006655, 0x995555, 0xCC66CC, 0xBB00BB,
];
const DARK: [u32; COLOURS] = [
    0x5AB4F0, 0xFF8A5C, 0x2FC99A, 0xEE9CCB, 0xA9D8FF, 0xF2B63C, 0xB79CF5, 0xD8CB5A, 0xFF2277,
    0xFF77FF, 0x0088FF, 0x9966FF, 0x009988, 0xCC66BB, 0xFF00FF, 0x66FFBB, 0xCC6666, 0xFFCCBB,
    0xAA8811, 0xEEFF00, 0x00CC00, 0xFFFFCC, 0x00FF00, 0x339900, 0xBBBBAA, 0xFF4400, 0x99DD11,
    0x8877BB, 0x00DDEE, 0xEE22BB, 0x88AA00,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(pub u32);

impl Rgb {
    pub fn css(self) -> String {
        format!("#{:06x}", self.0)
    }

    pub fn parts(self) -> [u8; 3] {
        [(self.0 >> 16) as u8, (self.0 >> 8) as u8, self.0 as u8]
    }
}

pub const PAPER: (Rgb, Rgb) = (Rgb(0xFFFFFF), Rgb(0x14181D));
pub const TEXT: (Rgb, Rgb) = (Rgb(0x1B2229), Rgb(0xE4E9EE));
pub const MUTED: (Rgb, Rgb) = (Rgb(0x56616B), Rgb(0x9BA7B2));
pub const GRID: (Rgb, Rgb) = (Rgb(0xDDE2E7), Rgb(0x2C343C));
pub const FLOOR: (Rgb, Rgb) = (Rgb(0x7B858F), Rgb(0x8D98A3));

pub const HEAT_STEPS: i8 = 6;
const HEAT_FAST: (Rgb, Rgb) = (Rgb(0x5FA8DC), Rgb(0x1B5E91));
const HEAT_EVEN: (Rgb, Rgb) = (Rgb(0xF1F3F5), Rgb(0x2C343C));
const HEAT_SLOW: (Rgb, Rgb) = (Rgb(0xE89A50), Rgb(0x94501A));

pub fn heat(step: i8) -> (Rgb, Rgb) {
    let end = if step < 0 { HEAT_FAST } else { HEAT_SLOW };
    let share = f64::from(step.unsigned_abs().min(HEAT_STEPS as u8)) / f64::from(HEAT_STEPS);
    (mixed(HEAT_EVEN.0, end.0, share), mixed(HEAT_EVEN.1, end.1, share))
}

fn mixed(from: Rgb, to: Rgb, share: f64) -> Rgb {
    let (from, to) = (from.parts(), to.parts());
    let part = |index: usize| {
        let (a, b) = (f64::from(from[index]), f64::from(to[index]));
        (a + (b - a) * share).round() as u32
    };
    Rgb(part(0) << 16 | part(1) << 8 | part(2))
}

/// The name of a step's colour in a style sheet: `h0` to `h12`.
pub fn heat_class(step: i8) -> String {
    format!("h{}", step.clamp(-HEAT_STEPS, HEAT_STEPS) + HEAT_STEPS)
}

impl Slot {
    /// The look that a file system has in every picture: its place among the rows of file systems.
    pub fn of_file_system(name: &str) -> Option<Slot> {
        FILE_SYSTEMS.iter().position(|row| row.name == name).map(Slot::Series)
    }

    pub fn colours(self) -> (Rgb, Rgb) {
        match self {
            Slot::Floor(_) => FLOOR,
            Slot::Series(index) => (Rgb(LIGHT[index % COLOURS]), Rgb(DARK[index % COLOURS])),
        }
    }

    /// The name of the colour in a style sheet: `c0` to `c30`, or `cf`.
    pub fn class(self) -> String {
        match self {
            Slot::Floor(_) => "cf".into(),
            Slot::Series(index) => format!("c{}", index % COLOURS),
        }
    }

    pub fn dash(self) -> Dash {
        let index = match self {
            Slot::Floor(index) => index + 2,
            Slot::Series(index) => index + index / 8,
        };
        [Dash::Solid, Dash::Long, Dash::Short, Dash::Mixed][index % 4]
    }

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
            assert_ne!(look(index), look(index + COLOURS), "{index}");
        }
    }

    #[test]
    fn no_two_file_systems_share_a_colour() {
        assert!(FILE_SYSTEMS.len() <= COLOURS, "{}", FILE_SYSTEMS.len());
        for colours in [LIGHT, DARK] {
            let apart: std::collections::BTreeSet<_> = colours.into_iter().collect();
            assert_eq!(apart.len(), COLOURS);
        }
    }

    #[test]
    fn every_colour_stands_out_from_its_paper() {
        for index in 0..COLOURS {
            let (light, dark) = Slot::Series(index).colours();
            assert!(contrast(light, PAPER.0) >= 3.0, "light {index}");
            assert!(contrast(dark, PAPER.1) >= 4.5, "dark {index}");
        }
        assert!(contrast(MUTED.0, PAPER.0) >= 4.5);
        assert!(contrast(MUTED.1, PAPER.1) >= 4.5);
    }

    #[test]
    fn words_can_be_read_on_every_step_of_the_heat_map() {
        for step in -HEAT_STEPS..=HEAT_STEPS {
            let (light, dark) = heat(step);
            assert!(contrast(TEXT.0, light) >= 4.5, "light {step}");
            assert!(contrast(TEXT.1, dark) >= 4.5, "dark {step}");
        }
        let classes: std::collections::BTreeSet<_> =
            (-HEAT_STEPS..=HEAT_STEPS).map(heat_class).collect();
        assert_eq!(classes.len(), 13);
        assert_eq!((heat_class(-9), heat_class(9)), ("h0".to_string(), "h12".to_string()));
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
