use pickfs_analysis::articles::{Answer, Outcome};

use super::words::{CAVEAT, claims_text, details, outcome_text};
use crate::html::markup::Page;

pub fn section(page: &mut Page, answers: &[Answer]) {
    if answers.is_empty() {
        return;
    }
    page.section("articles", "What articles said of this");
    page.element("p class=\"muted\"", CAVEAT);
    page.raw("<details class=\"panel\">");
    page.element("summary", &claims_text(answers.len()));
    page.open_table(&["the article said", "this run says", "in detail"]);
    for answer in answers {
        row(page, answer);
    }
    page.close_table();
    page.raw("</details>\n</section>\n");
}

fn row(page: &mut Page, answer: &Answer) {
    let claim = &answer.claim;
    let saw = if claim.saw.is_empty() { String::new() } else { format!(" It saw: {}.", claim.saw) };
    page.raw("<tr>");
    page.element("td class=\"text\"", &format!("{}{saw} ({})", claim.says, claim.id));
    let is_opposite = answer.outcome == Outcome::Opposite;
    let class = if is_opposite { "td class=\"text opposite\"" } else { "td class=\"text\"" };
    page.element(class, &outcome_text(&answer.outcome));
    page.raw("<td class=\"text\">");
    for detail in details(answer) {
        page.text(&detail);
        page.raw("<br>");
    }
    page.raw("</td></tr>\n");
}
