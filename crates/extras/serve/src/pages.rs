//! Pages around the reports: the list of runs, the trials of a run that goes on, its files, a comparison, a few words.

use maud::{Markup, PreEscaped, html};
use pickfs_analysis::compare::{Named, RunComparison};
use pickfs_record::{RunRecord, typed::program};
use pickfs_report::{
    comparison::comparison_document,
    document::html::fragment,
    html::{ending, framed},
};
use pickfs_store::TrialRow;

use crate::{name::encoded, runs::RunLine};

const STYLE: &str = include_str!("pages.css");
/// Trials that a page of a run that goes on shows.
const ROWS_MAX: usize = 200;

fn run_link(name: &str) -> String {
    format!("/run/{}", encoded(name))
}

fn files_link(name: &str) -> String {
    format!("/files/{}", encoded(name))
}

fn live_link(name: &str) -> String {
    format!("/live/{}", encoded(name))
}

fn bar(links: &[(String, &str)]) -> Markup {
    html! {
        nav.bar aria-label="Pages" {
            a href="/" { "All runs" }
            @for (to, words) in links { a href=(to) { (words) } }
        }
    }
}

/// A page below the list, with links beside the one to the list.
fn below(title: &str, links: &[(String, &str)], heading: &str, body: &Markup) -> String {
    let all = html! { (bar(links)) h1 { (heading) } (body) };
    framed(title, STYLE, &all.0)
}

/// The report of a run under our links.
pub fn with_bar(page: &str, name: &str, is_over: bool) -> String {
    let mut links = vec![(files_link(name), "Files")];
    links.extend((!is_over).then(|| (live_link(name), "Follow")));
    let page = page.replacen("</style></head>", &format!("{STYLE}</style></head>"), 1);
    page.replacen("<body>\n", &format!("<body>\n{}", bar(&links).0), 1)
}

pub fn files_page(name: &str, files: &[String]) -> String {
    let groups = [
        ("Reports and tables", None),
        ("Charts", Some("charts")),
        ("Tables as KX Nano writes them", Some("psv")),
        ("HdrHistogram interval logs", Some("hlog")),
    ];
    let link = |file: &str| {
        let parts: Vec<_> = file.split('/').map(encoded).collect();
        format!("{}/{}", files_link(name), parts.join("/"))
    };
    let body = html! {
        p.muted { "Each is written when you ask for it." }
        @for (title, folder) in groups {
            @let of = |file: &&String| file.split_once('/').map(|(folder, _)| folder) == folder;
            @let mine: Vec<_> = files.iter().filter(of).collect();
            @if !mine.is_empty() {
                h2 { (title) }
                ul.files {
                    @for file in mine {
                        li { a href=(link(file)) { (file.rsplit('/').next().unwrap_or(file)) } }
                    }
                }
            }
        }
    };
    below("files", &[(run_link(name), name)], &format!("Files of {name}"), &body)
}

pub fn comparison_page(comparison: &RunComparison, runs: &[Named<'_>]) -> String {
    let document = comparison_document(comparison, runs);
    let links: Vec<_> = runs.iter().map(|one| (run_link(one.name), one.name)).collect();
    let body = PreEscaped(fragment(&document.nodes));
    below("compare", &links, &document.title, &body)
}

pub fn message_page(heading: &str, text: &str) -> String {
    below(heading, &[], heading, &html! { p { (text) } })
}

pub fn token_page() -> String {
    let body = html! {
        h1 { "pickfs serve" }
        p { "This address asks for a token. It stands in the link that pickfs serve printed." }
        form.search action="/" {
            input type="password" name="token" aria-label="Token" autocomplete="off";
            button { "Go on" }
        }
    };
    framed("token", STYLE, &body.0)
}

/// It shows what is kept and no result: whoever looks while it runs would stop when they like what they see.
pub fn live_page(name: &str, head: &RunRecord, rows: &[TrialRow], idle_s: Option<u64>) -> String {
    let planned = head.cells.len() * head.plan.design.blocks as usize;
    let most = if head.plan.design.stop.is_race() { "at most " } else { "" };
    let state = match (&head.ended, idle_s) {
        (Some(end), _) => format!("Ended: {}. {}", end.how, end.note),
        (None, Some(idle_s)) if idle_s > 3_600 => {
            format!("Nothing was written for {} hours: it may have been killed.", idle_s / 3_600)
        }
        (None, _) => "Not ended; this page is loaded again every few seconds.".into(),
    };
    let cell = |row: &TrialRow| {
        let found = head.cells.iter().find(|known| known.id == row.cell);
        let text = |cell: &pickfs_record::Cell| {
            format!("{} {}", cell.candidate.label, cell.levels_text()).trim().to_owned()
        };
        found.map_or_else(|| row.cell.to_string(), text)
    };
    let body = html! {
        p { progress max=(planned) value=(rows.len()) {} }
        p role="status" {
            strong #count { (rows.len()) } " of " (most) (planned) " trials kept. " span #state { (state) }
        }
        p.muted {
            "The report is worth reading when the run is over: to stop when one likes what one sees is to \
             choose the result. A page that is open here costs the measuring machine a look at the file every \
             few seconds."
        }
        .wide.slim tabindex="0" role="region" aria-label="Trials" { table {
            thead { tr { th { "trial" } th { "block" } th.left { "cell" } th.left { "outcome" } } }
            tbody #rows {
                @for row in rows.iter().rev().take(ROWS_MAX) {
                    tr {
                        td { (row.number) } td { (row.block) } td.left { (cell(row)) }
                        td.left { (row.outcome) @if row.attempt > 1 { ", repeated" } }
                    }
                }
            }
        } }
    };
    let links = [(run_link(name), "Report so far"), (files_link(name), "Files")];
    below("follow", &links, &head.plan.question, &body)
}

