use super::{board, markup::Page};
use crate::{Subject, conditions::conditions, phases::is_phased, stalls, terminal::NextStep};
use pickfs_record::{
    finding::{AnswerEnd, Ending, Verdict},
    plan::ArticleNote,
    quantity::span_text,
};

const VERDICTS_OPEN: usize = 4;

pub fn write(page: &mut Page, subject: &Subject, next: Option<&NextStep>, has_claims: bool) {
    page.raw("<header><div class=\"top\"><span class=\"muted\">pickfs</span>");
    page.raw("<button id=\"theme\" hidden>light / dark</button></div>\n");
    page.element("h1", &subject.run.plan.question);
    endings(page, subject);
    page.raw(
        "<nav aria-label=\"Sections\"><a href=\"#verdict\">In words</a>\
         <a href=\"#ranking\">Ranking</a>",
    );
    if !subject.stalls.is_empty() {
        page.raw("<a href=\"#slow\">Why slow</a>");
    }
    page.raw("<a href=\"#setup\">Set-up</a><a href=\"#pictures\">Pictures</a>");
    page.raw("<a href=\"#cells\">Every cell</a><a href=\"#absent\">Without a result</a>");
    if has_claims {
        page.raw("<a href=\"#articles\">What articles said</a>");
    }
    page.raw("</nav>\n</header>\n");
    board::write(page, subject);
    page.raw("<dl class=\"facts\">\n");
    for (name, value) in conditions(subject) {
        page.fact(name, &value);
    }
    page.raw("</dl>\n");
    if let Some(note) = &subject.run.plan.article {
        article(page, note);
    }
    verdicts(page, subject);
    reasons(page, subject);
    doubts(page, subject, next);
}

pub(crate) fn ending(page: &mut Page, ending: &Ending) {
    let class = match ending.end {
        AnswerEnd::Winner => "winner",
        AnswerEnd::Equal => "equal",
        AnswerEnd::NoAnswer => "none",
    };
    page.raw(&format!("<p class=\"end {class}\">"));
    page.element("strong", &ending.end.to_string());
    page.text(&format!(" {}", ending.sentence));
    page.raw("</p>\n");
}

fn endings(page: &mut Page, subject: &Subject) {
    // The tiles of a phased run tell the others, and would be pushed off the screen.
    let most = if subject.findings.panels.iter().any(is_phased) { 1 } else { usize::MAX };
    let endings = &subject.findings.endings;
    let endings = &endings[..endings.len().min(most)];
    for (index, found) in endings.iter().enumerate() {
        if index == 1 {
            page.raw("<div class=\"ends\">\n");
        }
        ending(page, found);
        if let Some(turn) = &found.turn {
            page.element("p class=\"muted\"", &format!("But {turn}."));
        }
        if let Some(cure) = found.cure.as_ref().filter(|_| index == 0) {
            page.element("pre", &cure.command);
        }
    }
    if endings.len() > 1 {
        page.raw("</div>\n");
    }
}

fn verdicts(page: &mut Page, subject: &Subject) {
    page.raw("<div class=\"verdict\" id=\"verdict\">\n");
    let verdicts = &subject.findings.verdicts;
    let (first, more) = verdicts.split_at(verdicts.len().min(VERDICTS_OPEN));
    let phased = subject.findings.panels.iter().any(is_phased);
    first.iter().for_each(|found| verdict(page, found, phased));
    if !more.is_empty() {
        page.raw("<details>");
        page.element("summary", &format!("{} more verdicts", more.len()));
        more.iter().for_each(|found| verdict(page, found, phased));
        page.raw("</details>\n");
    }
    page.raw("</div>\n");
}

fn reasons(page: &mut Page, subject: &Subject) {
    let sentences = stalls::words::headlines(subject);
    if sentences.is_empty() {
        return;
    }
    page.raw("<div class=\"article\">\n");
    page.element("h3", "Why laps were slow");
    sentences.iter().for_each(|sentence| page.element("p", sentence));
    page.raw("<p><a href=\"#slow\">Causes, time lines, and what to change</a></p></div>\n");
}

fn article(page: &mut Page, note: &ArticleNote) {
    page.raw("<div class=\"article\">\n");
    page.element("h3", &format!("Repeats {}", note.source));
    page.raw("<dl class=\"facts\">\n");
    page.fact("It saw", &note.saw);
    page.fact("Look at", &note.look_at);
    if !note.cannot_tell.is_empty() {
        page.fact("This run cannot tell", &note.cannot_tell);
    }
    page.raw("</dl></div>\n");
}

fn verdict(page: &mut Page, verdict: &Verdict, phased: bool) {
    if !verdict.panel.is_empty() {
        page.element("h3", &verdict.panel);
    }
    match phased {
        true => verdict.sentences.iter().for_each(|sentence| page.element("p", sentence)),
        false => page.element("p", &verdict.sentences.join(" ")),
    }
    if !verdict.conditions.is_empty() {
        let name = if verdict.best.is_empty() { "Measured with" } else { "Holds for" };
        let conditions = verdict.conditions.join("; ");
        page.element("p class=\"muted\"", &format!("{name}: {conditions}."));
    }
    if !verdict.commands.is_empty() {
        page.element("pre", &verdict.commands.join("\n"));
    }
}

fn doubts(page: &mut Page, subject: &Subject, next: Option<&NextStep>) {
    let findings = subject.findings;
    if findings.not_yet.is_empty() && findings.notices.is_empty() {
        return;
    }
    page.raw("<div class=\"doubt\">\n");
    if !findings.not_yet.is_empty() {
        page.element("h3", "Not yet");
    }
    for open in &findings.not_yet {
        page.element("p", &format!("{}: {}.", open.what, open.why));
    }
    if let Some(next) = next {
        page.raw("<p>This command tells more, in about ");
        page.text(&span_text(next.duration_s));
        page.raw(":</p>");
        page.element("pre", &next.command);
    }
    if !findings.notices.is_empty() {
        page.element("h3", "Doubts");
    }
    for notice in &findings.notices {
        page.element("p", &crate::conditions::notice_text(subject, notice));
    }
    page.raw("</div>\n");
}
