use pickfs_record::{
    RunRecord, finding::Ending, plan::StopRule, quantity::counted, typed::program,
};

use super::{frame, link};
use crate::{document::html::write, html::markup::Page, run, svg::escape, wording::backing_text};

#[derive(Debug, Clone, PartialEq)]
pub struct RunLine {
    pub name: String,
    pub about: Result<RunSummary, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    pub started: String,
    pub question: String,
    pub plan: String,
    pub candidates: Vec<String>,
    pub backing: String,
    pub machine: String,
    pub trials: usize,
    /// Trials that the plan asks for; the most, where the run ends when it is decided.
    pub trials_planned: usize,
    /// How it ended; nothing while it goes on, or where it was cut short.
    pub ended: Option<String>,
    /// Its answer; nothing while it goes on, or where nothing was to be compared.
    pub ending: Option<Ending>,
}

impl RunSummary {
    pub fn new(run: &RunRecord, trials: usize) -> RunSummary {
        let fact = |key: &str| run.environment.get(key).unwrap_or_default().to_owned();
        let kernel = format!("Linux {}", fact("kernel.release"));
        let machine = [kernel.trim().to_owned(), fact("cpu.model")];
        let machine: Vec<_> = machine.into_iter().filter(|text| !text.is_empty()).collect();
        RunSummary {
            started: run.started.clone(),
            question: run.plan.question.clone(),
            plan: format!("{} ({})", run.plan.name, run.plan.workload),
            candidates: run.plan.candidates.iter().map(|c| c.label.clone()).collect(),
            backing: backing_text(&run.plan.backing),
            machine: machine.join(", "),
            trials,
            trials_planned: run.cells.len() * run.plan.design.blocks as usize,
            ended: run.ended.as_ref().map(|end| end.how.clone()),
            ending: None,
        }
    }

    pub fn trials_text(&self) -> String {
        match self.ended {
            Some(_) => counted(self.trials as u64, "trial"),
            None => format!("{} of {} trials", self.trials, self.trials_planned),
        }
    }
}

pub(super) fn planned_text(run: &RunRecord) -> String {
    let planned = run.cells.len() * run.plan.design.blocks as usize;
    match run.plan.design.stop {
        StopRule::Blocks => format!("of {planned}"),
        StopRule::Decided { .. } => format!("of at most {planned}"),
    }
}

impl RunLine {
    /// Whether every word of a search stands somewhere in the row.
    pub fn matches(&self, search: &str) -> bool {
        let text = match &self.about {
            Err(why) => format!("{} damaged {why}", self.name),
            Ok(about) => [
                &self.name,
                &about.started,
                &about.question,
                &about.plan,
                &about.candidates.join(" "),
                &about.backing,
                &about.machine,
                about.ended.as_deref().unwrap_or("not ended"),
                &about.ending.as_ref().map(Ending::line).unwrap_or_default(),
            ]
            .join(" "),
        };
        let text = text.to_lowercase();
        search.to_lowercase().split_whitespace().all(|word| text.contains(word))
    }
}

pub fn list_page(folder: &str, lines: &[RunLine], search: &str) -> String {
    let mut page = frame::open("runs");
    page.element("h1", "Runs");
    page.raw("<form class=\"search\" action=\"/\" role=\"search\">");
    page.raw(&format!(
        "<input type=\"search\" name=\"q\" value=\"{}\" aria-label=\"Search runs\" \
         placeholder=\"name, question, candidate, kernel ...\"><button>Search</button></form>\n",
        escape(search)
    ));
    let found: Vec<_> = lines.iter().filter(|line| line.matches(search)).collect();
    let of = if search.trim().is_empty() { String::new() } else { format!(" of {}", lines.len()) };
    page.element("p class=\"muted\"", &format!("{}{of} in {folder}, newest first.", found.len()));
    if lines.is_empty() {
        page.element("p", &format!("No run yet: {} run makes one.", program()));
    }
    page.raw("<form action=\"/compare\">\n<ul class=\"runs\">\n");
    found.iter().for_each(|line| row(&mut page, line));
    page.raw("</ul>\n");
    if lines.len() > 1 {
        page.raw("<div class=\"act\"><button>Compare the chosen runs</button>");
        page.element("span class=\"muted\"", "two or more; the oldest comes first");
        page.raw("</div>\n");
    }
    page.raw("</form>\n");
    frame::close(page, None)
}

fn row(page: &mut Page, line: &RunLine) {
    let name = escape(&line.name);
    let off = if line.about.is_err() { " disabled" } else { "" };
    page.raw(&format!(
        "<li><input type=\"checkbox\" name=\"run\" value=\"{name}\" aria-label=\"choose {name}\"{off}><div>"
    ));
    match &line.about {
        Ok(about) => good(page, line, about),
        Err(why) => {
            page.raw("<h2>");
            page.text(&line.name);
            page.raw(" <span class=\"state bad\">cannot be read</span></h2>\n");
            page.element("p", why);
        }
    }
    page.raw("</div></li>\n");
}

fn good(page: &mut Page, line: &RunLine, about: &RunSummary) {
    page.raw(&format!("<h2><a href=\"{}\">", link::run(&line.name)));
    page.text(&line.name);
    page.raw("</a> ");
    let (class, state) = match about.ended.as_deref() {
        None => ("on", "not ended"),
        Some("failed") => ("bad", "failed"),
        Some(how) => ("over", how),
    };
    page.element(&format!("span class=\"state {class}\""), state);
    page.raw("</h2>\n");
    page.element("p", &about.question);
    about.ending.iter().for_each(|ending| write(page, &[run::end(ending)]));
    let facts = [
        &*about.started.replacen('T', " ", 1),
        &about.plan,
        &about.trials_text(),
        &about.backing,
        &about.machine,
        &about.candidates.join(", "),
    ];
    page.raw("<p class=\"muted\">");
    page.text(&facts.join(" · "));
    page.raw("</p>\n<p>");
    page.raw(&format!("<a href=\"{}\">Files</a>", link::files(&line.name)));
    if about.ended.is_none() {
        page.raw(&format!(" · <a href=\"{}\">Follow</a>", link::live(&line.name)));
    }
    page.raw("</p>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeRun, fake_run};

    fn line() -> RunLine {
        let run = fake_run(&FakeRun::default());
        RunLine { name: "2026-a".into(), about: Ok(RunSummary::new(&run, run.trials.len())) }
    }

    #[test]
    fn every_word_of_a_search_must_stand_somewhere() {
        let line = line();
        assert!(line.matches("") && line.matches("  XFS 2026 ") && line.matches("completed"));
        assert!(!line.matches("xfs zfs"));
        let bad = RunLine { name: "b".into(), about: Err("not a run".into()) };
        assert!(bad.matches("damaged") && !bad.matches("xfs"));
    }

    #[test]
    fn a_damaged_file_is_a_row_that_says_so_and_cannot_be_chosen() {
        let bad = RunLine { name: "<b>".into(), about: Err("trial 3 is <damaged>".into()) };
        let page = list_page("runs", &[line(), bad], "");
        assert!(page.contains("trial 3 is &lt;damaged&gt;"));
        assert!(page.contains("aria-label=\"choose &lt;b&gt;\" disabled>"));
        assert!(page.contains("<a href=\"/run/2026-a\">2026-a</a>"));
    }

    #[test]
    fn a_search_is_shown_escaped() {
        let page = list_page("runs", &[line()], "\"><script>");
        assert!(page.contains("value=\"&quot;&gt;&lt;script&gt;\""));
        assert!(page.contains("0 of 1 in runs"));
    }
}
