//! `pickfs report`: a run in other forms. This is the one place that writes report files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use pickfs_model::{Findings, RunRecord};
use pickfs_report::{Look, Subject, charts, csv, hlog, html, markdown, png, svg};
use pickfs_store::RunFile;

use crate::{
    args::{Format, ReportArgs},
    commands::{read_run, run_path},
    exit::Exit,
    screen::next_step,
};

/// Writes the formats that were asked for, and says where.
pub fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    let (_, run) = read_run(&args.run)?;
    let path = run_path(&args.run);
    let findings = pickfs_analysis::findings(&run);
    let beside = path.parent().unwrap_or(Path::new("."));
    let folder = args.out.as_deref().unwrap_or(beside);
    for written in write(&path, &run, &findings, &args.format, folder)? {
        println!("{}", written.display());
    }
    Ok(Exit::Done)
}

/// Writes the formats to a folder; gives back the files.
pub fn write(
    run_file: &Path,
    run: &RunRecord,
    findings: &Findings,
    formats: &[Format],
    folder: &Path,
) -> anyhow::Result<Vec<PathBuf>> {
    let subject = Subject::new(run, findings);
    let mut written = Vec::new();
    for format in formats {
        for (name, bytes) in rendered(*format, &subject, run_file)? {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent)
                .with_context(|| format!("cannot make {}", parent.display()))?;
            fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
            written.push(path);
        }
    }
    Ok(written)
}

type Files = Vec<(String, Vec<u8>)>;

fn rendered(format: Format, subject: &Subject, run_file: &Path) -> anyhow::Result<Files> {
    let one = |name: &str, text: String| vec![(name.to_owned(), text.into_bytes())];
    let next = next_step(subject.run);
    Ok(match format {
        Format::Html => one("report.html", html::html(subject, next.as_ref())),
        Format::Markdown => one("report.md", markdown::markdown(subject, next.as_ref())),
        Format::Csv => {
            let mut files = one("trials.csv", csv::trials_csv(subject)?);
            files.extend(one("summary.csv", csv::summary_csv(subject)?));
            files
        }
        Format::Json => one(
            "report.json",
            serde_json::to_string_pretty(&serde_json::json!({
                "run": subject.run, "findings": subject.findings,
            }))?,
        ),
        Format::Hlog => interval_logs(subject.run, run_file)?,
        Format::Svg => pictures(subject, "svg")?,
        Format::Png => pictures(subject, "png")?,
    })
}

fn interval_logs(run: &RunRecord, run_file: &Path) -> anyhow::Result<Files> {
    let file = RunFile::open(run_file)?;
    let mut run = run.clone();
    for trial in &mut run.trials {
        for op in &mut trial.ops {
            op.interval_log = file.interval_log(trial.number, &op.op)?.unwrap_or_default();
        }
    }
    let logs = hlog::interval_logs(&run).into_iter();
    Ok(logs.map(|log| (format!("hlog/{}", log.file_name), log.text.into_bytes())).collect())
}

fn pictures(subject: &Subject, kind: &str) -> anyhow::Result<Files> {
    let mut files = Files::new();
    for chart in charts(subject, Look::SHEET) {
        let bytes = match kind {
            "png" => png::png(&chart.scene, PNG_SCALE)?,
            _ => svg::svg(&chart.scene, svg::Setting::Alone).into_bytes(),
        };
        files.push((format!("charts/{}.{kind}", chart.name), bytes));
    }
    Ok(files)
}

/// Pixels per unit of a drawing: sharp on a laptop's screen.
const PNG_SCALE: f32 = 2.0;
