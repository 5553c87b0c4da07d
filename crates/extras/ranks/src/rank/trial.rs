//! One trial, seen from a rank.
//!
//! ```text
//! trial ► worker prepares ► all ready, told to the lab ► go, by appointment ► gates, by appointment ► all ended
//!       ► clocks once more ► words of each lane, one after another ► each lane's records, read on another host
//! ```

use std::{mem, path::Path, time::Duration};

use pickfs_lab::settle::{Quiet, settle};
use pickfs_record::{
    Clock, MonotonicClock, TrialSpec, WorkerMessage, quantity::bytes_text, record::SettleRecord,
    trial::Among,
};
use pickfs_sys::residency::{Caches, drop_caches};

use super::{Rank, lane::Lane, now_ns, standstill::Standstill};
use crate::{
    clock::{Bounds, bounds},
    error::RanksError,
    group::Wait,
    meeting::{Step, meet},
    message::{FromRanks, ToRanks},
    start::agree,
};

const SETTLE_S_MAX: f64 = 3600.0;

impl Rank<'_> {
    pub(super) fn trial(&mut self, settle_s: f64) -> Result<(), RanksError> {
        let Some(spec) = self.spec()? else { return Ok(()) };
        let spec = TrialSpec { among: Some(self.among()), ..spec };
        let host = self.group.hosts[self.group.mpi.rank()].clone();
        let settles = Duration::from_secs_f64(settle_s.clamp(0.0, SETTLE_S_MAX));
        let settled = self.leads().then(|| {
            let quiet = Quiet { host_folders: vec![spec.directory.clone()], devices: Vec::new() };
            settle(&quiet, settles)
        });
        // Nobody prepares, and nobody is missed, while a host settles. Rank 0 misses others when it has settled itself.
        let patience = self.group.patience;
        self.group.patience = patience + if self.group.is_first() { settles } else { 2 * settles };
        self.together()?;
        self.group.patience = patience;
        let mut lane = Lane::start(Path::new("/proc/self/exe"), &spec, &host)?;
        if let Some(settled) = settled.filter(|settled| settled.timed_out) {
            lane.tell(WorkerMessage::Note { text: unsettled(&host, settled) });
        }
        let end = self.measure(&mut lane, &spec).inspect_err(|_| lane.give_up())?;
        if end == Step::Broken {
            lane.give_up();
        }
        lane.end();
        let began = self.bounds;
        self.bounds = bounds(&self.group, &now_ns)?;
        let drift = began.around(self.bounds);
        let bounds = self.gathered(&drift)?;
        self.words.tell(&FromRanks::Clocks { bounds });
        let mut said = lane.take_words();
        said.iter_mut().for_each(|message| put_on_first_clock(message, drift));
        self.hand_on(&said)?;
        match end {
            Step::Ended => self.read_back(&spec),
            _ => Ok(()),
        }
    }

    fn among(&self) -> Among {
        let (own, by_host) = (self.group.mpi.rank(), self.group.by_host());
        let is_own = |ranks: &Vec<usize>| ranks.contains(&own);
        Among {
            host: by_host.iter().position(is_own).unwrap_or(0) as u32,
            hosts: by_host.len() as u32,
            leads: self.leads(),
            offset_ns: self.bounds.middle_ns(),
            error_ns: self.bounds.error_ns(),
        }
    }

    pub(super) fn leads(&self) -> bool {
        self.group.by_host().iter().any(|ranks| ranks.first() == Some(&self.group.mpi.rank()))
    }

    /// Nothing where the lab wants no trial after all.
    fn spec(&self) -> Result<Option<TrialSpec>, RanksError> {
        let lane = self.group.mpi.rank() as u32;
        Ok(match self.words.shared(&self.group)? {
            ToRanks::Trial { spec } => Some(TrialSpec { lane, ..*spec }),
            _ => None,
        })
    }

    /// Until all lanes have ended, or one of them cannot go on.
    fn measure(&self, lane: &mut Lane, spec: &TrialSpec) -> Result<Step, RanksError> {
        // A phase takes what it takes, and a lane may stand by while another one works.
        let waits_for_the_living = is_of_phases(spec);
        let runs_programs = matches!(&*spec.workload.name, "command" | "fio");
        let mut standstill = Standstill::new(self.group.patience, runs_programs);
        loop {
            standstill.begin();
            let (words, is_first) = (self.words, self.group.is_first());
            let mut own = |others_came: bool| {
                if others_came {
                    lane.tell_others_wait();
                }
                let mut at_once = |line| {
                    if is_first {
                        words.tell(&FromRanks::Said { lane: 0, line });
                    }
                };
                let step = lane.step(&mut at_once);
                let may_stand = step.is_none() && waits_for_the_living;
                let process = lane.process().filter(|_| may_stand);
                let stands = process.and_then(|process| standstill.why(process));
                stands.map(|why| lane.fail(why)).or(step)
            };
            match meet(&self.group, waits_for_the_living, &mut own)? {
                Step::Ready => {
                    self.hand_on(&lane.take_words())?;
                    self.words.hear()?;
                    self.appointment()?;
                    lane.say_go();
                }
                Step::AtGate => {
                    self.appointment()?;
                    lane.pass();
                }
                Step::Cold => {
                    self.cool(spec)?;
                    if is_first {
                        lane.say_go();
                    }
                }
                end @ (Step::Ended | Step::Broken) => return Ok(end),
            }
        }
    }

    fn appointment(&self) -> Result<(), RanksError> {
        let at_ns = agree(&self.group, self.bounds, &now_ns)?;
        MonotonicClock.wait_until(at_ns, 0);
        Ok(())
    }

    /// The caches of each host, once, as far as that was consented to.
    fn cool(&self, spec: &TrialSpec) -> Result<(), RanksError> {
        if !spec.drop_caches || !self.leads() {
            return Ok(());
        }
        drop_caches(Caches::Both).map_err(|error| RanksError::Told(error.to_string()))
    }

    /// What the lanes said, to the lab: one lane after another, so that rank 0 holds one at most.
    fn hand_on(&self, said: &[WorkerMessage]) -> Result<(), RanksError> {
        let (words, said) = (self.words, said.iter().flat_map(serde_json::to_string));
        let said: Vec<String> = said.collect();
        self.group.gather(said.join("\n").into_bytes(), &mut |rank, bytes| {
            each_line(rank, &bytes, &mut |said| words.tell(said));
            Ok(())
        })
    }

    /// All are there, whatever each one was doing.
    pub(super) fn together(&self) -> Result<(), RanksError> {
        self.group.most(0, Wait::Asleep).map(drop)
    }
}

