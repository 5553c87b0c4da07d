//! Who measured, where the lanes of a run were ranks.

use pickfs_record::{
    RunRecord,
    quantity::{counted, duration_text},
    record::HostShare,
};

/// Of all its trials: the latest start, the loosest clock.
pub(crate) fn line(run: &RunRecord) -> Option<String> {
    let trials = || run.trials.iter().filter(|trial| !trial.hosts.is_empty());
    let last = trials().next_back()?;
    let worst = |of: fn(&HostShare) -> u64| {
        duration_text(trials().flat_map(|t| &t.hosts).map(of).max().unwrap_or(0) as f64)
    };
    let ranks = last.hosts.iter().map(|host| u64::from(host.ranks)).sum();
    let fact = |key| last.environment.get(key).unwrap_or("MPI");
    let read = trials().filter_map(|trial| trial.counts.get("records_read_elsewhere")).sum::<f64>();
    let read = match read {
        0.0 => String::new(),
        read => format!("; {} read on another host", counted(read as u64, "record")),
    };
    Some(format!(
        "{} on {} by {} ({}); starts {} apart at most, clocks known to {}; the folder is one, proved{read}",
        counted(ranks, "rank"),
        counted(last.hosts.len() as u64, "host"),
        fact("ranks.launcher"),
        fact("ranks.mpi"),
        worst(|host| host.start_skew_ns),
        worst(HostShare::clock_error_ns),
    ))
}

#[cfg(test)]
mod tests {
    use pickfs_testkit::{FakeRun, fake_run};

    use super::*;

    #[test]
    fn the_first_screen_says_who_measured_in_one_line() {
        let mut run = fake_run(&FakeRun::default());
        assert_eq!(line(&run), None);
        let host = |name: &str, ranks| HostShare { name: name.into(), ranks, ..Default::default() };
        let trial = &mut run.trials[3];
        trial.hosts = vec![host("h1", 2), host("h2", 1)];
        trial.hosts[1].start_skew_ns = 90_000;
        trial.hosts[1].offset_ns_max = 8_000;
        trial.counts.insert("records_read_elsewhere".into(), 120.0);
        trial.environment.put("ranks.launcher", "mpirun");
        trial.environment.put("ranks.mpi", "Open MPI v4.1.4");
        assert_eq!(
            line(&run).as_deref(),
            Some(
                "3 ranks on 2 hosts by mpirun (Open MPI v4.1.4); starts 90.0 us apart at most, clocks known to 4.00 us; \
                 the folder is one, proved; 120 records read on another host"
            )
        );
    }
}
