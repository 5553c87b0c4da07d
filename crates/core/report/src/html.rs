//! One page that tells the whole run, in one file that works offline.
//! The page loads nothing: styles, pictures and its small script are inside.

pub(crate) mod board;
mod drill_down;
pub(crate) mod markup;
pub(crate) mod opening;
mod pictures;

use markup::Page;

use pickfs_analysis::articles::of_run;

use crate::{
    Subject, articles, card, conditions,
    document::{Node, html::write},
    factors, ranking, stalls,
    svg::{colours, escape, style_sheet},
    terminal::NextStep,
};

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

pub fn html(subject: &Subject, next: Option<&NextStep>) -> String {
    let mut page = Page::default();
    head(&mut page, subject);
    let answers = of_run(subject.run, subject.findings);
    opening::write(&mut page, subject, next, !answers.is_empty());
    let panels = ranking::table::nodes(subject);
    write(&mut page, &[Node::Section("ranking", "Ranking".into(), panels)]);
    write(&mut page, &[card::section(subject.run)]);
    write(&mut page, stalls::ledger::section(subject).as_slice());
    write(&mut page, factors::section(subject).as_slice());
    pictures::write(&mut page, subject);
    drill_down::write(&mut page, subject);
    write(&mut page, &[conditions::absent(subject)]);
    write(&mut page, articles::of_run(&answers).as_slice());
    foot(&mut page, subject);
    page.text
}

fn head(page: &mut Page, subject: &Subject) {
    open_page(page, &subject.run.plan.question);
}

pub(crate) fn open_page(page: &mut Page, title: &str) {
    let title = escape(&format!("{title} - pickfs"));
    let (light, dark) = (colours(false), colours(true));
    page.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    page.raw("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    page.raw("<link rel=\"icon\" href=\"data:,\">\n");
    page.raw(&format!("<title>{title}</title>\n<style>\n:root{{{light}}}\n"));
    page.raw(&format!(
        "@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n\
         @media screen{{:root[data-theme=dark]{{{dark}color-scheme:dark}}\
         :root[data-theme=light]{{color-scheme:light}}}}\n"
    ));
    page.raw(&format!("{}\n{STYLE}</style></head>\n<body>\n", style_sheet()));
}

pub(crate) fn close_page(page: &mut Page) {
    page.raw("</body></html>\n");
}

fn foot(page: &mut Page, subject: &Subject) {
    page.raw("<footer><p class=\"muted\">");
    page.text(&format!(
        "Run {} with {}, begun {}.",
        subject.run.name, subject.run.build, subject.run.started
    ));
    if let Some(end) = &subject.run.ended {
        page.text(&format!(" Ended {}: {}. {}", end.at, end.how, end.note));
    }
    page.raw(&format!("</p></footer>\n<script>\n{SCRIPT}</script>\n</body></html>\n"));
}
