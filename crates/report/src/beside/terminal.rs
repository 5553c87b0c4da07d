use pickfs_analysis::published::beside::{Beside, Part};

use super::rows::{candidate_title, mean_texts, measured_text, published_text, summary, word_text};
use crate::terminal::{
    grid::{Align, Grid},
    paragraph::{hanging, wrap},
    plain,
};

const MARGIN: usize = 10;

pub fn beside_screen(beside: &Beside, columns: usize) -> String {
    let columns = columns.max(60);
    let title = format!("{} beside {}", plain(&beside.run), plain(&beside.table));
    let mut out = hanging("compare", &title, MARGIN, columns);
    out.push_str(&hanging("table", &plain(&beside.about), MARGIN, columns));
    out.push_str(&hanging("rows", &summary(beside), MARGIN, columns));
    for note in &beside.notes {
        out.push_str(&hanging("note", &plain(note), MARGIN, columns));
    }
    for part in &beside.parts {
        for index in 0..part.candidates.len() {
            out.push('\n');
            out.push_str(&table(part, index, columns));
        }
    }
    out
}

fn table(part: &Part, index: usize, columns: usize) -> String {
    let reference = &part.reference;
    let title = format!("{}: {}, >1: {reference} faster", part.title, candidate_title(part, index));
    let mut rows = vec![["", "published", "here", ""].map(String::from).to_vec()];
    for row in &part.rows {
        let pair = &row.pairs[index];
        let cells = [row.label.clone(), published_text(pair), measured_text(pair), word_text(pair)];
        rows.push(cells.map(|text| plain(&text)).to_vec());
    }
    if let Some([published, measured, of]) = mean_texts(part, index) {
        rows.push(vec!["GEOMETRIC MEAN".into(), published, measured, of]);
    }
    use Align::{Left, Right};
    let grid = Grid { columns: vec![Left, Right, Right, Left], rows };
    let mut out = wrap(&plain(&title), columns).join("\n") + "\n";
    for line in grid.lines().concat() {
        let line: String = line.chars().take(columns).collect();
        out.push_str(&line);
        out.push('\n');
    }
    out
}
