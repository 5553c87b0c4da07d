//! Ratios are compared, not rates: the machines differ.
//! Both ratios divide the rate of the table's reference by that of the candidate. The word of a
//! pair follows from the interval of the run's ratio; a published ratio comes without one, and
//! counts as a difference where its printed digits differ from 1.

use pickfs_record::{Heat, Outcome, PhaseRecord, RunRecord};
use serde::Serialize;

use super::{
    facts::{Fact, Statistic},
    rates::{RatePair, rates},
    table::Published,
    word::Word,
};
use crate::{
    comparisons::log_ratios,
    decide::Rules,
    panels::{BY_CANDIDATE, Group, Member, groups},
    phases::{RowRatio, rate_metric, row_ratio},
    summary::geometric_mean,
    wording::unique,
};

/// A run beside a published table.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Beside {
    pub run: String,
    pub table: String,
    /// Its source in one line.
    pub about: String,
    /// One per number of processes, part of the table and panel of the run.
    pub parts: Vec<Part>,
    /// What a reader must know, and what could not be compared.
    pub notes: Vec<String>,
}

/// A part of the table beside a panel of the run.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "BesidePart")]
pub struct Part {
    /// `write, high-impact, 64 processes`.
    pub title: String,
    /// The file system that both divide.
    pub reference: String,
    pub candidates: Vec<String>,
    pub rows: Vec<BesideRow>,
    /// One per candidate: geometric means over the rows that both have.
    pub means: Vec<Option<MeanPair>>,
}

/// A row of both.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct BesideRow {
    pub label: String,
    /// One per candidate.
    pub pairs: Vec<Pair>,
    /// Of a file of the user's own: rates as they are, of the reference, then of each candidate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<RatePair>,
}

/// The two figures of a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Pair {
    /// The published ratio, as printed or from printed rates.
    pub published: Option<f64>,
    /// Why there is none, where the source says so.
    pub published_failed: bool,
    pub measured: Option<RowRatio>,
    pub why: Option<String>,
    pub word: Word,
}

/// Means over the rows that both have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MeanPair {
    /// Of the published ratios.
    pub published: f64,
    /// Of the run's.
    pub measured: f64,
    pub rows: usize,
}

pub fn beside(run: &RunRecord, table: &Published) -> Beside {
    let mut found = Beside {
        run: run.name.clone(),
        table: table.name.clone(),
        about: table.about.clone(),
        parts: Vec::new(),
        notes: vec![format!(
            "the table is {}without a spread: a ratio of it counts as a difference where its two \
             decimals differ from 1.00; here the interval of each row alone decides (exploratory: \
             one row in twenty differs by chance)",
            if table.is_own { "" } else { "of another machine, " }
        )],
    };
    if run.plan.design.compare != BY_CANDIDATE {
        found.notes.push(format!(
            "the run compares {}, not candidates: nothing stands beside the table",
            run.plan.design.compare
        ));
        return found;
    }
    let rules = Rules::of(&run.plan);
    for group in &groups(run) {
        match Columns::of(group, table) {
            Ok(columns) => found.parts.extend(parts(table, &columns, rules)),
            Err(note) if !found.notes.contains(&note) => found.notes.push(note),
            Err(_) => {}
        }
    }
    found.notes.extend(unmatched(run, table));
    found
}

struct Columns<'a> {
    group: &'a Group<'a>,
    processes: u32,
    reference: &'a Member<'a>,
    reference_fs: String,
    others: Vec<(&'a Member<'a>, String)>,
}

impl<'a> Columns<'a> {
    fn of(group: &'a Group<'a>, table: &Published) -> Result<Columns<'a>, String> {
        let at = if group.title.is_empty() { "" } else { &format!("{}: ", group.title) };
        let records = group.members.iter().flat_map(|member| &member.trials);
        let Some(record) = records.flat_map(|trial| &trial.phases).next() else {
            return Err(format!("{at}no phases were measured"));
        };
        let processes = record.lanes;
        if !table.facts.iter().any(|fact| fact.processes == processes) {
            return Err(format!(
                "{at}{processes} processes; {} has {}",
                table.name,
                processes_text(table)
            ));
        }
        let mut members: Vec<(&Member<'_>, String)> = Vec::new();
        for member in &group.members {
            members.extend(published_name(member, table).map(|fs| (member, fs)));
        }
        let own = &group.members[group.reference].cell.candidate.fs;
        let wanted = table.reference.unwrap_or(own);
        let place = members.iter().position(|(_, fs)| fs == wanted);
        let place = match (place, table.reference) {
            (Some(place), _) => place,
            (None, None) if !members.is_empty() => 0,
            (None, None) => return Err(format!("{at}no file system of the table was measured")),
            (None, Some(_)) => {
                return Err(format!("{at}{wanted}, the reference of the table, was not measured"));
            }
        };
        let (reference, reference_fs) = members.remove(place);
        members.retain(|(member, _)| member.backing == reference.backing);
        Ok(Columns { group, processes, reference, reference_fs, others: members })
    }
}

