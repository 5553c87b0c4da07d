use pickfs_model::features::{FeatureRow, FeatureTable};

use super::view::{EXPLAINED, View, class_of, dissent};

pub fn features_markdown(table: &FeatureTable) -> String {
    let view = View::new(table);
    let mut out = opening(&view);
    out.push_str(&classes(&view));
    out.push_str(&matrix(&view));
    out.push_str(&notes(&view));
    out.push_str(&origins(&view));
    out.push_str(&absent(&view));
    out
}

fn opening(view: &View) -> String {
    let table = view.table;
    format!(
        "Asked on {} of {} mounted file systems: kernel {}, {}.\n\n",
        table.started.split('T').next().unwrap_or_default(),
        view.asked.len(),
        table.machine.get("kernel.release").unwrap_or("not told"),
        text(&table.ground)
    )
}

fn classes(view: &View) -> String {
    let mut out = String::new();
    for (class, rows) in view.classes() {
        let names: Vec<_> = rows.iter().map(|row| text(&row.label)).collect();
        out.push_str(&format!("- **{}**: {}\n", class.name(), names.join(", ")));
    }
    for row in &view.asked {
        let Some(dissent) = dissent(row) else { continue };
        let because = class_of(row).map(|found| found.because.clone()).unwrap_or_default();
        out.push_str(&format!("- {}: {}; {}\n", text(&row.label), text(&because), text(&dissent)));
    }
    out + "\n"
}

fn matrix(view: &View) -> String {
    let labels: Vec<_> = view.asked.iter().map(|row| text(&row.label)).collect();
    let mut out = format!("| | {} |\n|---|{}\n", labels.join(" | "), ":-:|".repeat(labels.len()));
    for (group, lines) in view.groups() {
        out.push_str(&format!("| **{}** |{}\n", group.title(), " |".repeat(labels.len())));
        for line in lines {
            let cells: Vec<_> = line.answers.iter().map(|answer| text(answer.cell())).collect();
            out.push_str(&format!("| {} | {} |\n", line.capability.label, cells.join(" | ")));
        }
    }
    out + "\n"
}

fn notes(view: &View) -> String {
    let remarks = view.remarks(&EXPLAINED);
    let line = |remark: &super::view::Remark| {
        format!("- {}, {}: {}\n", remark.label, text(&remark.who.join(", ")), text(&remark.words))
    };
    remarks.iter().map(line).collect::<String>() + "\n"
}

fn origins(view: &View) -> String {
    let mut out = String::from("<details><summary>Where they come from</summary>\n\n");
    for row in &view.table.rows {
        out.push_str(&origin(row));
    }
    out + "</details>\n\n"
}

fn origin(row: &FeatureRow) -> String {
    let Some(origin) = row.origin else { return String::new() };
    let mut out = format!("**{}**\n\n", text(&row.label));
    for (name, fact) in origin.facts() {
        out.push_str(&format!("- {name}: {} ({})\n", text(fact.text), text(fact.source)));
    }
    if let Some(found) = class_of(row) {
        out.push_str(&format!("- class: {}: {}\n", found.class.name(), text(&found.because)));
        if let Some(article) = found.article {
            out.push_str(&format!("- class in the article of 2011: {}\n", article.name()));
        }
    }
    out + &format!("- looked up: {}\n\n", origin.looked_up)
}

fn absent(view: &View) -> String {
    let absent = view.absent();
    if absent.is_empty() {
        return String::new();
    }
    let mut out = String::from("Not here:\n\n");
    for (row, reason) in absent {
        out.push_str(&format!("- {}: {}\n", text(&row.label), text(&reason)));
    }
    out
}

fn text(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}
