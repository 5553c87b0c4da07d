//! Notes of a panel: what holds for every row is said once, what tells rows apart stands
//! beside them.

use std::collections::BTreeMap;

use pickfs_record::{
    CellId,
    finding::{AnswerEnd, Notice, Panel, Row},
};

use pickfs_analysis::{ending::DISTURBED, wording::list};

use crate::{Subject, ranking, subject::counted};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Notes {
    pub of_all: Vec<String>,
    rows: BTreeMap<CellId, String>,
}

impl Notes {
    pub fn new(subject: &Subject, panel: &Panel) -> Notes {
        let mut notes = Notes::default();
        let ranked = ranking::ranked(subject, panel);
        let shared_texts = texts_of_all(panel);
        let shared_kinds = kinds_of_all(panel);
        for kind in shared_kinds.iter().filter(|kind| !holds_for_the_run(subject, kind)) {
            notes.of_all.push(kind_text(&ranked, kind));
        }
        notes.of_all.extend(shared_texts.iter().cloned());
        for row in &ranked {
            let mut own = Vec::new();
            for (kind, count) in row.doubts.iter().filter(|(kind, _)| !shared_kinds.contains(kind))
            {
                own.push(format!("{kind} {count} of {}", row.trials));
            }
            for text in texts(row).into_iter().filter(|text| !shared_texts.contains(text)) {
                own.push(text);
            }
            notes.rows.insert(row.cell.clone(), own.join("; "));
        }
        notes
    }

    pub fn words(&self, row: &Row) -> String {
        self.rows.get(&row.cell).cloned().unwrap_or_default()
    }
}

pub fn all_words(row: &Row) -> Vec<String> {
    let doubts = row.doubts.iter();
    let doubts = doubts.map(|(kind, n)| format!("{kind}: {n} of {} trials", row.trials));
    doubts.chain(texts(row)).collect()
}

const KINDS: [(&str, &str, &str); 12] = [
    ("disturbed", "others took CPU time in", "run it again when they are quiet"),
    ("throttled", "a CPU quota held pickfs back in", "raise cpu.max of its control group"),
    ("rate-missed", "the rate was not reached in", "ask for less, --set rate=..."),
    ("raw-out-of-band", "the disk was not as usual before", "leave the disk to this run"),
    ("few-blocks", "too few blocks were run", "more --blocks"),
    ("drift", "the machine changed during the run", "run it again"),
    ("not-steady", "latency rose or fell within", "longer --warmup"),
    ("bimodal", "values lie in two groups", "look at the blocks on the page"),
    ("not-cold", "the cache was not cold in", "see the notes of the rows"),
    ("period-not-covered", "periodic work was not covered in", "--measure 60s"),
    ("late-start", "hosts began apart in", "fewer ranks than processors on each host"),
    ("clock-loose", "clocks of hosts were loose in", "a quieter network, or quieter hosts"),
];

/// The doubts of a run in words, the heaviest first, each with what would help: those of the whole run, and of
/// trials those that an answer notes. Where nothing was asked, all of them.
pub fn in_words(subject: &Subject) -> Vec<(String, String)> {
    let weight = |kind: &str| KINDS.iter().position(|(known, ..)| *known == kind);
    // An open end says itself what would close it, also how many blocks if blocks would.
    let is_open = subject.findings.endings.iter().any(|ending| ending.end == AnswerEnd::NoAnswer);
    let mut notices: Vec<_> = subject.findings.notices.iter().collect();
    notices.retain(|notice| !is_open || notice.kind != "few-blocks");
    // A run that was stopped by them says so, with the cure, in its answer.
    let is_stopped = subject.run.ended.as_ref().is_some_and(|end| end.how == DISTURBED);
    notices.retain(|n| !is_stopped || n.kind != "disturbed" && n.kind != "throttled");
    let answers = &subject.findings.answers;
    let noted = |kind: &str| {
        let mut notes = answers.iter().flat_map(|answer| &answer.notes);
        notes.find(|note| note.kind == kind)
    };
    notices
        .retain(|notice| notice.trials == 0 || answers.is_empty() || noted(&notice.kind).is_some());
    notices.sort_by_key(|notice| weight(&notice.kind).unwrap_or(KINDS.len()));
    let told = |notice: &&Notice| {
        let (mut text, cure) = said(subject, notice);
        if weight(&notice.kind).is_none() {
            text.push_str(&format!(": {}", notice.text));
        }
        if let Some(note) = noted(&notice.kind) {
            text.push_str(&format!(" ({})", note.text));
        }
        (text, cure.to_owned())
    };
    let mut all: Vec<_> = notices.iter().map(told).collect();
    // The candidates and the raw device may have changed, which is one doubt.
    all.dedup();
    all
}

