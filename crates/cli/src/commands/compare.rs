use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use pickfs_analysis::{
    chain::chain,
    compare::compare_named,
    published::{self, Published, beside::beside, bonnie},
};
use pickfs_model::RunRecord;
use pickfs_report::{
    beside::beside_document,
    chain::chain_screen,
    document::{html::html, markdown::markdown},
    terminal::comparison_screen,
};

use crate::{args::CompareArgs, commands::read_run, exit::Exit, screen::columns, terminal};

const CSV_BYTES_MAX: u64 = 16 << 20;

pub fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    match (&args.with, &args.run_b) {
        (Some(with), _) => with_table(args, with),
        (None, Some(other)) if args.more.is_empty() => runs(args, other),
        (None, Some(other)) => upgrades(args, other),
        (None, None) => bail!("name another run, or a table with --with"),
    }
}

fn runs(args: &CompareArgs, other: &Path) -> anyhow::Result<Exit> {
    let (_, first) = read_run(&args.run_a)?;
    let (_, second) = read_run(other)?;
    let names = names([(&first, &args.run_a), (&second, other)]);
    let names = [names[0].as_str(), names[1].as_str()];
    let comparison = compare_named(&first, &second, names);
    match args.json {
        true => terminal::line(&serde_json::to_string_pretty(&comparison)?),
        false => terminal::put(&comparison_screen(&comparison, columns())),
    }
    Ok(Exit::Done)
}

pub(super) fn names(runs: [(&RunRecord, &Path); 2]) -> [String; 2] {
    let are_equal = runs[0].0.name == runs[1].0.name;
    runs.map(|(run, path)| if are_equal { path.display().to_string() } else { run.name.clone() })
}

fn upgrades(args: &CompareArgs, second: &Path) -> anyhow::Result<Exit> {
    let words = [args.run_a.as_path(), second].into_iter();
    let words = words.chain(args.more.iter().map(PathBuf::as_path));
    let runs = words.map(|word| Ok(read_run(word)?.1)).collect::<anyhow::Result<Vec<_>>>()?;
    let chain = chain(&runs.iter().collect::<Vec<_>>());
    match args.json {
        true => terminal::line(&serde_json::to_string_pretty(&chain)?),
        false => terminal::put(&chain_screen(&chain, columns())),
    }
    Ok(Exit::Done)
}

fn with_table(args: &CompareArgs, with: &str) -> anyhow::Result<Exit> {
    let read;
    let table: &Published = match published::find(with) {
        Ok(table) => table,
        Err(unknown) if !is_file(with) => return Err(unknown.into()),
        Err(_) => {
            read = csv_table(Path::new(with))?;
            &read
        }
    };
    let (_, run) = read_run(&args.run_a)?;
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
        assert_eq!(names([(&one, old), (&one, new)]), ["old/a", "new/a"]);
        assert_eq!(names([(&one, old), (&other, new)])[1], "later");
    }
}
