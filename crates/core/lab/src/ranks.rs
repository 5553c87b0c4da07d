//! Lanes on other hosts: ranks that a launcher of MPI starts. An extra knows how; here is what a trial needs of it.

use std::{path::Path, sync::OnceLock};

use pickfs_analysis::doubts::RECORDS_LOST;
use pickfs_record::{
    BackingSpec, Environment, Plan, TrialRecord, WorkerMessage,
    plan::RanksSpec,
    quantity::duration_text,
    record::{Flag, HostShare},
};
use serde::{Deserialize, Serialize};

use crate::{
    expand::Expansion, interrupt::Interrupt, machine::TrialError, worker_process::Workplace,
};

pub trait Ranks: Sync {
    /// Starts all ranks of one trial. They are of this build, and the folder is one for all of them and for us. Before they
    /// measure, each host settles for so long at most.
    ///
    /// # Errors
    /// Each names the host.
    fn gather(
        &self,
        asked: &RanksSpec,
        settle_s: f64,
        folder: &Path,
        interrupt: &Interrupt,
    ) -> Result<Box<dyn Gathered>, String>;
}

/// Dropping it ends them, wherever they are.
pub trait Gathered {
    fn count(&self) -> u32;

    /// `ranks.*`
    fn facts(&self) -> Environment;

    fn place(&self) -> &dyn Workplace;

    /// With when their lanes began, of what these said.
    fn hosts(&self, said: &[Vec<WorkerMessage>]) -> Vec<HostShare>;

