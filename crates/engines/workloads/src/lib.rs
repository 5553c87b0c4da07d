//! The engines as workloads of pickfs: the one place where both know each other. A program that calls [`add`] has them.

#![cfg_attr(test, allow(clippy::unwrap_used))]

#[macro_use(param)]
extern crate pickfs_workload;

mod fix;
mod followers;
mod hosts;
mod pair;
mod pattern;
mod queue;

use pickfs_workload::Workload;
use pickfs_workload::drive::Due;

fn cpu(cpu: Option<u32>) -> String {
    cpu.map_or("any CPU".into(), |cpu| format!("CPU {cpu}"))
}

/// 1 for an arrival that began so long after it was due that it counts as late: twice what an operation over an idle machine takes.
#[inline]
fn late(arrival: &Due) -> u64 {
    u64::from(arrival.start_ns - arrival.due_ns > 1_000)
}

static WORKLOADS: &[Workload] = &[queue::WORKLOAD, fix::WORKLOAD, pair::WORKLOAD];

pub fn add() {
    pickfs_workload::add(WORKLOADS);
}
