use std::path::Path;

use pickfs_candidate::{Availability, fs};
use pickfs_record::{
    Diagnosis,
    diagnosis::{ClockDiagnosis, FileSystemDiagnosis, Need},
    typed::program,
};
use pickfs_record::{MonotonicClock, watch_gaps};

use crate::{
    engines::{NATIVE, engines},
    environment,
    placement::Placement,
    processors,
};

/// Looks at everything; takes as long as the noise is watched.
pub fn diagnose(watch_s: f64, device: Option<&Path>) -> Diagnosis {
    let mut packages = Vec::new();
    let rows = fs::FILE_SYSTEMS.iter();
    let file_systems = rows.map(|row| file_system(row, &mut packages)).collect();
    packages.sort();
    packages.dedup();
    Diagnosis {
        environment: environment::capture(),
        file_systems,
        needs: needs(device),
        clock: clock(watch_s),
        packages,
    }
}

fn file_system(row: &fs::FileSystem, packages: &mut Vec<String>) -> FileSystemDiagnosis {
    let (ready, reason, remedy) = match pickfs_candidate::availability::of(row) {
        Availability::Ready => (true, String::new(), String::new()),
        Availability::Missing(missing) => {
            packages.extend(missing.packages.iter().map(|package| (*package).to_owned()));
            (false, missing.reason, missing.remedy)
        }
    };
    let (name, origin) = (row.name.to_owned(), row.origin.to_owned());
    let (route, route_needs) =
        if ready { (NATIVE.into(), String::new()) } else { guest_route(row) };
    let remedy = if route.is_empty() { remedy + &buildable(row) } else { remedy };
    FileSystemDiagnosis { name, origin, ready, reason, remedy, route, route_needs }
}

fn guest_route(row: &fs::FileSystem) -> (String, String) {
    let Some(engines) = engines() else { return Default::default() };
    let first = engines.names().iter().find(|name| engines.gap(row, name).is_none());
    first.map(|name| ((*name).into(), engines.missing(row).join(", "))).unwrap_or_default()
}

fn buildable(row: &fs::FileSystem) -> String {
    match engines().is_some_and(|engines| engines.is_buildable(row)) {
        true => {
            let (program, name) = (program(), row.name);
            format!("; or in a guest: {program} doctor --guests --fs {name} --build-modules")
        }
        false => String::new(),
    }
}

fn needs(device: Option<&Path>) -> Vec<Need> {
    let program = |name: &str| pickfs_candidate::availability::find_program(name).is_some();
    let need =
        |what: &str, met: bool, text: &str| Need { what: what.into(), met, text: text.into() };
    let cpus = Placement::choose(None).measuring.is_some();
    vec![
        need(
            "root",
            rustix::process::geteuid().is_root(),
            "makes and mounts file systems; without it: --dir DIR",
        ),
        need(
            "loop devices",
            Path::new("/dev/loop-control").exists(),
            "carry the image; without them: --device NODE or --dir DIR",
        ),
        need("FUSE", Path::new("/dev/fuse").exists(), "serves ntfs-3g and zfs-fuse"),
        need("blkid", program("blkid"), "reads signatures before a device is touched: util-linux"),
        need(
            "two CPUs",
            cpus,
            "one measures, one helps; on a single CPU tails are the scheduler's",
        ),
        processors::need(device),
    ]
}

fn clock(watch_s: f64) -> ClockDiagnosis {
    let gaps = watch_gaps(&MonotonicClock, (watch_s * 1e9) as u64);
    let watched_s = gaps.watched_ns as f64 / 1e9;
    ClockDiagnosis {
        read_ns: gaps.read_ns(),
        step_ns: gaps.step_ns_min,
        watched_s,
        gaps_per_s: gaps.count as f64 / watched_s,
        gap_ns_max: gaps.ns_max,
        gap_share: gaps.ns_sum as f64 / gaps.watched_ns.max(1) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_ready_or_has_a_remedy() {
        let diagnosis = diagnose(0.01, None);
        assert_eq!(diagnosis.file_systems.len(), fs::FILE_SYSTEMS.len());
        for row in &diagnosis.file_systems {
            assert_eq!(row.ready, row.remedy.is_empty(), "{row:?}");
            assert_eq!(row.ready, row.route == NATIVE, "{row:?}");
        }
        assert!(diagnosis.clock.read_ns > 1.0);
    }
}
