//! The table as Markdown.

use pickfs_model::features::FeatureTable;

/// Writes the table as Markdown.
pub fn features_markdown(_table: &FeatureTable) -> String {
    String::new()
}
