use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use pickfs_analysis::{
    compare::{Named, compare as compare_runs},
    findings,
    published::{self, Published, beside::beside, bonnie},
};
use pickfs_record::RunRecord;
use pickfs_report::{
    beside::beside_document,
    comparison::comparison_document,
    document::{html::html, markdown::markdown},
};
use pickfs_store::run_paths;

use crate::{
    args::CompareArgs,
    commands::{claims::claims, is_folder_of_runs, read_run},
    exit::Exit,
    terminal,
};

const CSV_BYTES_MAX: u64 = 16 << 20;

pub fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    match (args.with.as_deref(), args.runs.as_slice()) {
        (Some("claims"), _) => claims(args),
        (Some(_), _) if !args.article.is_empty() || args.features.is_some() => {
            bail!("--article and --features are for --with claims")
        }
        (Some(with), [run]) => with_table(args, run, with),
        (Some(with), _) => bail!("one run stands beside {with}; leave the others out"),
        (None, _) => {
            let runs = read_all(&args.runs)?;
            if runs.len() < 2 {
                bail!("name another run, or a table with --with");
            }
            print(
                &runs.iter().map(|(path, run)| (run, path.as_path())).collect::<Vec<_>>(),
                args.json,
            )?;
            Ok(Exit::Done)
        }
    }
}

/// Reads runs; those of a folder by their beginning.
fn read_all(words: &[PathBuf]) -> anyhow::Result<Vec<(PathBuf, RunRecord)>> {
    let mut all = Vec::new();
    for word in words {
        if !is_folder_of_runs(word) {
            all.push((word.clone(), read_run(word)?.1));
            continue;
        }
        let paths = run_paths(word).with_context(|| format!("cannot read {}", word.display()))?;
        let runs = paths.into_iter().map(|path| Ok((path.clone(), read_run(&path)?.1)));
        let mut runs = runs.collect::<anyhow::Result<Vec<_>>>()?;
        runs.sort_by(|one, other| (&one.1.started, &one.0).cmp(&(&other.1.started, &other.0)));
        all.extend(runs);
    }
    Ok(all)
}

/// Compares runs, in their order; of several of one name each has its path.
pub(super) fn print(runs: &[(&RunRecord, &Path)], json: bool) -> anyhow::Result<()> {
    let names = names(runs);
    let found: Vec<_> = runs.iter().map(|(run, _)| findings(run)).collect();
    let named = names.iter().zip(runs).zip(&found);
    let named = named.map(|((name, (run, _)), findings)| Named { name, run, findings });
    let named: Vec<_> = named.collect();
    let compared = compare_runs(&named);
    match json {
        true => terminal::line(&serde_json::to_string(&compared)?),
        false => terminal::show(&comparison_document(&compared, &named)),
    }
    Ok(())
}

fn names(runs: &[(&RunRecord, &Path)]) -> Vec<String> {
    let mut own: Vec<_> = runs.iter().map(|(run, _)| run.name.clone()).collect();
    own.sort();
    let are_own = own.windows(2).all(|two| two[0] != two[1]);
    let name = |(run, path): &(&RunRecord, &Path)| match are_own {
        true => run.name.clone(),
        false => path.display().to_string(),
    };
    runs.iter().map(name).collect()
}

fn with_table(args: &CompareArgs, run: &Path, with: &str) -> anyhow::Result<Exit> {
    let read;
    let table: &Published = match published::find(with) {
        Ok(table) => table,
        Err(unknown) if !is_file(with) => return Err(unknown.into()),
        Err(_) => {
            read = csv_table(Path::new(with))?;
            &read
        }
    };
    let (_, run) = read_run(run)?;
    let found = beside(&run, table);
    let document = beside_document(&found);
    write(&args.markdown, || markdown(&document))?;
    write(&args.html, || html(&document))?;
    match args.json {
        true => terminal::line(&serde_json::to_string_pretty(&found)?),
        false => terminal::show(&document),
    }
    Ok(Exit::Done)
}

fn is_file(name: &str) -> bool {
    name.ends_with(".csv") || Path::new(name).exists()
}

fn csv_table(path: &Path) -> anyhow::Result<Published> {
    let shown = path.display();
    let file = fs::File::open(path).with_context(|| format!("cannot open {shown}"))?;
    let mut bytes = Vec::new();
    let read = file.take(CSV_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {shown}"))?;
    if bytes.len() as u64 > CSV_BYTES_MAX {
        bail!("{shown} is larger than {} MiB: not bonnie++ CSV lines", CSV_BYTES_MAX >> 20);
    }
    let text = String::from_utf8_lossy(&bytes);
    bonnie::read(&shown.to_string(), &text).with_context(|| shown.to_string())
}

fn write(path: &Option<PathBuf>, text: impl FnOnce() -> String) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(()) };
    fs::write(path, text()).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeRun, fake_run};

    #[test]
    fn runs_of_one_name_have_their_paths() {
        let one = fake_run(&FakeRun::default());
        let other = fake_run(&FakeRun { name: "later".into(), ..FakeRun::default() });
        let (old, new) = (Path::new("old/a"), Path::new("new/a"));
        assert_eq!(names(&[(&one, old), (&one, new)]), ["old/a", "new/a"]);
        assert_eq!(names(&[(&one, old), (&other, new)])[1], "later");
    }
}
