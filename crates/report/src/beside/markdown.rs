use pickfs_analysis::published::beside::{Beside, Part};

use super::rows::{candidate_title, mean_texts, measured_text, published_text, summary, word_text};
use crate::markdown::{cell, line, text};

pub fn beside_markdown(beside: &Beside) -> String {
    let mut out = format!("## {} beside {}\n\n", cell(&beside.run), cell(&beside.table));
    out.push_str(&format!("{}.\n\n- rows: {}\n", text(&beside.about), summary(beside)));
    for note in &beside.notes {
        out.push_str(&format!("- {}\n", text(note)));
    }
    for part in &beside.parts {
        for index in 0..part.candidates.len() {
            out.push_str(&table(part, index));
        }
    }
    out
}

fn table(part: &Part, index: usize) -> String {
    let title = format!("{}: {}", part.title, candidate_title(part, index));
    let mut out = format!("\n### {}\n\n", cell(&title));
    out.push_str(&format!("Above 1 {} is faster.\n\n", text(&part.reference)));
    out.push_str(&line(&["", "published", "here", ""]));
    out.push_str("| :-- | --: | --: | :-- |\n");
    for row in &part.rows {
        let pair = &row.pairs[index];
        out.push_str(&line(&[
            row.label.clone(),
            published_text(pair),
            measured_text(pair),
            word_text(pair),
        ]));
    }
    if let Some([published, measured, of]) = mean_texts(part, index) {
        out.push_str(&line(&["GEOMETRIC MEAN".into(), published, measured, of]));
    }
    out
}