pub(super) fn each_line(rank: usize, bytes: &[u8], tell: &mut dyn FnMut(&FromRanks)) {
    for line in String::from_utf8_lossy(bytes).lines() {
        tell(&FromRanks::Said { lane: rank as u32, line: line.into() });
    }
}

fn unsettled(host: &str, settled: SettleRecord) -> String {
    format!(
        "{host} was not quiet before the trial: {} still dirty after {:.0} s",
        bytes_text(settled.dirty_bytes),
        settled.waited_s
    )
}

fn is_of_phases(spec: &TrialSpec) -> bool {
    let length = || {
        let workload = pickfs_workload::find(&spec.workload.name).ok()?;
        let params = workload.validate(&spec.workload.params).ok()?;
        Some((workload.length)(&params).is_work())
    };
    length().unwrap_or(false)
}

/// Its times as rank 0's clock has them.
fn put_on_first_clock(message: &mut WorkerMessage, bounds: Bounds) {
    let shift = |time_ns: &mut u64| *time_ns = bounds.first_ns(mem::take(time_ns));
    match message {
        WorkerMessage::Op(op) => {
            for spike in &mut op.spikes {
                let (due, start, end) = (&mut spike.due_ns, &mut spike.start_ns, &mut spike.end_ns);
                [due, start, end].into_iter().for_each(shift);
            }
        }
        WorkerMessage::Phase(phase) => {
            [&mut phase.began_ns, &mut phase.ended_ns].into_iter().for_each(shift);
        }
        WorkerMessage::Load(load) => shift(&mut load.began_ns),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use pickfs_record::{OpRecord, Operation, PhaseRecord, record::LoadRecord};

    use super::*;

    #[test]
    fn a_host_that_was_not_quiet_is_named() {
        let settled = SettleRecord {
            timed_out: true,
            dirty_bytes: 12 << 20,
            waited_s: 10.2,
            ..Default::default()
        };
        let text = unsettled("h2", settled);
        assert_eq!(text, "h2 was not quiet before the trial: 12 MiB still dirty after 10 s");
    }

    #[test]
    fn times_leave_a_rank_as_the_first_clock_has_them_and_nothing_else_changes() {
        let bounds = Bounds { min_ns: -1_010, max_ns: -990 };
        let shifted = |mut message: WorkerMessage| {
            put_on_first_clock(&mut message, bounds);
            message
        };
        let load = |began_ns| {
            WorkerMessage::Load(LoadRecord { began_ns, arrivals: 7, ..Default::default() })
        };
        assert_eq!(shifted(load(5_000)), load(4_000));
        let op = |by: u64| {
            let spike = Operation {
                due_ns: 2_000 + by,
                start_ns: 3_000 + by,
                end_ns: 4_000 + by,
                ..Default::default()
            };
            WorkerMessage::Op(Box::new(OpRecord { spikes: vec![spike], ..OpRecord::default() }))
        };
        assert_eq!(shifted(op(1_000)), op(0));
        let phase = |by: u64| {
            let named = PhaseRecord::named("write");
            let (began_ns, ended_ns) = (6_000 + by, 7_000 + by);
            WorkerMessage::Phase(Box::new(PhaseRecord { began_ns, ended_ns, ..named }))
        };
        assert_eq!(shifted(phase(1_000)), phase(0));
        assert_eq!(shifted(WorkerMessage::Finished), WorkerMessage::Finished);
    }
}
