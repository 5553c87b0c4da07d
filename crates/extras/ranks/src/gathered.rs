//! The ranks of one trial, as the lab has them: all are there, of its build, and see its folder.

use std::{
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, Sender},
    },
    time::Duration,
};

use pickfs_lab::{
    interrupt::Interrupt,
    ranks::{Gathered as Ours, ReadBack},
    worker_process::{Hands, Heard, Inheritance, Worker, WorkerError, Workplace},
};
use pickfs_record::{
    Environment, TrialSpec, WorkerMessage, plan::RanksSpec, record::HostShare, visible::visible,
};
use pickfs_sys::mount::mount_of;
use pickfs_workload::BUILD;

use crate::{
    clock::Bounds,
    error::RanksError,
    group::by_host,
    launched::Launched,
    message::{FromRanks, Order, RankFacts, SharedFolder, Task, ToRanks},
    rank::{FIRST_WORD, TOLD_LIMIT},
    same_folder,
};

/// For a launcher to reach its hosts, beside the patience of the ranks themselves.
const LAUNCH: Duration = Duration::from_secs(60);
/// Turns of ranks in which they name who is missing; at their first meeting their patience is [`FIRST_WORD`].
const TURNS: Duration = Duration::from_secs(50);

pub(crate) struct Gathered {
    launched: Arc<Launched>,
    events: Receiver<FromRanks>,
    pub(crate) mpi: String,
    pub(crate) ranks: Vec<RankFacts>,
    patience: Duration,
}

pub(crate) fn gather(
    asked: &RanksSpec,
    folder: Option<&Path>,
    task: Task,
    interrupt: &Interrupt,
) -> Result<Gathered, RanksError> {
    let shared = folder.map(|path| {
        let token = same_folder::drawn_token();
        same_folder::write(path, "lab", &token).map_err(RanksError::Told)?;
        Ok::<_, RanksError>(SharedFolder { path: path.into(), token })
    });
    let order = Order { patience_s: asked.patience_s, folder: shared.transpose()?, task };
    let patience = order.patience();
    let (launched, events) = Launched::start(&asked.launcher)?;
    launched.tell(&ToRanks::Order(order));
    let limit = (LAUNCH + (FIRST_WORD + TURNS).max(2 * patience), "say who is there");
    let (mpi, ranks) = launched.expect(&events, limit, interrupt, |event| match event {
        FromRanks::Present { mpi, ranks } => Some((mpi, ranks)),
        _ => None,
    })?;
    check(&ranks, folder)?;
    Ok(Gathered { launched, events, mpi, ranks, patience })
}

/// Names the first host that must not measure with the others.
fn check(ranks: &[RankFacts], folder: Option<&Path>) -> Result<(), RanksError> {
    let host = |rank: &RankFacts| visible(&rank.host);
    if let Some(rank) = ranks.iter().find(|rank| rank.build != BUILD) {
        return Err(RanksError::Told(format!(
            "{} runs build {} of pickfs, and this is {BUILD}; install the same one on every host",
            host(rank),
            visible(&rank.build)
        )));
    }
    let Some(folder) = folder else { return Ok(()) };
    let path = folder.display();
    if let Some(rank) = ranks.iter().find(|rank| !rank.folder.problem.is_empty()) {
        return Err(RanksError::Told(format!(
            "{} is not the folder of the others: {}; mount it there at the same place",
            host(rank),
            visible(&rank.folder.problem)
        )));
    }
    let here = mount_of(folder).map_err(|error| RanksError::Told(error.to_string()))?;
    let ours = (here.fs_type.as_str(), here.source.to_string_lossy());
    let is_other = |rank: &&RankFacts| {
        (rank.folder.fs_type.as_str(), rank.folder.source.as_str()) != (ours.0, &*ours.1)
    };
    match ranks.iter().find(is_other) {
        Some(rank) => Err(RanksError::Told(format!(
            "{} reaches {path} as {} of {}, and this host as {} of {}; they measure different things",
            host(rank),
            visible(&rank.folder.fs_type),
            visible(&rank.folder.source),
            ours.0,
            ours.1
        ))),
        None => Ok(()),
    }
}

impl Gathered {
    /// Of an order that asked for them.
    pub(crate) fn skews_ns(&self, interrupt: &Interrupt) -> Result<Vec<u64>, RanksError> {
        let limit = (LAUNCH + self.patience, "begin together");
        let skews_ns = self.launched.expect(&self.events, limit, interrupt, |event| match event {
            FromRanks::Started { skews_ns } => Some(skews_ns),
            _ => None,
        });
        self.launched.how();
        skews_ns
    }

    pub(crate) fn launcher(&self) -> &str {
        &self.launched.launcher
    }

    /// Each host, with its ranks.
    pub(crate) fn by_host(&self) -> Vec<(&RankFacts, Vec<usize>)> {
        let by_host = by_host(self.ranks.iter().map(|rank| &*rank.host));
        by_host.into_iter().map(|ranks| (&self.ranks[ranks[0]], ranks)).collect()
    }
}

