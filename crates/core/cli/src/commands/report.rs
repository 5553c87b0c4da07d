use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use pickfs_record::{Findings, RunRecord, environment::REDUCED_KEY, typed::program};
use pickfs_report::{
    ChartKind, Look, Subject, chart::latency_map, csv, exports, hlog, html, markdown, png, svg,
};
use pickfs_store::{EXTENSION, RunFile};

use crate::{
    args::{Format, ReportArgs},
    commands::{read_run, run_path},
    exit::Exit,
    screen::next_step,
    terminal,
};

pub fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    let (_, mut run) = read_run(&args.run)?;
    let path = run_path(&args.run);
    let findings = pickfs_analysis::findings(&run);
    let beside = path.parent().unwrap_or(Path::new("."));
    let folder = args.out.as_deref().unwrap_or(beside);
    let is_mapped = latency_map::is_mapped(&run.plan);
    RunFile::open(&path)?.add_logs(&mut run, is_mapped)?;
    let subject = Subject::new(&run, &findings);
    for written in write_chosen(&path, &subject, &args.format, &args.chart, folder)? {
        terminal::line(&written.display().to_string());
    }
    Ok(Exit::Done)
}

pub fn write(
    run_file: &Path,
    run: &RunRecord,
    findings: &Findings,
    formats: &[Format],
    folder: &Path,
) -> anyhow::Result<Vec<PathBuf>> {
    write_chosen(run_file, &Subject::new(run, findings), formats, &[], folder)
}

fn write_chosen(
    run_file: &Path,
    subject: &Subject,
    formats: &[Format],
    chosen: &[ChartKind],
    folder: &Path,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for format in formats {
        if *format == Format::Run {
            written.push(put_reduced(subject.run, folder)?);
        }
        for (name, bytes) in rendered(*format, subject, chosen, run_file)? {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent)
                .with_context(|| format!("cannot make {}", parent.display()))?;
            put_whole(&path, &bytes).with_context(|| format!("cannot write {}", path.display()))?;
            written.push(path);
        }
    }
    Ok(written)
}

/// Under the name of its plan, whose words may be a stranger's. Nothing but the same run is written over.
fn put_reduced(run: &RunRecord, folder: &Path) -> anyhow::Result<PathBuf> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = run.plan.name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    let path = folder.join(format!("{}.{EXTENSION}", name.trim_start_matches('.')));
    let kept = RunFile::open(&path).and_then(|file| file.read_head());
    let is_same = kept.is_ok_and(|kept| {
        let is_reduced = kept.environment.get(REDUCED_KEY).is_some();
        is_reduced && (&kept.name, &kept.started) == (&run.name, &run.started)
    });
    if path.symlink_metadata().is_ok() && !is_same {
        bail!(
            "{} is there and no reduced run of this one; remove it, or name another folder with --out",
            path.display()
        );
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    RunFile::create_reduced(&path, run)?;
    Ok(path)
}

/// Under another name first: a file that a full disk cut off is none.
fn put_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let put = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
    put.inspect_err(|_| drop(fs::remove_file(&part)))
}

type Files = Vec<(String, Vec<u8>)>;

fn rendered(
    format: Format,
    subject: &Subject,
    chosen: &[ChartKind],
    run_file: &Path,
) -> anyhow::Result<Files> {
    let one = |name: &str, text: String| vec![(name.to_owned(), text.into_bytes())];
    let of_plan = |what: &str, plan: &str| format!("{what}: {} {plan}", program());
    let next = next_step(subject.run, subject.findings);
    Ok(match format {
        Format::Html => one("report.html", html::html(subject, next.as_ref())),
        Format::Markdown => one("report.md", markdown::markdown(subject, next.as_ref())),
        Format::Csv => {
            let mut files = one("trials.csv", csv::trials_csv(subject)?);
            files.extend(one("summary.csv", csv::summary_csv(subject)?));
            files.extend(exported(subject, exports::stalls_name(subject))?);
            files.extend(phased(subject, |name| name == exports::PHASES)?);
            files
        }
        Format::Run => Files::new(),
        Format::Json => exported(subject, ["report.json".to_owned()])?,
        Format::Hlog => interval_logs(subject.run, run_file)?,
        Format::Psv => {
            let needs = of_plan("psv needs a run that is made of phases", "column");
            named(phased(subject, |name| name.starts_with(exports::PSV))?, &needs)?
        }
        Format::Bonnie => {
            let needs = of_plan("bonnie needs a run with bonnie++'s phases", "files");
            named(phased(subject, |name| name == exports::BONNIE)?, &needs)?
        }
        Format::Svg => pictures(subject, chosen, "svg")?,
        Format::Png => pictures(subject, chosen, "png")?,
    })
}

fn phased(subject: &Subject, wanted: impl Fn(&str) -> bool) -> anyhow::Result<Files> {
    exported(subject, exports::phased_names(subject).into_iter().filter(|name| wanted(name)))
}

fn exported(subject: &Subject, names: impl IntoIterator<Item = String>) -> anyhow::Result<Files> {
    let mut files = Files::new();
    for name in names {
        let bytes = exports::render(subject, None, &name)?;
        files.extend(bytes.map(|bytes| (name, bytes)));
    }
    Ok(files)
}

fn named(files: Files, needs: &str) -> anyhow::Result<Files> {
    if files.is_empty() {
        bail!("nothing to write: {needs}");
    }
    Ok(files)
}

fn interval_logs(run: &RunRecord, run_file: &Path) -> anyhow::Result<Files> {
    let mut run = run.clone();
    RunFile::open(run_file)?.add_logs(&mut run, |_, _| true)?;
    let logs = hlog::interval_logs(&run).into_iter();
    Ok(logs.map(|log| (format!("hlog/{}", log.file_name), log.text.into_bytes())).collect())
}

fn pictures(subject: &Subject, chosen: &[ChartKind], kind: &str) -> anyhow::Result<Files> {
    let mut files = Files::new();
    let mut kinds: Vec<ChartKind> = chosen.to_vec();
    if chosen.is_empty() {
        kinds.extend(ChartKind::all());
    }
    kinds.sort();
    kinds.dedup();
    for chart in kinds.into_iter().flat_map(|kind| kind.draw(subject, Look::SHEET)) {
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
