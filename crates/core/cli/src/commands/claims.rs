use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use pickfs_analysis::{
    articles::{self, Answer, Article, Known, Source},
    objective::FeatureAnswers,
};
use pickfs_candidate::fs::FILE_SYSTEMS;
use pickfs_lab::length::times;
use pickfs_record::{Findings, RunRecord, origin::Origin};
use pickfs_report::{articles::claims_document, document::markdown::markdown};

use crate::{args::CompareArgs, commands::read_run, exit::Exit, terminal};

pub fn claims(args: &CompareArgs) -> anyhow::Result<Exit> {
    if args.html.is_some() {
        bail!("the claims are no page in HTML; --markdown FILE writes them");
    }
    let articles = chosen(&args.article)?;
    let features = args.features.as_deref().map(read_features).transpose()?;
    let runs = read_all(&args.runs)?;
    let answers = answers(&articles, &runs, features.as_ref());
    let asked: Vec<&RunRecord> = runs.iter().map(|(run, _)| run).collect();
    let document = claims_document(&articles, &answers, &asked);
    if let Some(path) = &args.markdown {
        fs::write(path, markdown(&document))
            .with_context(|| format!("cannot write {}", path.display()))?;
        terminal::line(&path.display().to_string());
    } else if args.json {
        terminal::line(&serde_json::to_string_pretty(&answers)?);
    } else {
        terminal::show(&document);
    }
    Ok(Exit::Done)
}

fn chosen(numbers: &[String]) -> anyhow::Result<Vec<&'static Article>> {
    if numbers.is_empty() {
        return Ok(articles::articles().iter().collect());
    }
    numbers.iter().map(|number| Ok(articles::find(number)?)).collect()
}

pub fn read_features(path: &Path) -> anyhow::Result<FeatureAnswers> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    FeatureAnswers::read(&text).with_context(|| format!("{}", path.display()))
}

pub fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<(RunRecord, Findings)>> {
    let read = |path: &PathBuf| {
        let (_, run) = read_run(path).with_context(|| format!("{}", path.display()))?;
        let findings = pickfs_analysis::findings(&run);
        Ok((run, findings))
    };
    paths.iter().map(read).collect()
}

pub fn origins() -> BTreeMap<String, Origin> {
    FILE_SYSTEMS.iter().filter_map(|row| Some((row.name.to_owned(), row.facts()?))).collect()
}

fn answers(
    articles: &[&'static Article],
    runs: &[(RunRecord, Findings)],
    features: Option<&FeatureAnswers>,
) -> Vec<Answer> {
    let sources: Vec<Source<'_>> =
        runs.iter().map(|(run, findings)| Source { run, findings }).collect();
    let known = Known { plans: &times(), features, origins: &origins() };
    articles::answers(articles.iter().copied(), &sources, &known)
}