impl Ours for Gathered {
    fn count(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn facts(&self) -> Environment {
        let mut facts = Environment::default();
        facts.put("ranks.mpi", visible(&self.mpi));
        facts.put("ranks.launcher", visible(self.launcher()));
        facts
    }

    fn place(&self) -> &dyn Workplace {
        self
    }

    fn hosts(&self, said: &[Vec<WorkerMessage>]) -> Vec<HostShare> {
        // Rank 0 tells them before the last words of the lanes.
        let clocks = self.events.try_iter().find_map(|event| match event {
            FromRanks::Clocks { bounds } => Some(bounds),
            _ => None,
        });
        let clocks = clocks.unwrap_or_default();
        let began_ns: Vec<Option<u64>> = said.iter().map(|lane| began_ns(lane)).collect();
        let first_ns = began_ns.iter().flatten().min().copied().unwrap_or(0);
        let share = |(facts, ranks): (&RankFacts, Vec<usize>)| {
            let began = ranks.iter().filter_map(|rank| *began_ns.get(*rank)?);
            let clock = ranks.first().and_then(|rank| clocks.get(*rank).copied());
            let Bounds { min_ns, max_ns } = clock.unwrap_or(facts.bounds);
            HostShare {
                name: visible(&facts.host),
                kernel: visible(&facts.kernel),
                ranks: ranks.len() as u32,
                mount: visible(&format!("{} {}", facts.folder.fs_type, facts.folder.source)),
                offset_ns_min: min_ns,
                offset_ns_max: max_ns,
                start_skew_ns: began.max().unwrap_or(first_ns) - first_ns,
            }
        };
        self.by_host().into_iter().map(share).collect()
    }

    fn read_back(&self, interrupt: &Interrupt) -> Result<Vec<ReadBack>, String> {
        let limit = TOLD_LIMIT * self.count() + LAUNCH + self.patience;
        let mut read = Vec::new();
        let ended = self.launched.expect(
            &self.events,
            (limit, "read what others wrote"),
            interrupt,
            |event| match event {
                FromRanks::Read(ReadBack { lane, writer, reader, found, why }) => {
                    let [writer, reader, why] = [writer, reader, why].map(|text| visible(&text));
                    read.push(ReadBack { lane, writer, reader, found, why });
                    None
                }
                FromRanks::Ended => Some(()),
                _ => None,
            },
        );
        ended.map_err(|error| error.to_string())?;
        // They part in their own time.
        self.launched.how();
        Ok(read)
    }
}

/// When a lane began, on the clock of the first host; nothing of one that does not say.
fn began_ns(lane: &[WorkerMessage]) -> Option<u64> {
    let began = lane.iter().find_map(|message| match message {
        WorkerMessage::Load(load) => Some(load.began_ns),
        _ => None,
    });
    began.filter(|began_ns| *began_ns > 0)
}

impl Workplace for Gathered {
    fn start(
        &self,
        spec: &TrialSpec,
        _inherits: &Inheritance<'_>,
        inbox: &Sender<Heard>,
    ) -> Result<Worker, WorkerError> {
        if spec.lane == 0 {
            self.launched.hear_lanes(spec.lanes as usize, inbox.clone());
        }
        let hands = LaneHands { lane: spec.lane, launched: Arc::clone(&self.launched) };
        Ok(Worker::new(Box::new(hands), spec))
    }

    fn shares_memory(&self) -> bool {
        false
    }
}

/// Rank 0 hands on what the first lane hears; the others are told nothing of their own.
struct LaneHands {
    lane: u32,
    launched: Arc<Launched>,
}

impl Hands for LaneHands {
    fn process_id(&self) -> Option<u32> {
        None
    }

    fn say(&mut self, line: &str) {
        if self.lane > 0 {
            return;
        }
        match serde_json::from_str(line) {
            Ok(spec) => self.launched.tell(&ToRanks::Trial { spec: Box::new(spec) }),
            Err(_) => self.launched.tell(&ToRanks::Go),
        }
    }

    fn ask_to_end(&mut self) {
        self.launched.ask_to_end();
    }

    fn how_it_ended(&mut self) -> String {
        let how = self.launched.with_last_words(&self.launched.how());
        format!("the end of {} ({how})", self.launched.launcher)
    }
}

#[cfg(test)]
mod tests {
    use pickfs_record::record::LoadRecord;

    use super::*;
    use crate::message::FolderSeen;

    fn rank(host: &str, folder: &Path) -> RankFacts {
        let mount = mount_of(folder).unwrap();
        RankFacts {
            host: host.into(),
            build: BUILD.into(),
            folder: FolderSeen {
                fs_type: mount.fs_type,
                source: mount.source.to_string_lossy().into_owned(),
                problem: String::new(),
            },
            ..RankFacts::default()
        }
    }

    #[test]
    fn a_host_that_must_not_measure_with_the_others_is_named_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let refused = |change: fn(&mut RankFacts)| {
            let mut ranks = [rank("h1", path), rank("h2", path)];
            change(&mut ranks[1]);
            check(&ranks, Some(path)).map_err(|error| error.to_string())
        };
        assert_eq!(refused(|_| ()), Ok(()));
        type Change = fn(&mut RankFacts);
        let changes: [(Change, &str); 3] = [
            (|rank| rank.build = "old".into(), "h2 runs build old"),
            (|rank| rank.folder.problem = "not there".into(), "h2 is not the folder of the others"),
            (|rank| rank.folder.source = "other:/x".into(), "of other:/x, and this host as"),
        ];
        for (change, part) in changes {
            let text = refused(change).unwrap_err();
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_lane_began_when_its_load_says() {
        let load = LoadRecord { began_ns: 7, ..LoadRecord::default() };
        assert_eq!(began_ns(&[WorkerMessage::Finished, WorkerMessage::Load(load)]), Some(7));
        assert_eq!(began_ns(&[WorkerMessage::Load(LoadRecord::default())]), None);
    }
}
