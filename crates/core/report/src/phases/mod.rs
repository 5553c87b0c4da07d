pub mod bars;
pub mod bonnie_csv;
pub mod csv;
pub mod details;
pub mod footnotes;
pub mod heat_map;
pub mod psv;
pub mod tables;
pub mod words;

use pickfs_record::finding::Panel;

pub fn is_phased(panel: &Panel) -> bool {
    !panel.phases.is_empty()
}
