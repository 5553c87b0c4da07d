//! Phased workloads in every form: tables in the layout of the field's articles, a heat map,
//! bars by phase, and the details of each candidate.
//!
//! A ratio is always the reference's rate divided by the candidate's, and its header says so:
//! `xfs/ext4, >1: xfs faster`. What cannot be trusted or has no result is a footnote.
//!
//! ```text
//! pickfs show RUN --phases                          every table on the terminal
//! pickfs report RUN --format png --chart heat-map   one picture
//! pickfs report RUN --format psv --format bonnie    what older tools read
//! ```

pub mod bars;
pub mod bonnie_csv;
pub mod csv;
pub mod details;
pub mod footnotes;
pub mod heat_map;
pub mod html;
pub mod lines;
pub mod markdown;
pub mod psv;
pub mod terminal;
pub mod words;

use pickfs_model::finding::Panel;

/// Whether a panel is made of phases rather than of one loop.
pub fn is_phased(panel: &Panel) -> bool {
    !panel.phases.is_empty()
}