    /// What each lane wrote, as a rank of another host reads it now.
    fn read_back(&self, interrupt: &Interrupt) -> Result<Vec<ReadBack>, String>;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadBack {
    pub lane: u32,
    pub writer: String,
    pub reader: String,
    /// Nothing where it is not read, and why.
    pub found: Option<u64>,
    pub why: String,
}

static RANKS: OnceLock<&dyn Ranks> = OnceLock::new();

/// From now on lanes can be ranks.
pub fn add(ranks: &'static dyn Ranks) {
    let _ = RANKS.set(ranks);
}

pub fn is_there() -> bool {
    RANKS.get().is_some()
}

/// Those whose lanes each have files of their own, or ask of files of all, and times that can be merged. Those of the
/// engines are processes around one memory.
const WORKLOADS: [&str; 7] = ["null", "journal", "files", "column", "command", "fio", "shared"];

/// Why a plan cannot be run over ranks.
pub(crate) fn check(plan: &Plan, expansion: &Expansion) -> Result<(), String> {
    let Some(asked) = &plan.ranks else { return Ok(()) };
    let any_other = |name: &str, usual: u64| {
        let mut values = expansion.cells.iter().filter_map(|cell| cell.workload.params.get(name));
        values.any(|value| *value != usual)
    };
    let refused = |why: &str| Err(format!("--ranks: {why}"));
    match plan {
        _ if !is_there() => refused("this build is without ranks; build pickfs with that feature"),
        _ if asked.launcher.is_empty() => refused("no launcher is named; write mpirun -np 4"),
        _ if !matches!(plan.backing, BackingSpec::Directory { .. }) => {
            refused("ranks share a folder that is mounted on every host; name it with --dir")
        }
        _ if plan.workload == "queue" => refused(
            "whether a mapped queue works between hosts, workload shared tells with ask = map",
        ),
        _ if !WORKLOADS.contains(&&*plan.workload) => Err(format!(
            "--ranks: workload {} is not measured over hosts; there are {}",
            plan.workload,
            WORKLOADS.join(", ")
        )),
        _ if any_other("lanes", 1) => refused("a rank is a lane; leave lanes out"),
        _ if expansion.cells.iter().any(|cell| !cell.knobs.is_empty()) => {
            refused("knobs are turned on this machine, not on the hosts; leave them out")
        }
        Plan { capacity: Some(_), .. } => {
            refused("the highest rate is not sought over hosts; leave [capacity] out")
        }
        _ if plan.explain_above_ns.is_some() || any_other("stalls_above", 0) => {
            refused("causes are seen on this machine, not on the hosts; leave --explain out")
        }
        Plan { cpus: Some(_), .. } => {
            refused("processors are those of the hosts; leave --cpus to the launcher")
        }
        _ if plan.workload == "shared" => check_wait(asked, expansion),
        _ => Ok(()),
    }
}

/// Those that have ended wait for those that still look.
fn check_wait(asked: &RanksSpec, expansion: &Expansion) -> Result<(), String> {
    let waits = expansion.cells.iter().filter_map(|cell| cell.workload.params.get("wait"));
    let wait_ns = waits.filter_map(|wait| wait.as_u64()).max().unwrap_or(0) as f64;
    if wait_ns < asked.patience_s * 1e9 {
        return Ok(());
    }
    let [wait, patience] = [wait_ns, asked.patience_s * 1e9].map(duration_text);
    Err(format!(
        "--ranks: wait = {wait} is not shorter than --ranks-patience {patience}; name a longer patience"
    ))
}

/// Where they cannot be gathered now, no further trial can be made.
pub(crate) fn gather(
    plan: &Plan,
    folder: &Path,
    interrupt: &Interrupt,
    stuck: &mut Option<String>,
) -> Result<Option<Box<dyn Gathered>>, TrialError> {
    let Some((asked, ranks)) = plan.ranks.as_ref().zip(RANKS.get()) else { return Ok(None) };
    let gathered = ranks.gather(asked, plan.timing.settle_s, folder, interrupt);
    gathered.map(Some).map_err(|why| {
        *stuck = Some(why.clone()).filter(|_| !interrupt.is_raised());
        TrialError::Failed(why)
    })
}

/// Records of each lane that it was told are kept, and found there itself.
pub(crate) fn acknowledged(said: &[Vec<WorkerMessage>]) -> Vec<u64> {
    let of = |messages: &Vec<WorkerMessage>| {
        messages.iter().find_map(|message| match message {
            WorkerMessage::Verified { checked } => Some(*checked),
            _ => None,
        })
    };
    said.iter().map(|messages| of(messages).unwrap_or(0)).collect()
}

/// A host that did not write it must find every record, or the trial has failed.
pub(crate) fn read_back(
    ranks: &dyn Gathered,
    acknowledged: &[u64],
    interrupt: &Interrupt,
    record: &mut TrialRecord,
) -> Result<(), TrialError> {
    let read = ranks.read_back(interrupt).map_err(TrialError::Failed)?;
    let is_told = |lane: &usize| read.iter().any(|one| one.lane as usize == *lane);
    if let Some(lane) = (0..acknowledged.len()).find(|lane| !is_told(lane)) {
        return Err(TrialError::Failed(format!("no host said what it found of lane {lane}")));
    }
    let (mut lost, mut found_in_all) = (Vec::new(), 0);
    for ReadBack { lane, writer, reader, found, why } in read {
        let Some(found) = found else {
            let note = format!("not read back on another host: {why}");
            if !record.notes.contains(&note) {
                record.notes.push(note);
            }
            continue;
        };
        found_in_all += found;
        let kept = acknowledged.get(lane as usize).copied().unwrap_or(0);
        if found < kept {
            let reason = if why.is_empty() { why } else { format!(" ({why})") };
            lost.push(format!(
                "{} of {kept} records that {writer} was told are kept are not there for {reader}{reason}",
                kept - found
            ));
        } else if !why.is_empty() {
            lost.push(format!("{reader} reads other records than {writer} wrote ({why})"));
        }
    }
    record.counts.insert("records_read_elsewhere".into(), found_in_all as f64);
    if lost.is_empty() {
        return Ok(());
    }
    let text = format!("records lost: {}", lost.join("; "));
    record.flags.push(Flag { kind: RECORDS_LOST.into(), text: text.clone() });
    Err(TrialError::Failed(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{expand, plan_file::read_plan, worker_process::Workplace};

    struct Fake(Vec<ReadBack>);

    impl Gathered for Fake {
        fn count(&self) -> u32 {
            self.0.len() as u32
        }

        fn facts(&self) -> Environment {
            Environment::default()
        }

        fn place(&self) -> &dyn Workplace {
            unreachable!("nothing is started here")
        }

        fn hosts(&self, _said: &[Vec<WorkerMessage>]) -> Vec<HostShare> {
            Vec::new()
        }

        fn read_back(&self, _interrupt: &Interrupt) -> Result<Vec<ReadBack>, String> {
            Ok(self.0.clone())
        }
    }

    fn read(lane: u32, found: Option<u64>, why: &str) -> ReadBack {
        let (writer, reader) = (format!("h{}", lane + 1), "h9".into());
        ReadBack { lane, writer, reader, found, why: why.into() }
    }

    fn judged(read: Vec<ReadBack>, kept: &[u64]) -> (TrialRecord, Option<String>) {
        let mut record = TrialRecord::default();
        let judged = read_back(&Fake(read), kept, &Interrupt::default(), &mut record);
        let reason = judged.err().map(|error| match error {
            TrialError::Failed(reason) | TrialError::Skipped(reason) => reason,
        });
        (record, reason)
    }

    #[test]
    fn a_record_that_another_host_does_not_find_fails_the_trial_with_both_names() {
        let (record, reason) =
            judged(vec![read(0, Some(50), ""), read(1, Some(47), "a hole")], &[50, 50]);
        let reason = reason.expect("lost");
        assert_eq!(
            reason,
            "records lost: 3 of 50 records that h2 was told are kept are not there for h9 (a hole)"
        );
        assert_eq!(record.flags[0].kind, RECORDS_LOST);
        let (record, reason) = judged(vec![read(0, Some(50), ""), read(1, Some(50), "")], &[50; 2]);
        assert_eq!((reason, record.counts["records_read_elsewhere"]), (None, 100.0));
        let (record, reason) = judged(vec![read(0, Some(50), "other bytes")], &[50]);
        assert_eq!(record.flags[0].kind, RECORDS_LOST);
        assert!(reason.expect("lost").contains("h9 reads other records than h1 wrote"));
        let (record, reason) = judged(vec![read(0, Some(50), "")], &[50, 50]);
        assert_eq!(reason.as_deref(), Some("no host said what it found of lane 1"));
        assert_eq!(record.flags.len(), 0);
    }

    #[test]
    fn what_no_other_host_reads_is_noted_once() {
        let unread = |lane| read(lane, None, "all ranks are on h1");
        let (record, reason) = judged(vec![unread(0), unread(1)], &[5, 5]);
        assert_eq!(record.notes, ["not read back on another host: all ranks are on h1"]);
        assert_eq!(reason, None);
    }

    #[test]
    fn what_was_acknowledged_is_what_each_lane_verified() {
        let said = [vec![WorkerMessage::Verified { checked: 7 }], vec![WorkerMessage::Finished]];
        assert_eq!(acknowledged(&said), [7, 0]);
    }

    #[test]
    fn a_plan_that_cannot_be_run_over_ranks_is_refused_with_the_way_out() {
        struct Nobody;
        impl Ranks for Nobody {
            fn gather(
                &self,
                _: &RanksSpec,
                _: f64,
                _: &Path,
                _: &Interrupt,
            ) -> Result<Box<dyn Gathered>, String> {
                Err("nobody".into())
            }
        }
        add(&Nobody);
        let text = crate::plans::built_in("quick").expect("built in").text;
        let read = |text: &str| read_plan("a plan", text).expect("it reads");
        let expanded = |plan: &Plan| {
            let workload = pickfs_workload::find(&plan.workload).expect("known");
            let durability =
                |_: &pickfs_record::CandidateSpec| pickfs_record::Durability::PowerLoss;
            expand::expand(plan, workload, durability).expect("expands")
        };
        let mut plan = read(text);
        let expansion = expanded(&plan);
        assert_eq!(check(&plan, &expansion), Ok(()));
        let launcher = vec!["mpirun".into()];
        plan.ranks = Some(RanksSpec { launcher, patience_s: 60.0 });
        assert!(check(&plan, &expansion).expect_err("an image").contains("name it with --dir"));
        plan.backing = BackingSpec::Directory { path: "/tmp".into(), places: Default::default() };
        assert_eq!(check(&plan, &expansion), Ok(()));
        plan.explain_above_ns = Some(1);
        assert!(check(&plan, &expansion).expect_err("causes").contains("leave --explain out"));
        plan.workload = "queue".into();
        assert!(check(&plan, &expansion).expect_err("a mapped file").contains("ask = map"));
        let text = include_str!("../../cli/tests/rank_hosts/shared.toml");
        let mut long = Plan { ranks: plan.ranks, backing: plan.backing, ..read(text) };
        assert_eq!(check(&long, &expanded(&long)), Ok(()));
        long.params.insert("wait".into(), "60s".into());
        let text = "--ranks: wait = 60.0 s is not shorter than --ranks-patience 60.0 s; name a longer patience";
        assert_eq!(check(&long, &expanded(&long)), Err(text.into()));
    }
}
