//! Every acknowledged record, read on another host than wrote it: its own host may find it in its cache.

use std::{os::unix::process::CommandExt, process::Command, time::Duration};

use pickfs_lab::ranks::ReadBack;
use pickfs_record::{TrialSpec, trial::READ_BACK};
use pickfs_workload::{Fault, Found, reader_of_all, role::Player};

use super::Rank;
use crate::{error::RanksError, message::FromRanks};

/// All records of a lane.
const READ_LIMIT: Duration = Duration::from_secs(180);
/// The same until it is told: a reader has as long for its first word, and is waited for when it is killed.
pub(crate) const TOLD_LIMIT: Duration = Duration::from_secs(2 * READ_LIMIT.as_secs() + 60);

impl Rank<'_> {
    pub(super) fn read_back(&mut self, spec: &TrialSpec) -> Result<(), RanksError> {
        // What was closed on one host is to be seen on all.
        self.together()?;
        let own = self.group.mpi.rank();
        let by_host = self.group.by_host();
        let leaders: Vec<usize> =
            by_host.iter().filter_map(|ranks| ranks.first().copied()).collect();
        let of_all = reader_of_all(spec, &leaders);
        let readers = readers(&by_host, of_all);
        let mut counts = vec![0_u32; readers.len()];
        readers.iter().flatten().for_each(|reader| counts[*reader] += 1);
        let lanes = (0_u32..).zip(&readers).filter(|(_, reader)| **reader == Some(own));
        let hosts = &self.group.hosts;
        let told = |lane: u32, found: Option<u64>, why: String| {
            let [writer, reader] = [lane as usize, own].map(|rank| hosts[rank].clone());
            ReadBack { lane, writer, reader, found, why }
        };
        let mut read = Vec::new();
        for (lane, _) in lanes {
            let found = found(TrialSpec { lane, role: READ_BACK.into(), ..spec.clone() });
            let (records, why) = outcome(found, lane)?;
            read.push(told(lane, records, why));
        }
        let patience = self.group.patience;
        let most = counts.into_iter().max().unwrap_or(0);
        self.group.patience = patience.max(TOLD_LIMIT * most);
        let all = self.gathered(&read)?;
        self.group.patience = patience;
        all.into_iter().flatten().for_each(|read| self.words.tell(&FromRanks::Read(read)));
        for (lane, _) in (0..).zip(&readers).filter(|(_, reader)| reader.is_none()) {
            let why = format!("all ranks are on {}", hosts[own]);
            self.words.tell(&FromRanks::Read(told(lane, None, why)));
        }
        Ok(())
    }
}

fn found(spec: TrialSpec) -> Result<Found, Fault> {
    let mut program = Command::new("/proc/self/exe");
    program.arg0("pickfs");
    Player::start_by(program, spec, READ_LIMIT)?.hear()
}

/// Its records, and what is wrong with them, or why they were not read.
fn outcome(found: Result<Found, Fault>, lane: u32) -> Result<(Option<u64>, String), RanksError> {
    match found {
        Ok(Found { records, damage }) => Ok((Some(records), damage.unwrap_or_default())),
        Err(Fault::Skipped { reason }) => Ok((None, reason)),
        // Nothing is known of its records then: that is no loss.
        Err(fault) => {
            let why = format!("lane {lane} was not read on another host: {fault}");
            Err(RanksError::Told(why))
        }
    }
}

/// The rank that reads what each one wrote: each of another host has as many as the others, about, unless one is there
/// for all.
fn readers(by_host: &[Vec<usize>], of_all: Option<usize>) -> Vec<Option<usize>> {
    let ranks = by_host.concat();
    let mut readers = vec![None; ranks.len()];
    let mut first = 0;
    for own in by_host {
        let others = ranks.len() - own.len();
        let for_all = of_all.filter(|reader| !own.contains(reader));
        for (place, &writer) in (first..).zip(own) {
            // Among the others, who stand before its host and behind it.
            let other = place % others.max(1);
            let other = if other < first { other } else { other + own.len() };
            readers[writer] = for_all.or_else(|| ranks.get(other).copied());
        }
        first += own.len();
    }
    readers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_is_read_on_another_host_and_the_work_is_shared() {
        let uneven = [vec![0, 2, 4, 5], vec![1], vec![3, 6]];
        let even = [vec![0, 3], vec![1, 4], vec![2, 5]];
        for (by_host, most_allowed) in [(&uneven, 2), (&even, 1)] {
            let chosen = readers(by_host, None);
            let mut counts = vec![0; chosen.len()];
            for (writer, reader) in chosen.iter().enumerate() {
                let reader = reader.unwrap();
                let is_own =
                    |ranks: &&Vec<usize>| ranks.contains(&writer) && ranks.contains(&reader);
                assert_eq!(by_host.iter().find(is_own), None, "{chosen:?}");
                counts[reader] += 1;
            }
            assert_eq!(counts.iter().max(), Some(&most_allowed), "{chosen:?}");
        }
        assert_eq!(readers(&[vec![0], vec![1]], None), [Some(1), Some(0)]);
        assert_eq!(readers(&[vec![0, 1]], None), [None, None]);
        let hosts: Vec<Vec<usize>> = (0..10_000).map(|rank| vec![rank]).collect();
        assert!(readers(&hosts, None).iter().all(Option::is_some));
        let of_all = readers(&even, Some(2));
        assert_eq!([0, 1, 3, 4].map(|writer| of_all[writer]), [Some(2); 4]);
        assert!([2, 5].iter().all(|own| ![Some(2), Some(5), None].contains(&of_all[*own])));
    }

    #[test]
    fn damage_is_kept_with_its_records_and_what_was_not_read_is_no_loss() {
        let damage = || Some("record 2 is torn".to_owned());
        let damaged = outcome(Ok(Found { records: 7, damage: damage() }), 1).unwrap();
        assert_eq!(damaged, (Some(7), damage().unwrap()));
        let whole = outcome(Ok(Found { records: 7, damage: None }), 1).unwrap();
        assert_eq!(whole, (Some(7), String::new()));
        let skipped = Fault::Skipped { reason: "no reader".into() };
        assert_eq!(outcome(Err(skipped), 1).unwrap(), (None, "no reader".into()));
        let error =
            outcome(Err(Fault::Failed { reason: "gone".into() }), 1).unwrap_err().to_string();
        assert!(error.starts_with("lane 1 was not read on another host: "), "{error}");
    }
}
