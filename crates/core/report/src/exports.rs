//! Interval logs are apart ([`crate::hlog`]): they need what only the run file
//! holds.

use thiserror::Error;

use crate::{ChartKind, Look, NextStep, Subject, charts, csv, html, markdown, png, svg};

mod bonnie;
mod psv;

/// Pixels per unit of a drawing: sharp on a laptop's screen.
const PNG_SCALE: f32 = 2.0;

#[derive(Debug, Error)]
#[error("cannot write {name}: {cause}; the other formats do not depend on it")]
pub struct ExportError {
    pub name: String,
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}

const TEXTS: [&str; 5] = ["report.html", "report.md", "trials.csv", "summary.csv", "report.json"];

pub const PHASES: &str = "phases.csv";
pub const STALLS: &str = "stalls.csv";
pub const BONNIE: &str = "bonnie.csv";
pub const PSV: &str = "psv/";

pub fn file_names(subject: &Subject) -> Vec<String> {
    let mut names: Vec<String> = TEXTS.map(String::from).to_vec();
    names.extend(stalls_name(subject));
    names.extend(phased_names(subject));
    for chart in charts(subject, Look::SHEET) {
        names.extend(["svg", "png"].map(|kind| format!("charts/{}.{kind}", chart.name)));
    }
    names
}

pub fn render(
    subject: &Subject,
    next: Option<&NextStep>,
    name: &str,
) -> Result<Option<Vec<u8>>, ExportError> {
    let bytes = match name {
        "report.html" => Ok(html::html(subject, next).into_bytes()),
        "report.md" => Ok(markdown::markdown(subject, next).into_bytes()),
        "trials.csv" => csv::trials_csv(subject).map(String::into_bytes).map_err(Into::into),
        "summary.csv" => csv::summary_csv(subject).map(String::into_bytes).map_err(Into::into),
        "report.json" => json(subject).map_err(Into::into),
        STALLS if subject.stalls.is_empty() => return Ok(None),
        STALLS => csv::stalls_csv(subject).map(String::into_bytes).map_err(Into::into),
        PHASES => csv::phases_csv(subject).map(String::into_bytes).map_err(Into::into),
        _ if name == BONNIE || name.starts_with(PSV) => return Ok(older(subject, name)),
        _ => return picture(subject, name),
    };
    bytes.map(Some).map_err(|cause| ExportError { name: name.into(), cause })
}

pub fn stalls_name(subject: &Subject) -> Option<String> {
    (!subject.stalls.is_empty()).then(|| STALLS.to_string())
}

pub fn phased_names(subject: &Subject) -> Vec<String> {
    if subject.run.trials.iter().all(|trial| trial.phases.is_empty()) {
        return Vec::new();
    }
    let psv = psv::psv_files(subject).into_iter();
    let psv = psv.map(|file| format!("{PSV}{}", file.file_name));
    let bonnie = bonnie::bonnie_csv(subject).map(|_| BONNIE.to_string());
    std::iter::once(PHASES.to_string()).chain(bonnie).chain(psv).collect()
}

fn older(subject: &Subject, name: &str) -> Option<Vec<u8>> {
    if name == BONNIE {
        return bonnie::bonnie_csv(subject).map(String::into_bytes);
    }
    let wanted = name.strip_prefix(PSV)?;
    let mut files = psv::psv_files(subject).into_iter();
    files.find(|file| file.file_name == wanted).map(|file| file.text.into_bytes())
}

/// Without the logs by the second, which are exported as such.
fn json(subject: &Subject) -> Result<Vec<u8>, serde_json::Error> {
    let mut run = subject.run.clone();
    run.trials.iter_mut().flat_map(|t| &mut t.ops).for_each(|op| op.interval_log.clear());
    serde_json::to_vec_pretty(&serde_json::json!({ "run": run, "findings": subject.findings }))
}

fn picture(subject: &Subject, name: &str) -> Result<Option<Vec<u8>>, ExportError> {
    let found = name.strip_prefix("charts/").and_then(|file| file.rsplit_once('.'));
    let Some((stem, kind)) = found else { return Ok(None) };
    let kinds = ChartKind::all().filter(|kind| stem.starts_with(kind.name()));
    let mut drawn = kinds.flat_map(|kind| kind.draw(subject, Look::SHEET));
    let drawn = drawn.find(|chart| chart.name == stem);
    let Some(chart) = drawn else { return Ok(None) };
    match kind {
        "svg" => Ok(Some(svg::svg(&chart.scene, svg::Setting::Alone).into_bytes())),
        "png" => png::png(&chart.scene, PNG_SCALE)
            .map(Some)
            .map_err(|cause| ExportError { name: name.into(), cause: cause.into() }),
        _ => Ok(None),
    }
}
