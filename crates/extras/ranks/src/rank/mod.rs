//! One rank: it speaks MPI, starts the worker that measures, and hands words on. It measures nothing itself, and sleeps while
//! a worker does. Rank 0 speaks with the lab, too.

mod lane;
mod read_back;
mod standstill;
mod trial;
mod watch;
mod words;

#[cfg(test)]
mod crowd;

use std::{
    collections::{HashMap, HashSet},
    process::ExitCode,
};

use pickfs_record::{Clock, MonotonicClock, trial::WORKER};
use pickfs_workload::BUILD;
use rustix::{system::uname, thread::set_name};

use crate::{
    clock::{Bounds, bounds},
    error::RanksError,
    group::Group,
    library::Library,
    message::{FromRanks, Order, RankFacts, Task, ToRanks},
    mpi::Mpi,
    same_folder,
    start::agree,
};

pub(crate) use read_back::TOLD_LIMIT;
use watch::{leave, watch_the_launcher};
pub(crate) use words::FIRST_WORD;
use words::Words;

/// Behind `worker`: `pickfs worker rank`.
pub(crate) const RANK: &str = "rank";

/// What this process was started for: `None` where it is no rank. To be called before anything else.
pub fn run() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != WORKER || words.next()? != RANK {
        return None;
    }
    let _ = set_name(c"pickfs-rank");
    watch_the_launcher();
    let host = host_name();
    let mpi = match Library::join() {
        Ok(mpi) => mpi,
        Err(error) => {
            words::complain(&host, &error.to_string());
            return Some(ExitCode::FAILURE);
        }
    };
    let words = Words::new(mpi.rank() == 0);
    if let Err(error) = Rank::new(&mpi, &words).and_then(|mut rank| rank.take_part()) {
        let reason = format!("{host}: {error}");
        words::complain(&host, &error.to_string());
        words.tell(&FromRanks::Failed { reason });
        leave(&mpi);
    }
    mpi.finish();
    Some(ExitCode::SUCCESS)
}

pub(crate) fn now_ns() -> u64 {
    MonotonicClock.now_ns()
}

fn host_name() -> String {
    uname().nodename().to_string_lossy().into_owned()
}

fn facts() -> RankFacts {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    RankFacts {
        host: host_name(),
        boot: boot.trim().chars().take(8).collect(),
        kernel: uname().release().to_string_lossy().into_owned(),
        build: BUILD.into(),
        ..RankFacts::default()
    }
}

struct Rank<'m> {
    group: Group<'m>,
    words: &'m Words,
    order: Order,
    bounds: Bounds,
}

impl<'m> Rank<'m> {
    /// Hears what all are for.
    fn new(mpi: &'m dyn Mpi, words: &'m Words) -> Result<Rank<'m>, RanksError> {
        let mut group = Group::new(mpi, words::FIRST_WORD);
        let ToRanks::Order(order) = words.shared(&group)? else {
            return Err(RanksError::Told(
                "the lab's first word is no order; this is a bug in pickfs, please tell us".into(),
            ));
        };
        group.patience = order.patience();
        Ok(Rank { group, words, order, bounds: Bounds::SAME })
    }

    fn take_part(&mut self) -> Result<(), RanksError> {
        let mut own = facts();
        self.meet_each_other(&own)?;
        self.bounds = bounds(&self.group, &now_ns)?;
        own.host.clone_from(&self.group.hosts[self.group.mpi.rank()]);
        own.bounds = self.bounds;
        if let Some(shared) = &self.order.folder {
            own.folder = same_folder::look(&self.group, shared)?;
        }
        let ranks = self.gathered(&own)?;
        let mpi = self.group.mpi.name();
        self.words.tell(&FromRanks::Present { mpi, ranks });
        match self.order.task {
            Task::Starts(times) => self.practise(times)?,
            Task::Trial { settle_s } => self.trial(settle_s)?,
        }
        self.words.tell(&FromRanks::Ended);
        Ok(())
    }

    /// Whose rank is whose, by names that tell hosts apart.
    fn meet_each_other(&mut self, own: &RankFacts) -> Result<(), RanksError> {
        let ranks = self.gathered(own)?;
        let names = unique_names(&ranks).join("\n").into_bytes();
        let names = self.group.share(self.group.is_first().then_some(names))?;
        self.group.hosts = hosts_of(&names, self.group.mpi.size())?;
        Ok(())
    }

    /// What each rank says, at rank 0.
    fn gathered<T>(&self, own: &T) -> Result<Vec<T>, RanksError>
    where
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        let mut all = Vec::new();
        let bytes = serde_json::to_vec(own).unwrap_or_default();
        self.group.gather(bytes, &mut |rank, bytes| {
            let said = serde_json::from_slice(&bytes).map_err(|error| {
                let who = self.group.name(rank);
                RanksError::Told(format!("{who} says what is not understood: {error}"))
            });
            all.push(said?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Begins together so many times, and tells how far apart that was.
    fn practise(&self, times: u32) -> Result<(), RanksError> {
        let mut began_ns = Vec::new();
        for _ in 0..times {
            let at_ns = agree(&self.group, self.bounds, &now_ns)?;
            MonotonicClock.wait_until(at_ns, 0);
            began_ns.push(self.bounds.first_ns(now_ns()));
        }
        let all = self.gathered(&began_ns)?;
        let apart = |time: usize| {
            let times = || all.iter().filter_map(move |began| began.get(time).copied());
            times().max().unwrap_or(0) - times().min().unwrap_or(0)
        };
        let skews_ns = (0..times as usize).map(apart).collect();
        self.words.tell(&FromRanks::Started { skews_ns });
        Ok(())
    }
}

/// Hosts of one name that were booted apart are two.
fn unique_names(ranks: &[RankFacts]) -> Vec<String> {
    let mut boots = HashMap::<&str, HashSet<&str>>::new();
    for rank in ranks {
        boots.entry(&rank.host).or_default().insert(&rank.boot);
    }
    let name = |own: &RankFacts| match boots.get(&*own.host).map_or(1, HashSet::len) {
        1 => own.host.clone(),
        _ => format!("{} (boot {})", own.host, own.boot),
    };
    ranks.iter().map(name).collect()
}

/// The hosts that rank 0 names, a line for each rank.
fn hosts_of(names: &[u8], ranks: usize) -> Result<Vec<String>, RanksError> {
    let hosts: Vec<_> = String::from_utf8_lossy(names).split('\n').map(str::to_owned).collect();
    let named = hosts.len();
    let why = || {
        RanksError::Told(format!(
            "rank 0 names {named} hosts of {ranks} ranks; give each host a name of one line"
        ))
    };
    (named == ranks).then_some(hosts).ok_or_else(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hosts_of_one_name_are_told_apart() {
        let rank = |host: &str, boot: &str| RankFacts {
            host: host.into(),
            boot: boot.into(),
            ..RankFacts::default()
        };
        let names = unique_names(&[rank("a", "1"), rank("b", "1"), rank("a", "2"), rank("b", "1")]);
        assert_eq!(names, ["a (boot 1)", "b", "a (boot 2)", "b"]);
    }

    #[test]
    fn as_many_hosts_are_named_as_there_are_ranks() {
        assert_eq!(hosts_of(b"a\nb", 2).expect("two"), ["a", "b"]);
        for (names, said) in
            [(&b"a"[..], "names 1 hosts of 2"), (b"a\nof two lines\nb", "names 3 hosts")]
        {
            let refused = hosts_of(names, 2).expect_err("not two");
            assert!(refused.to_string().contains(said), "{refused}");
        }
    }
}