fn processes_text(table: &Published) -> String {
    let mut counts: Vec<u32> = table.facts.iter().map(|fact| fact.processes).collect();
    counts.sort_unstable();
    counts.dedup();
    let texts: Vec<String> = counts.iter().map(u32::to_string).collect();
    crate::wording::list(&texts)
}

/// The file system of a table that a candidate stands for: by its label, else by its name. The
/// reference of the table has no rows of its own where it prints ratios only.
fn published_name(member: &Member<'_>, table: &Published) -> Option<String> {
    let known = |name: &str| {
        table.reference == Some(name) || table.facts.iter().any(|fact| fact.file_system == name)
    };
    let candidate = &member.cell.candidate;
    [&candidate.label, &candidate.fs].into_iter().find(|name| known(name)).cloned()
}

fn parts(table: &Published, columns: &Columns<'_>, rules: Rules) -> Vec<Part> {
    let own = table.facts.iter().filter(|fact| fact.processes == columns.processes);
    let splits = unique(own.map(|fact| (fact.table.as_str(), fact.split.as_str())));
    splits.into_iter().map(|split| part(table, columns, split, rules)).collect()
}

fn part(
    table: &Published,
    columns: &Columns<'_>,
    (name, split): (&str, &str),
    rules: Rules,
) -> Part {
    let mut labels: Vec<&Fact> = Vec::new();
    let own = |fact: &&Fact| {
        fact.processes == columns.processes
            && fact.table == name
            && fact.split == split
            && !fact.is_summary()
    };
    for fact in table.facts.iter().filter(own) {
        if !labels.iter().any(|known| known.label == fact.label) {
            labels.push(fact);
        }
    }
    let rows: Vec<BesideRow> = labels.iter().map(|fact| row(table, columns, fact, rules)).collect();
    let processes = match columns.processes {
        1 => "one process".to_string(),
        many => format!("{many} processes"),
    };
    let panel = &columns.group.title;
    let at = if panel.is_empty() { String::new() } else { format!(" ({panel})") };
    Part {
        title: format!("{name}, {split}, {processes}{at}"),
        reference: columns.reference_fs.clone(),
        candidates: columns.others.iter().map(|(member, _)| member.label.clone()).collect(),
        means: (0..columns.others.len()).map(|index| mean(&rows, index)).collect(),
        rows,
    }
}

fn row(table: &Published, columns: &Columns<'_>, fact: &Fact, rules: Rules) -> BesideRow {
    let pairs = columns.others.iter().map(|(member, fs)| {
        let published = published(table, (columns.processes, &columns.reference_fs), fact, fs);
        let failed = table.failed(columns.processes, &fact.label, fact.heat(), fs);
        let measured = measured(columns.reference, member, fact, rules);
        let word = Word::of(published, measured.as_ref().ok().copied());
        let (measured, why) = match measured {
            Ok(ratio) => (Some(ratio), None),
            Err(why) => (None, Some(why)),
        };
        Pair { published, published_failed: failed, measured, why, word }
    });
    let others = columns.others.iter().map(|(member, fs)| (*member, fs));
    let all = [(columns.reference, &columns.reference_fs)].into_iter().chain(others);
    let all = all.filter(|_| table.is_own);
    let rates = all.map(|(member, fs)| rates(table, columns.processes, fact, (member, fs)));
    BesideRow { label: fact.label.clone(), pairs: pairs.collect(), rates: rates.collect() }
}

/// The printed ratio, else that of the printed rates: also where two decimals leave less than two digits of it.
fn published(
    table: &Published,
    (processes, reference_fs): (u32, &str),
    fact: &Fact,
    fs: &str,
) -> Option<f64> {
    let at = (processes, fact.label.as_str(), fact.heat());
    let rate = |fs: &str| table.number(at, fs, Statistic::Rate);
    let printed = table.number(at, fs, Statistic::Ratio);
    let of_rates = || Some(rate(reference_fs)? / rate(fs).filter(|below| *below > 0.0)?);
    printed.filter(|ratio| *ratio >= 0.1).or_else(of_rates).or(printed)
}

fn measured(
    reference: &Member<'_>,
    other: &Member<'_>,
    fact: &Fact,
    rules: Rules,
) -> Result<RowRatio, String> {
    let Some(phase) = phase_of(reference, fact).or_else(|| phase_of(other, fact)) else {
        return Err("not in this run".into());
    };
    let ratios = log_ratios(reference, other, &rate_metric(&phase));
    row_ratio(&ratios, rules).ok_or_else(|| {
        let lost = [other, reference].into_iter().find_map(|member| loss(member, &phase));
        lost.unwrap_or_else(|| "no block holds both".into())
    })
}