/// Its words and what would help; of a kind without words its name.
fn said(subject: &Subject, notice: &Notice) -> (String, &'static str) {
    let all = subject.run.trials.len();
    let known = KINDS.iter().find(|(kind, ..)| *kind == notice.kind);
    let (words, cure) = known.map_or((&*notice.kind, ""), |(_, words, cure)| (*words, *cure));
    match notice.trials {
        0 => (words.to_owned(), cure),
        trials => (format!("{words} {trials} of {all} trials"), cure),
    }
}

/// `the disk was not as usual before 1 of 320 trials (raw-out-of-band): raw 503 us`.
pub fn notice_text(subject: &Subject, notice: &Notice) -> String {
    let (words, _) = said(subject, notice);
    let kind = if words.starts_with(&notice.kind) { "" } else { &format!(" ({})", notice.kind) };
    let first = if notice.trials > 1 { "the first: " } else { "" };
    format!("{words}{kind}: {first}{}", notice.text)
}

fn texts(row: &Row) -> Vec<String> {
    let mut texts = row.notes.clone();
    for (count, how, reason) in
        [(row.failed, "failed", &row.failure), (row.skipped, "skipped", &row.skip)]
    {
        if count > 0 {
            let reason = reason.as_deref().unwrap_or("no reason kept");
            let trials = if count == 1 { "trial" } else { "trials" };
            texts.push(format!("{count} {trials} {how}: {reason}"));
        }
    }
    texts
}

fn texts_of_all(panel: &Panel) -> Vec<String> {
    let rows = counted(panel);
    let [first, others @ ..] = rows.as_slice() else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    let in_all = |text: &String| others.iter().all(|row| texts(row).contains(text));
    texts(first).into_iter().filter(in_all).collect()
}

fn kinds_of_all(panel: &Panel) -> Vec<String> {
    let rows = counted(panel);
    let first = rows.iter().find(|row| row.trials > 0);
    let kinds = first.iter().flat_map(|row| &row.doubts).map(|(kind, _)| kind.clone());
    let in_all = |kind: &String| rows.iter().all(|row| row.trials == 0 || count(row, kind) > 0);
    kinds.filter(in_all).collect()
}

fn holds_for_the_run(subject: &Subject, kind: &str) -> bool {
    let mut rows = subject.findings.panels.iter().flat_map(counted);
    rows.all(|row| count(row, kind) == row.trials)
}

fn count(row: &Row, kind: &str) -> u32 {
    row.doubts.iter().find(|(known, _)| known == kind).map_or(0, |(_, count)| *count)
}

/// `rate-missed: ext4 2, xfs 3 of 6 trials`; every number of trials where they differ,
/// one number for all where none does.
fn kind_text(rows: &[&Row], kind: &str) -> String {
    let concerned: Vec<_> = rows.iter().filter(|row| count(row, kind) > 0).collect();
    let trials = concerned.first().map_or(0, |row| row.trials);
    let share = |row: &Row| (count(row, kind), row.trials);
    match concerned.as_slice() {
        [first, rest @ ..]
            if !rest.is_empty() && rest.iter().all(|row| share(row) == share(first)) =>
        {
            let labels: Vec<_> = concerned.iter().map(|row| row.label.as_str()).collect();
            let each = count(first, kind);
            return format!("{kind}: {}, each {each} of {trials} trials", list(&labels));
        }
        _ => {}
    }
    if concerned.iter().all(|row| row.trials == trials) {
        let parts = concerned.iter().map(|row| format!("{} {}", row.label, count(row, kind)));
        return format!("{kind}: {} of {trials} trials", parts.collect::<Vec<_>>().join(", "));
    }
    let part = |row: &&&Row| format!("{} {} of {}", row.label, count(row, kind), row.trials);
    format!("{kind}: {} trials", concerned.iter().map(part).collect::<Vec<_>>().join(", "))
}
