//! Where threads run.

use std::{io, sync::OnceLock};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::fault::Fault;

/// The CPUs that the process was given, before any of its threads was pinned.
static GIVEN: OnceLock<Option<CpuSet>> = OnceLock::new();

/// Pins the calling thread to one CPU, or lets it run where the process was allowed to when it
/// started. Threads that it starts later inherit this.
pub fn pin(cpu: Option<u32>) -> Result<(), Fault> {
    let given = GIVEN.get_or_init(|| sched_getaffinity(None).ok());
    let Some(cpu) = cpu else {
        let restored = given.as_ref().map_or(Ok(()), |cpus| sched_setaffinity(None, cpus));
        return restored.map_err(|error| refused("any CPU", error.into()));
    };
    let mut cpus = CpuSet::new();
    if cpu as usize >= CpuSet::MAX_CPU {
        return Err(refused(&format!("CPU {cpu}"), io::ErrorKind::InvalidInput.into()));
    }
    cpus.set(cpu as usize);
    sched_setaffinity(None, &cpus).map_err(|error| refused(&format!("CPU {cpu}"), error.into()))
}

fn refused(cpu: &str, source: io::Error) -> Fault {
    Fault::Failed { reason: format!("cannot pin a thread to {cpu}: {source}; choose another") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let error = pin(Some(1_000_000)).unwrap_err();
        assert!(error.to_string().contains("CPU 1000000"), "{error}");
    }

    #[test]
    fn a_pin_can_be_taken_back() {
        let before = sched_getaffinity(None).unwrap();
        pin(Some(0)).unwrap();
        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
        pin(None).unwrap();
        assert_eq!(sched_getaffinity(None).unwrap().count(), before.count());
    }
}
