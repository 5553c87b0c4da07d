//! The texts of the files are kept in the plan, so that a stored run means the same wherever it is
//! read.

use std::{fs, path::Path};

use anyhow::{Context, bail};
use pickfs_lab::plan_file::VARIANT;
use pickfs_record::{
    Condition, Plan, Scope,
    plan::{Adjustment, Axis, Metric},
};
use pickfs_workload::fio::{JobFile, primary};
use serde_json::Map;

use crate::{
    args::PlanChanges,
    commands::exec::{changed, plan_of},
};

pub fn plan(files: &[std::path::PathBuf], changes: &PlanChanges) -> anyhow::Result<Plan> {
    let mut plan = plan_of("fio", "Which file system for these jobs?", "fio")?;
    let read: Vec<(String, String, JobFile)> =
        files.iter().map(|path| job_file(path)).collect::<Result<_, _>>()?;
    let names: Vec<&str> = read.iter().map(|(name, ..)| name.as_str()).collect();
    if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        bail!("--fio: two files are called {}; rename one", twice.1);
    }
    plan.question = format!("Which file system for {}?", names.join(", "));
    if let [(_, text, file)] = read.as_slice() {
        plan.params.insert("job".into(), text.as_str().into());
        plan.design.primary = primary(file);
    } else {
        let levels = names.iter().map(|name| (*name).into()).collect();
        plan.axes.push(Axis { name: VARIANT.into(), levels });
        for (name, text, file) in &read {
            add_variant(&mut plan, name, text, primary(file));
        }
    }
    changed(plan, changes)
}

fn job_file(path: &Path) -> anyhow::Result<(String, String, JobFile)> {
    let text = fs::read_to_string(path).with_context(|| format!("--fio {}", path.display()))?;
    let file = JobFile::read(&text).map_err(anyhow::Error::msg);
    let file = file.with_context(|| format!("--fio {}", path.display()))?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok((name, text, file))
}

fn add_variant(plan: &mut Plan, name: &str, text: &str, primary: Vec<Metric>) {
    let levels = Map::from_iter([(VARIANT.to_owned(), name.into())]);
    let params = Map::from_iter([("job".to_owned(), text.into())]);
    plan.adjust.push(Adjustment { candidate: None, levels, params });
    let is_it = Condition::OneOf(vec![name.to_owned()]);
    let at = Scope::from([(VARIANT.to_owned(), is_it)]);
    let here = |metric: Metric| Metric { at: at.clone(), ..metric };
    plan.design.primary.extend(primary.into_iter().map(here));
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn planned(texts: &[(&str, &str)]) -> anyhow::Result<Plan> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut words = vec!["pickfs".to_owned(), "run".into(), "--fs".into(), "ext4,xfs".into()];
        words.push("--fio".into());
        for (name, text) in texts {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("write");
            words.push(path.display().to_string());
        }
        let Command::Run(args) = Cli::parse_from(words).command else { panic!("run") };
        plan(&args.fio, &args.choice.changes)
    }

    #[test]
    fn one_file_is_the_work_and_several_are_an_axis() {
        let one = planned(&[("a.fio", "[log]\nrw=write\nfdatasync=1\n")]).expect("a plan");
        assert_eq!(one.design.primary[0].op, "log write IOPS");
        assert!(one.axes.is_empty() && one.params.contains_key("job"));
        let two = [("a.fio", "[log]\nrw=write\n"), ("b.fio", "[log]\nrw=read\n")];
        let two = planned(&two).expect("a plan");
        assert_eq!(two.axes[0].levels.len(), 2);
        assert!(two.design.primary[1].at["variant"].holds("b.fio"));
        assert_eq!(pickfs_lab::length::cells_asked(&two).len(), 4);
    }

    #[test]
    fn a_file_that_is_none_is_named() {
        let error = planned(&[("a.fio", "bs=4k\n")]).expect_err("no job");
        assert!(format!("{error:#}").contains("a.fio: line 1"), "{error:#}");
    }
}
