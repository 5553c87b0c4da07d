//! What a chart shows comes from findings and trials; a chart computes nothing
//! beyond the largest or smallest of what it draws over each other.

pub mod axis;
mod causes;
mod frame;
mod kind;
pub mod latency_map;
pub mod lettering;
mod noise;
pub mod palette;
mod percentiles;
pub mod relative;
mod scene;
mod slide;
pub mod strip;
pub mod thin;
pub mod timeline;

pub use axis::{Axis, Spacing, Unit};
pub use frame::{Canvas, Frame, Look, Rows};
pub use kind::{Chart, ChartKind, UnknownChart, charts};
pub use palette::{COLOURS, Slot};
pub use scene::{Anchor, Dash, Form, Ink, Item, Part, Scene, Shape, words};
pub use timeline::{trial_lines, worst_of_seconds};

use pickfs_record::finding::Panel;

use crate::{Subject, subject::is_capacity};

fn titled(subject: &Subject, title: &str, panel: &Panel, look: Look) -> String {
    if !look.alone {
        return title.into();
    }
    let by = subject.axis().map(|axis| format!(" · by {axis}")).unwrap_or_default();
    let levels = if panel.title.is_empty() { "" } else { &format!(" · {}", panel.title) };
    format!("{title}{by}{levels}")
}

fn at_own_rate(panel: &Panel) -> &'static str {
    match is_capacity(panel) {
        true => " Each row ran at the highest rate that it held.",
        false => "",
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
