use std::sync::OnceLock;

use pickfs_sys::affinity::{allowed_processors, pin_to, set_real_time};

use crate::{
    fault::Fault,
    param::{Param, Resolved},
};

pub const THREAD_POLICY: Param = param! { "thread_policy" = Text("normal"),
Words(|| vec!["normal", "fifo"]);
"rank of the measuring thread: as any other, or SCHED_FIFO (needs consent and privilege)" };

pub const NODES: Param = param! { "nodes" = Text("roundrobin"),
Words(|| vec!["none", "roundrobin"]);
"memory nodes: lanes take them in turn, each with processors and memory of one, or none is \
 placed; without effect on a machine with one node, for one lane, and with --cpus" };

/// Lowest real-time priority: enough to come before every ordinary thread.
const REAL_TIME_PRIORITY: u8 = 1;

/// The CPUs that the process was given, before any of its threads was pinned.
static GIVEN: OnceLock<Vec<u32>> = OnceLock::new();

/// Pins the calling thread to one CPU, or lets it run where the process was allowed to when it
/// started. Threads that it starts later inherit this.
pub fn pin(cpu: Option<u32>) -> Result<(), Fault> {
    let given = given();
    let pinned = match cpu {
        Some(cpu) => pin_to(&[cpu]),
        None if given.is_empty() => Ok(()),
        None => pin_to(given),
    };
    pinned.map_err(|error| Fault::Failed { reason: error.to_string() })
}

fn given() -> &'static [u32] {
    GIVEN.get_or_init(|| allowed_processors().unwrap_or_default())
}

pub fn count() -> usize {
    given().len().max(1)
}

/// A CPU that is none of these, if the process was given one.
pub fn spare(taken: [Option<u32>; 2]) -> Option<u32> {
    given().iter().copied().rev().find(|cpu| !taken.contains(&Some(*cpu)))
}

pub fn rank(params: &Resolved) -> Result<(), Fault> {
    if params.text(THREAD_POLICY.name) != "fifo" {
        return Ok(());
    }
    let ranked = set_real_time(REAL_TIME_PRIORITY);
    ranked.map_err(|error| Fault::Skipped { reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let error = pin(Some(1_000_000)).unwrap_err();
        assert!(error.to_string().contains("1000000"), "{error}");
    }

    #[test]
    fn a_pin_can_be_taken_back() {
        let before = allowed_processors().unwrap();
        pin(Some(before[0])).unwrap();
        assert_eq!(allowed_processors().unwrap(), [before[0]]);
        pin(None).unwrap();
        assert_eq!(allowed_processors().unwrap(), before);
    }
}
