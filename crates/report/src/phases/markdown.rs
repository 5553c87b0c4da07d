use pickfs_analysis::phases::tables;
use pickfs_model::finding::Panel;

use super::{footnotes::marks, lines::Lines, words::ratio_head};
use crate::{
    Subject,
    markdown::{cell, line, text},
};

pub fn write(subject: &Subject, panel: &Panel) -> String {
    let at = if panel.title.is_empty() { String::new() } else { format!(", {}", panel.title) };
    let mut out = String::new();
    for (index, table) in tables(subject.run, panel).iter().enumerate() {
        let lines = Lines::new(subject, panel, table);
        if index == 1 {
            out.push_str("\n<details><summary>The other tables</summary>\n");
        }
        out.push_str(&format!("\n### {}\n\n", cell(&format!("{}{at}", lines.title))));
        out.push_str(&printed(&lines));
    }
    if out.contains("<details>") {
        out.push_str("\n</details>\n");
    }
    out
}

fn printed(lines: &Lines) -> String {
    let mut head = vec![String::new()];
    head.extend(lines.labels.iter().cloned());
    for at in &lines.compared {
        let (above, below) = ratio_head(lines.reference_label(), &lines.labels[*at]);
        head.push(format!("{above} ({below})"));
    }
    let mut out = line(&head);
    let rule = (0..head.len()).map(|index| if index == 0 { ":--" } else { "--:" });
    out.push_str(&format!("| {} |\n", rule.collect::<Vec<_>>().join(" | ")));
    for row in &lines.lines {
        let mut cells = vec![format!("{}{}", row.name, marks(&row.notes))];
        cells.extend(row.cells.iter().map(|cell| cell.rate.clone()));
        for at in &lines.compared {
            let found = &row.cells[*at];
            let ratio = found.ratio.clone().unwrap_or_default();
            let interval = found.interval.as_ref().map(|interval| format!(" {interval}"));
            cells.push(format!("{ratio}{}", interval.unwrap_or_default()));
        }
        out.push_str(&line(&cells));
    }
    for (index, note) in lines.notes.iter().enumerate() {
        out.push_str(&format!("\n\\[{}\\] {}\n", index + 1, text(note)));
    }
    out
}
