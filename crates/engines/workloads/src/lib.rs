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

static WORKLOADS: &[Workload] = &[queue::WORKLOAD, fix::WORKLOAD, pair::WORKLOAD];

pub fn add() {
    pickfs_workload::add(WORKLOADS);
}
