//! The answers as a page: "what the articles said, what this machine says".

use pickfs_analysis::articles::{Answer, Article, RunAnswer};

use super::words::{CAVEAT, COLUMNS, claims_text, counts, details, outcome_text};
use crate::markdown::{cell, line, text};

const LEGEND: &str = "\
| answer | meaning |
| :-- | :-- |
| seen here | the interval of the ratio, or the value of every trial, bears the claim out |
| seen here, but smaller | the same direction, by less than the claim says |
| opposite here | the interval lies on the other side |
| no difference at this precision | the interval holds 1; the difference that would have been seen is named |
| not decided | rows are there: too few blocks or slow episodes, trials too short for tails, a cold row that was warm |
| not testable here | why: no such workload, run, file system or level; memory beside a disk; a fact and no measurement |
";

pub fn claims_markdown(articles: &[&Article], answers: &[Answer], runs: &[String]) -> String {
    let mut out = String::from("# What the articles said, what this machine says\n\n");
    out.push_str("This page is written by `pickfs claims RUN ... --markdown FILE`. ");
    out.push_str(&format!("{CAVEAT}\n\n{LEGEND}\n"));
    out.push_str(match runs.is_empty() {
        true => "No run was asked yet.\n",
        false => "Runs that were asked:\n\n",
    });
    for run in runs {
        let of = |known: &&RunAnswer| run.starts_with(&format!("{},", known.run));
        let first = answers.iter().flat_map(|answer| &answer.runs).find(of);
        let conditions = first.into_iter().flat_map(|run| &run.conditions);
        let rest = conditions.filter(|known| !run.contains(*known)).map(|it| format!(", {it}"));
        out.push_str(&format!("- {}{}\n", text(run), text(&rest.collect::<String>())));
    }
    out.push_str(&overview(articles, answers));
    for article in articles {
        out.push_str(&section(article, &of(article, answers)));
    }
    out
}

fn of<'a>(article: &Article, answers: &'a [Answer]) -> Vec<&'a Answer> {
    answers.iter().filter(|answer| answer.article == article.id).collect()
}

fn overview(articles: &[&Article], answers: &[Answer]) -> String {
    let head: Vec<String> =
        ["article", "claims"].into_iter().chain(COLUMNS).map(String::from).collect();
    let mut out = format!("\n{}| :-- |{}\n", line(&head), " --: |".repeat(head.len() - 1));
    for article in articles {
        let own = of(article, answers);
        let mut cells = vec![format!("{} {}", article.id, article.title), own.len().to_string()];
        cells.extend(counts(own.iter().copied()).map(|count| count.to_string()));
        out.push_str(&line(&cells));
    }
    out
}

fn section(article: &Article, answers: &[&Answer]) -> String {
    let mut out = format!("\n## {}: {}\n\n", article.id, text(&article.title));
    out.push_str(&format!("{}. {}.\n", text(&article.by), text(&article.setting)));
    let (told, rest): (Vec<&Answer>, Vec<&Answer>) =
        answers.iter().partition(|answer| !answer.runs.is_empty());
    if !told.is_empty() {
        out.push_str("\n| the article said | how it was seen |\n| :-- | :-- |\n");
        for (outcome, answers) in by(&told, |answer| outcome_text(&answer.outcome)) {
            out.push_str(&format!("| **{}** | |\n", cell(&outcome)));
            answers.iter().for_each(|answer| {
                out.push_str(&format!("| {} | {} |\n", said(answer), how(answer)));
            });
        }
    }
    if !rest.is_empty() {
        out.push_str("\n| not testable here | why |\n| :-- | :-- |\n");
        for (why, answers) in by(&rest, |answer| outcome_text(&answer.outcome)) {
            let why = why.strip_prefix("not testable here: ").unwrap_or(&why);
            let ids: Vec<String> =
                answers.iter().map(|answer| format!("`{}`", answer.claim.id)).collect();
            out.push_str(&format!("| {} | {} |\n", ids.join(", "), cell(why)));
        }
    }
    out
}

/// Answers that share a text, in the order of the first of each.
fn by<'a>(
    answers: &[&'a Answer],
    text: impl Fn(&Answer) -> String,
) -> Vec<(String, Vec<&'a Answer>)> {
    let mut groups: Vec<(String, Vec<&Answer>)> = Vec::new();
    for answer in answers {
        let own = text(answer);
        match groups.iter_mut().find(|(known, _)| *known == own) {
            Some((_, group)) => group.push(answer),
            None => groups.push((own, vec![answer])),
        }
    }
    groups
}

fn said(answer: &Answer) -> String {
    let claim = &answer.claim;
    let saw = if claim.saw.is_empty() {
        String::new()
    } else {
        format!(" It saw: {}.", cell(&claim.saw))
    };
    format!("{}{saw} (`{}`)", cell(&claim.says), claim.id)
}

/// The evidence with the name of its run; the conditions of each run stand in the list of runs.
fn how(answer: &Answer) -> String {
    let mut how: Vec<String> = details(answer).iter().map(|detail| cell(detail)).collect();
    how.extend(answer.first().map(|run| format!("*{}*", cell(&run.run))));
    how.join("<br>")
}

pub(crate) fn of_run(answers: &[Answer]) -> String {
    if answers.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\n<details><summary>What articles said of this ({})</summary>\n\n",
        claims_text(answers.len())
    );
    out.push_str(&format!(
        "{CAVEAT}\n\n| the article said | this run says | how it was seen |\n| :-- | :-- | :-- |\n"
    ));
    for answer in answers {
        let outcome = cell(&outcome_text(&answer.outcome));
        out.push_str(&format!("| {} | **{outcome}** | {} |\n", said(answer), how(answer)));
    }
    out.push_str("\n</details>\n");
    out
}