/// The phase with a fact's label and heat; a fact without heat means either.
pub(super) fn phase_of(member: &Member<'_>, fact: &Fact) -> Option<String> {
    let fits = |phase: &&PhaseRecord| {
        let same_heat = |heat: Heat| phase.heat.is_none_or(|own| own == heat);
        phase.label == fact.label && !phase.is_derived && fact.heat().is_none_or(same_heat)
    };
    let mut phases = member.trials.iter().flat_map(|trial| &trial.phases);
    phases.find(fits).map(|phase| phase.phase.clone())
}

fn loss(member: &Member<'_>, phase: &str) -> Option<String> {
    let trials = member.trials.iter();
    let mut outcomes = trials.map(|trial| {
        let record = trial.phase(phase);
        record.map_or(&trial.outcome, |record| &record.outcome)
    });
    outcomes.find_map(|outcome| match outcome {
        Outcome::Failed { reason } => Some(format!("failed: {reason}")),
        Outcome::Skipped { reason } => Some(format!("skipped: {reason}")),
        Outcome::Finished => None,
    })
}

fn mean(rows: &[BesideRow], index: usize) -> Option<MeanPair> {
    let pairs: Vec<(f64, f64)> = rows
        .iter()
        .filter_map(|row| Some((row.pairs[index].published?, row.pairs[index].measured?.value)))
        .filter(|(published, _)| *published > 0.0)
        .collect();
    let (published, measured): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    Some(MeanPair {
        published: geometric_mean(&published)?,
        measured: geometric_mean(&measured)?,
        rows: published.len(),
    })
}

