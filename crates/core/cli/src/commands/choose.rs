use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use pickfs_analysis::{
    articles::Source,
    objective::{self, Choice, Facts, Need},
};
use pickfs_report::choice::{choice_document, objectives_document};

use crate::{
    commands::claims::{origins, read_all, read_features},
    exit::Exit,
    terminal,
};

pub const EXAMPLES: &str = "Examples:
  pickfs choose pickfs-runs/a --for 'journal tail' --need durability=power-loss
  pickfs choose pickfs-runs/a pickfs-runs/b --for all-round
  pickfs choose pickfs-runs/a --for '0.5*append.p99 + 0.5*read.p50'
  pickfs choose pickfs-runs/a --for ingest --need distribution=RHEL --need untainted
  pickfs choose pickfs-runs/a --for ingest --need reflink --features features.json
  pickfs choose --list

Conditions: durability=process-crash|kernel-crash|power-loss, systems=NAME, distribution=NAME,
journal, untainted, in-kernel, on-device, memory=SIZE, and any key of pickfs features.

In a formula weights work on a logarithmic scale: the ratio of two candidates is the weighted
geometric mean of their ratios in each number. Of `durable|append` the first one counts that a row
has.";

/// `pickfs choose`.
#[derive(Debug, Clone, Args)]
pub struct ChooseArgs {
    /// Runs, each its file or its folder
    #[arg(required_unless_present = "list")]
    pub runs: Vec<PathBuf>,
    /// What is wanted: a name (see --list), or a formula like 0.5*append.p99 + 0.5*read.p50
    #[arg(
        long = "for",
        value_name = "OBJECTIVE",
        required_unless_present = "list",
        allow_hyphen_values = true
    )]
    pub objective: Option<String>,
    /// A hard condition; may be repeated
    #[arg(long = "need", value_name = "CONDITION")]
    pub needs: Vec<String>,
    /// Answers of `pickfs features --json FILE`
    #[arg(long, value_name = "FILE")]
    pub features: Option<PathBuf>,
    /// The named objectives with their formulas
    #[arg(long, conflicts_with_all = ["runs", "objective"])]
    pub list: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

pub fn choose(args: &ChooseArgs) -> anyhow::Result<Exit> {
    if args.list {
        return list(args.json);
    }
    let choice = chosen(args)?;
    match args.json {
        true => terminal::line(&serde_json::to_string_pretty(&choice)?),
        false => terminal::show(&choice_document(&choice)),
    }
    Ok(Exit::Done)
}

fn list(json: bool) -> anyhow::Result<Exit> {
    let objectives = objective::objectives();
    match json {
        true => terminal::line(&serde_json::to_string_pretty(&objectives)?),
        false => terminal::show(&objectives_document(&objectives)),
    }
    Ok(Exit::Done)
}

fn chosen(args: &ChooseArgs) -> anyhow::Result<Choice> {
    let wanted = objective::objective(args.objective.as_deref().unwrap_or_default())?;
    let needs = args.needs.iter().map(|text| need(text)).collect::<anyhow::Result<Vec<Need>>>()?;
    let features = args.features.as_deref().map(read_features).transpose()?;
    let runs = read_all(&args.runs)?;
    let sources: Vec<Source<'_>> =
        runs.iter().map(|(run, findings)| Source { run, findings }).collect();
    let facts = Facts { origins: &origins(), features: features.as_ref() };
    Ok(objective::choose(&wanted, &needs, &sources, &facts))
}

fn need(text: &str) -> anyhow::Result<Need> {
    let need: Need = text.parse()?;
    let keys = crate::extras::capabilities();
    match &need {
        Need::Feature(key) if !keys.contains(&key.as_str()) => bail!(
            "condition `{text}` not understood: neither a condition (see --help) nor a key of \
             pickfs features ({})",
            keys.join(", ")
        ),
        _ => Ok(need),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_analysis::objective::need::{Candidate, Fit};
    use pickfs_record::{BackingKind, Durability};

    fn met(text: &str) -> Vec<String> {
        let need: Need = text.parse().expect("a condition");
        let fits = |fs: &str, origin: &pickfs_record::origin::Origin| {
            let candidate = Candidate {
                label: fs,
                fs,
                durability: Durability::PowerLoss,
                backing: BackingKind::LoopImage,
                memory_bytes: None,
                origin: Some(origin),
                features: None,
            };
            matches!(need.fit(&candidate), Fit::Met { .. })
        };
        origins().into_iter().filter(|(fs, origin)| fits(fs, origin)).map(|(fs, _)| fs).collect()
    }

    #[test]
    fn the_statements_on_distributions_are_read_as_they_are_meant() {
        assert_eq!(
            met("distribution=RHEL"),
            ["exfat", "ext4", "fat16", "fat32", "ramfs", "tmpfs", "xfs"]
        );
        let suse = met("distribution=SUSE");
        assert!(suse.contains(&"btrfs".to_string()) && !suse.contains(&"reiserfs-3.6".to_string()));
        assert!(!met("distribution=Debian").iter().any(|fs| fs == "ntfs3" || fs == "bcachefs"));
        assert!(met("distribution=Ubuntu").contains(&"zfs".to_string()));
    }

    #[test]
    fn the_statements_on_drivers_journals_and_systems_are_too() {
        let tainted: Vec<String> = {
            let clean = met("untainted");
            origins().into_keys().filter(|fs| !clean.contains(fs)).collect()
        };
        assert_eq!(tainted, ["bcachefs", "zfs"]);
        let kernel = met("in-kernel");
        assert!(
            kernel.contains(&"xfs".to_string()) && !kernel.iter().any(|fs| fs.contains("fuse"))
        );
        let journal = met("journal");
        let has = |fs: &&str| journal.iter().any(|own| own == fs);
        for fs in ["ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "jfs"] {
            assert!(has(&fs), "{fs}");
        }
        let none = ["ext2", "hfsplus", "ntfs3", "ntfs-3g", "fat32", "tmpfs"];
        assert_eq!(none.iter().find(|fs| has(fs)), None);
        let windows = met("systems=Windows");
        assert!(
            ["exfat", "fat32", "ntfs3", "ext4"].iter().all(|fs| windows.contains(&fs.to_string()))
        );
        assert!(!windows.contains(&"xfs".to_string()));
    }

    #[test]
    fn a_key_of_the_features_is_a_condition_and_another_word_is_not() {
        assert_eq!(need("reflink").expect("a key"), Need::Feature("reflink".into()));
        let error = need("reflinks").expect_err("no key").to_string();
        assert!(
            error.contains("a key of pickfs features (") && error.contains("reflink,"),
            "{error}"
        );
    }
}
