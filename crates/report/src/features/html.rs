//! The table as a page.

use pickfs_model::features::FeatureTable;

/// Writes the table as one page that works offline.
pub fn features_html(_table: &FeatureTable) -> String {
    String::new()
}