pub fn list_page(folder: &str, lines: &[RunLine], search: &str) -> String {
    let found: Vec<_> = lines.iter().filter(|line| line.matches(search)).collect();
    let of = if search.trim().is_empty() { String::new() } else { format!(" of {}", lines.len()) };
    let body = html! {
        h1 { "Runs" }
        form.search action="/" role="search" {
            input type="search" name="q" value=(search) aria-label="Search runs"
                placeholder="name, question, candidate, kernel ...";
            button { "Search" }
        }
        p.muted { (found.len()) (of) " in " (folder) ", newest first." }
        @if lines.is_empty() { p { "No run yet: " (program()) " run makes one." } }
        form action="/compare" {
            ul.runs {
                @for line in found {
                    li {
                        input type="checkbox" name="run" value=(line.name)
                            aria-label={ "choose " (line.name) } disabled[line.about.is_err()];
                        div { (row(line)) }
                    }
                }
            }
            @if lines.len() > 1 {
                .act {
                    button { "Compare the chosen runs" }
                    span.muted { "two or more; the oldest comes first" }
                }
            }
        }
    };
    framed("runs", STYLE, &body.0)
}

fn row(line: &RunLine) -> Markup {
    let about = match &line.about {
        Ok(about) => about,
        Err(why) => {
            return html! { h2 { (line.name) " " span.state.bad { "cannot be read" } } p { (why) } };
        }
    };
    let (class, state) = match about.ended.as_deref() {
        None => ("state on", "not ended"),
        Some("failed") => ("state bad", "failed"),
        Some(how) => ("state over", how),
    };
    let facts = [
        &*about.started.replacen('T', " ", 1),
        &about.plan,
        &about.trials_text(),
        &about.backing,
        &about.machine,
        &about.candidates.join(", "),
    ];
    html! {
        h2 { a href=(run_link(&line.name)) { (line.name) } " " span class=(class) { (state) } }
        p { (about.question) }
        @if let Some(found) = &about.ending { (PreEscaped(ending(found))) }
        p.muted { (facts.join(" · ")) }
        p {
            a href=(files_link(&line.name)) { "Files" }
            @if about.ended.is_none() { " · " a href=(live_link(&line.name)) { "Follow" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::RunSummary;
    use pickfs_testkit::{FakeRun, fake_run};

    #[test]
    fn what_is_hostile_or_damaged_is_words_and_cannot_be_chosen() {
        let run = fake_run(&FakeRun::default());
        let about = Ok(RunSummary::new(&run, run.trials.len()));
        let good = RunLine { name: "2026-a".into(), about };
        let bad = RunLine { name: "<b>".into(), about: Err("trial 3 is <damaged>".into()) };
        let page = list_page("runs", &[good, bad], "");
        assert!(page.contains("trial 3 is &lt;damaged&gt;"));
        assert!(page.contains("aria-label=\"choose &lt;b&gt;\" disabled>"));
        assert!(page.contains("<a href=\"/run/2026-a\">2026-a</a>"));
        let page = list_page("runs", &[], "\"><script>");
        assert!(page.contains("value=\"&quot;&gt;&lt;script&gt;\""));
    }
}