fn unmatched(run: &RunRecord, table: &Published) -> Vec<String> {
    let names = table.file_systems();
    let known = |name: &str| table.reference == Some(name) || names.contains(&name);
    let ours: Vec<&str> = run
        .plan
        .candidates
        .iter()
        .filter(|candidate| !known(&candidate.label) && !known(&candidate.fs))
        .map(|candidate| candidate.label.as_str())
        .collect();
    let has = |name: &&str| run.plan.candidates.iter().any(|c| c.fs == *name || c.label == *name);
    let theirs: Vec<&str> = names.iter().copied().filter(|name| !has(name)).collect();
    let mut notes = Vec::new();
    if !ours.is_empty() {
        notes.push(format!("not in the table: {}", ours.join(", ")));
    }
    if !theirs.is_empty() {
        notes.push(format!("not in this run: {}", theirs.join(", ")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{bonnie, find};
    use pickfs_testkit::{FakePhasedRun, LostPhase, Speed, fake_phased_run};

    fn rhel9(ask: &FakePhasedRun) -> Beside {
        beside(&fake_phased_run(ask), find("kx-2025-rhel9").expect("built in"))
    }

    fn pair<'a>(found: &'a Beside, part: &str, label: &str) -> &'a Pair {
        let part = found.parts.iter().find(|p| p.title.contains(part)).expect("the part");
        &part.rows.iter().find(|row| row.label == label).expect("the row").pairs[0]
    }

    fn eight() -> FakePhasedRun {
        FakePhasedRun { blocks: 8, ..FakePhasedRun::column() }
    }

    #[test]
    fn each_row_has_both_ratios_and_a_word() {
        let found = rhel9(&eight());
        let titles: Vec<_> = found.parts.iter().map(|part| part.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "write, high-impact, one process",
                "write, less critical, one process",
                "read, cold, one process",
                "read, hot, one process"
            ]
        );
        let write = pair(&found, "high-impact", "write float large");
        assert_eq!((write.published, write.word), (Some(1.66), Word::SameSide));
        assert!((write.measured.expect("measured").value - 1.61).abs() < 0.2);
        let sort = pair(&found, "high-impact", "disk sort");
        assert_eq!((sort.published, sort.word), (Some(1.09), Word::NoDifferenceHere));
        assert_eq!(pair(&found, "high-impact", "write int small").word, Word::OppositeSide);
        let tiny = pair(&found, "cold", "sequential read int tiny");
        assert_eq!((tiny.word, tiny.why.as_deref()), (Word::NotMeasured, Some("not in this run")));
        assert_eq!(pair(&found, "hot", "sequential read binary").published, Some(1.01));
        assert!(found.notes.contains(&"not in the table: btrfs".to_string()), "{:?}", found.notes);
    }

    #[test]
    fn the_reference_is_the_tables_whatever_the_runs() {
        let candidates = ["ext4", "xfs", "btrfs"].map(String::from).into();
        let found = rhel9(&FakePhasedRun { candidates, ..eight() });
        assert_eq!(found.parts[0].reference, "xfs");
        assert_eq!(found.parts[0].candidates, ["ext4"]);
        assert_eq!(pair(&found, "high-impact", "write float large").word, Word::SameSide);
    }

    #[test]
    fn processes_must_be_the_same() {
        let found = rhel9(&FakePhasedRun { lanes: vec![1, 4, 64], ..eight() });
        assert_eq!(found.parts.len(), 8);
        assert!(found.parts[4].title.ends_with("64 processes (lanes=64)"));
        assert!(
            found.notes.contains(&"lanes=4: 4 processes; kx-2025-rhel9 has 1 and 64".to_string()),
            "{:?}",
            found.notes
        );
    }

    #[test]
    fn few_blocks_and_failures_are_said() {
        let found = rhel9(&FakePhasedRun { blocks: 3, ..FakePhasedRun::column() });
        assert_eq!(pair(&found, "high-impact", "disk sort").word, Word::TooFewBlocks);
        let outcome = Outcome::Failed { reason: "EIO".into() };
        let lost = LostPhase { label: "ext4".into(), phase: "disk sort".into(), block: 0, outcome };
        let found = rhel9(&FakePhasedRun { lost: vec![lost], ..eight() });
        let sort = pair(&found, "high-impact", "disk sort");
        assert_eq!((sort.word, sort.why.as_deref()), (Word::NotMeasured, Some("failed: EIO")));
    }

    #[test]
    fn means_are_of_the_rows_that_both_have() {
        let found = rhel9(&eight());
        let part = &found.parts[2];
        let mean = part.means[0].expect("rows");
        assert_eq!((part.rows.len(), mean.rows), (12, 11), "the tiny read is not in the run");
        assert!(mean.published > 1.2 && (mean.measured - 1.0 / 0.93).abs() < 0.03, "{mean:?}");
        assert_eq!(found.parts[0].means[0].expect("rows").rows, 10);
    }

    #[test]
    fn rows_that_are_printed_as_nothing_count_in_the_mean_as_in_the_article() {
        let table = find("kx-2025-rhel9").expect("built in");
        let mean = |processes| {
            let is_own = |fact: &&Fact| {
                let at = (fact.processes, fact.split.as_str(), fact.statistic);
                at == (processes, "less critical", Statistic::Ratio) && !fact.is_summary()
            };
            let own = table.facts.iter().filter(is_own);
            let all: Vec<f64> =
                own.filter_map(|fact| published(table, (processes, "xfs"), fact, "ext4")).collect();
            (all.len(), (100.0 * geometric_mean(&all).expect("rows")).round())
        };
        assert_eq!((mean(1), mean(64)), ((21, 87.0), (21, 68.0)));
    }

    #[test]
    fn rates_of_eighteen_become_ratios_to_the_runs_reference() {
        let table = find("linux-2011-eighteen").expect("built in");
        let found =
            beside(&fake_phased_run(&FakePhasedRun { blocks: 8, ..FakePhasedRun::files() }), table);
        assert_eq!(found.parts[0].reference, "ext4");
        assert_eq!(found.parts[0].candidates, ["xfs", "btrfs", "fat16"]);
        let write = &found.parts[0].rows[0].pairs[0];
        assert!((write.published.expect("printed") - 28_852.0 / 28_707.0).abs() < 1e-12);
        let create = &found.parts[1].rows[0].pairs[2];
        assert!(create.published_failed && create.word == Word::NotMeasured, "{create:?}");
    }

    #[test]
    fn a_bonnie_file_is_a_table_by_the_names_in_its_lines() {
        let line = |name: &str, rate: u32| {
            let rest = ",".repeat(50 - 13);
            format!("1.98,2.00a,{name},1,7,64M,,8192,5,,,{rate},5{rest}")
        };
        let text = format!("{}\n{}\n{}", line("ext4", 900), line("xfs", 300), line("zfs", 10));
        let table = bonnie::read("mine.csv", &text).expect("50 fields");
        let ask = FakePhasedRun {
            blocks: 8,
            speeds: vec![Speed::new("xfs", "", 0.5)],
            ..FakePhasedRun::files()
        };
        let found = beside(&fake_phased_run(&ask), &table);
        let pair = &found.parts[0].rows[0].pairs[0];
        assert_eq!((pair.published, pair.word), (Some(3.0), Word::SameSide));
        assert!(found.notes.contains(&"not in this run: zfs".to_string()));
        assert!(found.notes.contains(&"not in the table: btrfs, fat16".to_string()));
    }

    #[test]
    fn a_run_of_one_loop_has_nothing_to_compare() {
        let run = pickfs_testkit::fake_run(&pickfs_testkit::FakeRun::default());
        let found = beside(&run, find("kx-2025-ubuntu").expect("built in"));
        assert!(found.parts.is_empty());
        assert!(found.notes.iter().any(|note| note.contains("no phases were measured")));
    }
}
