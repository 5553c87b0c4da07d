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

pub fn is_phased(panel: &Panel) -> bool {
    !panel.phases.is_empty()
}
