//! The control group that we run in, and what it lets us have. Source:
//! `Documentation/admin-guide/cgroup-v2.rst` and `cgroup-v1/`.

use crate::mount;
use crate::mount_table::MountEntry;
use crate::tunables::text_if_any;
use std::path::{Path, PathBuf};

/// The tightest limits from our group up to the root. `None`: no limit found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CgroupLimits {
    /// `hybrid`: controllers hang on version 1, and version 2 is mounted beside.
    pub version: &'static str,
    pub memory_bytes_max: Option<u64>,
    /// Processors that we may use at once: 1.5 is one and a half.
    pub processors_max: Option<f64>,
    /// Limits on disks, as written: `8:0 rbps=max wbps=1048576 riops=max wiops=max`.
    pub io_limits: Vec<String>,
}

/// A limit at or above this is version 1's way to say none.
const NO_LIMIT_BYTES: u64 = 1 << 62;

impl CgroupLimits {
    pub fn of_self() -> Self {
        let table = mount::mounts().unwrap_or_default();
        let groups = text_if_any("/proc/self/cgroup").unwrap_or_default();
        read_limits(&table, &groups)
    }
}

/// Periods in which a quota stopped our group or one above it, since these were made.
pub fn throttled_periods() -> u64 {
    let table = mount::mounts().unwrap_or_default();
    count_throttled(&table, &text_if_any("/proc/self/cgroup").unwrap_or_default())
}

fn count_throttled(table: &[MountEntry], groups: &str) -> u64 {
    let groups = groups.lines().filter_map(parse_group);
    let folders = groups.flat_map(|(controllers, path)| folders(table, controllers, path));
    let count = |folder: PathBuf| {
        let text = text_if_any(folder.join("cpu.stat"))?;
        text.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse::<u64>().ok())
    };
    folders.filter_map(count).sum()
}

fn read_limits(table: &[MountEntry], groups: &str) -> CgroupLimits {
    let mut limits = CgroupLimits { version: version(table), ..CgroupLimits::default() };
    for (controllers, path) in groups.lines().filter_map(parse_group) {
        for folder in folders(table, controllers, path) {
            tighten(&mut limits, &folder);
        }
    }
    limits
}

fn version(table: &[MountEntry]) -> &'static str {
    let has = |fs_type: &str| table.iter().any(|entry| entry.fs_type == fs_type);
    match (has("cgroup"), has("cgroup2")) {
        (false, false) => "none",
        (true, false) => "v1",
        (true, true) => "hybrid",
        (false, true) => "v2",
    }
}

/// `4:memory:/jobs/one` or, for version 2, `0::/jobs/one`.
fn parse_group(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(':')?;
    rest.split_once(':')
}

/// The directories of a group and of all above it, in the hierarchy of its controllers.
fn folders(table: &[MountEntry], controllers: &str, path: &str) -> Vec<PathBuf> {
    let serves = |entry: &&MountEntry| match controllers {
        "" => entry.fs_type == "cgroup2",
        named => {
            entry.fs_type == "cgroup"
                && named.split(',').all(|name| entry.super_options.split(',').any(|o| o == name))
        }
    };
    let Some(top) = table.iter().find(serves) else { return Vec::new() };
    let below = Path::new(path);
    let below = below.strip_prefix(&top.root).unwrap_or(below);
    let below = below.strip_prefix("/").unwrap_or(below);
    below.ancestors().map(|part| top.mount_point.join(part)).collect()
}

fn tighten(limits: &mut CgroupLimits, folder: &Path) {
    for name in ["memory.max", "memory.high", "memory.limit_in_bytes"] {
        let found = text_if_any(folder.join(name)).and_then(|text| text.parse::<u64>().ok());
        let found = found.filter(|bytes| *bytes < NO_LIMIT_BYTES);
        limits.memory_bytes_max = [limits.memory_bytes_max, found].into_iter().flatten().min();
    }
    let quota = text_if_any(folder.join("cpu.max")).or_else(|| quota_of_version_1(folder));
    let found = quota.and_then(|text| processors(&text));
    limits.processors_max = match (limits.processors_max, found) {
        (Some(known), Some(found)) => Some(known.min(found)),
        (known, found) => known.or(found),
    };
    let io = text_if_any(folder.join("io.max")).unwrap_or_default();
    limits.io_limits.extend(io.lines().map(str::to_owned));
}

fn quota_of_version_1(folder: &Path) -> Option<String> {
    let quota = text_if_any(folder.join("cpu.cfs_quota_us"))?;
    Some(format!("{quota} {}", text_if_any(folder.join("cpu.cfs_period_us"))?))
}

/// `150000 100000`: so many microseconds of each so many; `max` and -1 are no limit.
fn processors(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.trim().parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mount_table;

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        let folder = tempfile::tempdir().unwrap();
        let group = folder.path().join("jobs/one");
        std::fs::create_dir_all(&group).unwrap();
        std::fs::write(group.join("memory.max"), "max\n").unwrap();
        std::fs::write(folder.path().join("jobs/memory.max"), "4096\n").unwrap();
        std::fs::write(group.join("cpu.max"), "150000 100000\n").unwrap();
        std::fs::write(group.join("io.max"), "8:0 wbps=1048576\n").unwrap();
        std::fs::write(group.join("cpu.stat"), "nr_periods 9\nnr_throttled 4\n").unwrap();
        let line = format!("1 0 0:5 / {} rw - cgroup2 cgroup2 rw", folder.path().display());
        let table = mount_table::parse(line.as_bytes()).unwrap();
        let limits = read_limits(&table, "0::/jobs/one\n");
        assert_eq!(count_throttled(&table, "0::/jobs/one\n"), 4);
        assert_eq!(limits.version, "v2");
        assert_eq!((limits.memory_bytes_max, limits.processors_max), (Some(4096), Some(1.5)));
        assert_eq!(limits.io_limits, ["8:0 wbps=1048576"]);
    }

    #[test]
    fn version_1_says_no_limit_by_a_huge_number_or_minus_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("memory.limit_in_bytes"), "9223372036854771712").unwrap();
        std::fs::write(folder.path().join("cpu.cfs_quota_us"), "-1").unwrap();
        std::fs::write(folder.path().join("cpu.cfs_period_us"), "100000").unwrap();
        let line =
            format!("1 0 0:5 / {} rw - cgroup cgroup rw,memory,cpu", folder.path().display());
        let table = mount_table::parse(line.as_bytes()).unwrap();
        let limits = read_limits(&table, "4:memory:/\n1:cpu:/\n");
        assert_eq!(limits.version, "v1");
        assert_eq!((limits.memory_bytes_max, limits.processors_max), (None, None));
    }
}
