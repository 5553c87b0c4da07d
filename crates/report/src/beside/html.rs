use pickfs_analysis::published::{
    Word,
    beside::{Beside, Pair, Part},
};

use super::rows::{candidate_title, mean_texts, measured_text, published_text, summary, word_text};
use crate::{
    html::{close_page, markup::Page, open_page},
    phases::words::ratio_number,
};

pub fn beside_html(beside: &Beside) -> String {
    let mut page = Page::default();
    let title = format!("{} beside {}", beside.run, beside.table);
    open_page(&mut page, &title);
    page.element("h1", &title);
    page.element("p", &format!("{}.", beside.about));
    page.element("p", &format!("Rows: {}.", summary(beside)));
    for note in &beside.notes {
        page.element("p class=\"muted\"", note);
    }
    for part in &beside.parts {
        table(&mut page, part);
    }
    close_page(&mut page);
    page.text
}

fn table(page: &mut Page, part: &Part) {
    page.element("h2", &part.title);
    page.element("p class=\"muted\"", &format!("Above 1 {} is faster.", part.reference));
    page.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\"><table><thead><tr><th></th>");
    for index in 0..part.candidates.len() {
        let title = candidate_title(part, index);
        page.raw("<th>");
        page.text(&title);
        page.raw("<small>published</small></th><th>");
        page.text(&title);
        page.raw("<small>here</small></th><th></th>");
    }
    page.raw("</tr></thead><tbody>\n");
    for row in &part.rows {
        page.raw("<tr>");
        page.element("td", &row.label);
        row.pairs.iter().for_each(|pair| pair_cells(page, pair));
        page.raw("</tr>\n");
    }
    means(page, part);
    page.close_table();
}

fn pair_cells(page: &mut Page, pair: &Pair) {
    page.element("td", &published_text(pair));
    page.raw("<td>");
    match pair.measured {
        Some(ratio) => {
            page.text(&ratio_number(ratio.value));
            let interval = measured_text(pair);
            if let Some((_, interval)) = interval.split_once(' ') {
                page.element("small", interval);
            }
        }
        None => page.text("-"),
    }
    page.raw("</td>");
    let class = match pair.word {
        Word::SameSide => "word same",
        Word::OppositeSide => "word opposite",
        _ => "word",
    };
    page.element(&format!("td class=\"{class}\""), &word_text(pair));
}

fn means(page: &mut Page, part: &Part) {
    page.raw("<tr class=\"mean\"><td>GEOMETRIC MEAN</td>");
    for index in 0..part.candidates.len() {
        let [published, measured, of] =
            mean_texts(part, index).unwrap_or_else(|| ["-".into(), "-".into(), String::new()]);
        page.element("td", &published);
        page.element("td", &measured);
        page.element("td class=\"word\"", &of);
    }
    page.raw("</tr>\n");
}
