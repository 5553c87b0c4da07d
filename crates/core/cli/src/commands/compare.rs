use std::{
    collections::BTreeSet,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use pickfs_analysis::{
    compare::{Named, RunComparison, compare as compare_runs},
    findings,
    published::{self, Fact, Published, beside::beside, bonnie, nano},
};
use pickfs_record::RunRecord;
use pickfs_report::{
    beside::beside_document,
    comparison::comparison_document,
    document::{html::html, markdown::markdown},
};
use pickfs_store::{EXTENSION, run_paths};

use crate::{
    args::CompareArgs,
    commands::{claims::claims, is_folder_of_runs, read_run, write_to},
    exit::Exit,
    terminal,
};

const TABLE_BYTES_MAX: u64 = 16 << 20;
const PSV_FILES_MAX: usize = 64;

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
pub fn print(runs: &[(&RunRecord, &Path)], json: bool) -> anyhow::Result<RunComparison> {
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
    Ok(compared)
}

fn names(runs: &[(&RunRecord, &Path)]) -> Vec<String> {
    let are_apart = |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == runs.len();
    // A file that was given a name: that of a host, or of a plan.
    let file = |(_, path): &(&RunRecord, &Path)| {
        let stem = path.file_stem()?.to_string_lossy().into_owned();
        let is_named = stem != "run" && path.extension().is_some_and(|end| end == EXTENSION);
        is_named.then_some(stem)
    };
    let files: Option<Vec<String>> = runs.iter().map(file).collect();
    let own = || Some(runs.iter().map(|(run, _)| run.name.clone()).collect());
    let named = files.filter(are_apart).or_else(|| own().filter(are_apart));
    named.unwrap_or_else(|| runs.iter().map(|(_, path)| path.display().to_string()).collect())
}

fn with_table(args: &CompareArgs, run: &Path, with: &str) -> anyhow::Result<Exit> {
    let read;
    let table: &Published = match published::find(with) {
        Ok(table) => table,
        Err(unknown) if !is_file(with) => return Err(unknown.into()),
        Err(_) => {
            read = own_table(Path::new(with))?;
            &read
        }
    };
    let (_, run) = read_run(run)?;
    let found = beside(&run, table);
    let document = beside_document(&found);
    write_to(&args.markdown, || Ok(markdown(&document)))?;
    write_to(&args.html, || Ok(html(&document)))?;
    match args.json {
        true => terminal::line(&serde_json::to_string_pretty(&found)?),
        false => terminal::show(&document),
    }
    Ok(Exit::Done)
}

fn is_file(name: &str) -> bool {
    [".csv", ".psv"].iter().any(|end| name.ends_with(end)) || Path::new(name).exists()
}

/// A file of bonnie++'s lines; KX Nano's tables of throughputs, each named after its file system.
fn own_table(path: &Path) -> anyhow::Result<Published> {
    let shown = path.display().to_string();
    let is_psv = |path: &Path| path.extension().is_some_and(|extension| extension == "psv");
    if is_psv(path) {
        let facts = nano_facts(path, &limited(path)?)?;
        return Ok(nano::published(&shown, facts));
    }
    if !path.is_dir() {
        return bonnie::read(&shown, &limited(path)?).with_context(|| shown);
    }
    let entries = fs::read_dir(path).with_context(|| format!("cannot read {shown}"))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| is_psv(file) && file.is_file());
    files.sort();
    if files.len() > PSV_FILES_MAX {
        bail!("{shown} has {} files that end in .psv, more than {PSV_FILES_MAX}", files.len());
    }
    let mut facts = Vec::new();
    for file in files {
        let text = limited(&file)?;
        if nano::is_throughput(&text) {
            facts.extend(nano_facts(&file, &text)?);
        }
    }
    if facts.is_empty() {
        bail!("{shown} holds no table of KX Nano's throughputs (FILESYSTEM.psv)");
    }
    Ok(nano::published(&shown, facts))
}

fn nano_facts(path: &Path, text: &str) -> anyhow::Result<Vec<Fact>> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let file_system = stem.strip_suffix("-throughput").unwrap_or(&stem);
    nano::read(file_system, text).with_context(|| path.display().to_string())
}

fn limited(path: &Path) -> anyhow::Result<String> {
    let shown = path.display();
    let file = fs::File::open(path).with_context(|| format!("cannot open {shown}"))?;
    let mut bytes = Vec::new();
    let read = file.take(TABLE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {shown}"))?;
    if bytes.len() as u64 > TABLE_BYTES_MAX {
        bail!("{shown} is larger than {} MiB: no table of results", TABLE_BYTES_MAX >> 20);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
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
        let (h1, h2) = (Path::new("all/root@h1.pickfs"), Path::new("all/h2.pickfs"));
        assert_eq!(names(&[(&one, h1), (&other, h2)]), ["root@h1", "h2"]);
        assert_eq!(names(&[(&one, old), (&other, new)])[1], "later");
    }
}
