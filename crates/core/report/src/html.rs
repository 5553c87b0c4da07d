//! One page that tells the whole run, in one file that works offline.
//! The page loads nothing: styles, pictures and its small script are inside.

use std::mem::take;

mod drill_down;
pub(crate) mod markup;
mod pictures;

use markup::Page;
use pickfs_record::finding::Ending;

use crate::{
    Subject,
    document::{
        Fold, Node,
        html::{fragment, write},
    },
    run,
    svg::{colours, escape, style_sheet},
    terminal::NextStep,
};

const STYLE: &str = include_str!("html/style.css");
/// Answers that stand in words at the top.
const ENDS: usize = 4;
const SCRIPT: &str = include_str!("html/script.js");

pub fn html(subject: &Subject, next: Option<&NextStep>) -> String {
    let mut page = Page::default();
    open_page(&mut page, &subject.run.plan.question, "");
    page.raw("<header><div class=\"top\"><span class=\"muted\">pickfs</span>");
    page.raw("<button id=\"theme\" hidden>light / dark</button></div>\n");
    page.element("h1", &subject.run.plan.question);
    // The table of answers tells the others, and many would push it off the screen.
    let most = if subject.findings.endings.len() > ENDS { 1 } else { usize::MAX };
    let answers = run::answers(subject, most);
    let is_more = |node: &Node| matches!(node, Node::Box(..));
    let (more, first): (Vec<_>, Vec<_>) = answers.into_iter().partition(is_more);
    write(&mut page, &first);
    pictures::first(&mut page, subject);
    write(&mut page, &more);
    let (before, mut after) = run::sections(subject, next);
    // Of interest to few, and long.
    for node in &mut after {
        if let Node::Section("setup", _, nodes) = node {
            *nodes = vec![Node::Fold(Fold::closed("Device and machine".into(), take(nodes)))];
        }
    }
    page.raw("<nav aria-label=\"Sections\">");
    let middle = [pictures::section(subject), drill_down::section(subject)];
    for node in before.iter().chain(&middle).chain(&after) {
        if let Node::Section(id, title, _) = node {
            page.raw(&format!("<a href=\"#{id}\">{}</a>", escape(title)));
        }
    }
    page.raw("</nav>\n</header>\n");
    write(&mut page, &before);
    write(&mut page, &middle);
    write(&mut page, &after);
    foot(&mut page, subject);
    page.text
}

fn open_page(page: &mut Page, title: &str, more_style: &str) {
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
    page.raw(&format!("{}\n{STYLE}{more_style}</style></head>\n<body>\n", style_sheet()));
}

/// A page of its own around markup that is safe.
pub fn framed(title: &str, more_style: &str, body: &str) -> String {
    let mut page = Page::default();
    open_page(&mut page, title, more_style);
    page.raw(body);
    page.raw("</body></html>\n");
    page.text
}

/// How a run ended, as the top of its page says it.
pub fn ending(found: &Ending) -> String {
    fragment(&[run::end(found)])
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
