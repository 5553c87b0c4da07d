//! Which processors `--cpus` should name here: isolated ones measure (isolcpus, nohz_full), near to the
//! device where one is named.

use std::{fs, path::Path};

use pickfs_record::{
    Cpus,
    cpus::{list_text, read_list},
    diagnosis::Need,
};
use pickfs_sys::block::BlockDevice;

#[derive(Debug, Default)]
struct Known {
    online: Vec<u32>,
    isolated: Vec<u32>,
    tickless: Vec<u32>,
    near: Vec<u32>,
}

pub(crate) fn need(device: Option<&Path>) -> Need {
    let known = Known::read(Path::new("/sys"), device);
    Need { what: "isolated CPUs".into(), met: !known.isolated.is_empty(), text: known.text(device) }
}

impl Known {
    fn read(sys: &Path, device: Option<&Path>) -> Known {
        let list = |path: &str| {
            let text = fs::read_to_string(sys.join("devices/system").join(path));
            read_list(&text.unwrap_or_default())
        };
        let near = device.and_then(node_of);
        Known {
            online: list("cpu/online"),
            isolated: list("cpu/isolated"),
            tickless: list("cpu/nohz_full"),
            near: near.map(|node| list(&format!("node/node{node}/cpulist"))).unwrap_or_default(),
        }
    }

    /// Isolated ones near the device measure, else isolated ones, else the last near it, else the last.
    fn proposal(&self) -> Option<Cpus> {
        let is_near = |cpu: &&u32| self.near.is_empty() || self.near.contains(cpu);
        let near = |list: &[u32]| -> Vec<u32> { list.iter().filter(is_near).copied().collect() };
        let plain: Vec<u32> =
            self.online.iter().filter(|cpu| !self.isolated.contains(cpu)).copied().collect();
        let last = |list: Vec<u32>| list.last().map(|cpu| vec![*cpu]).unwrap_or_default();
        let choices =
            [near(&self.isolated), self.isolated.clone(), last(near(&plain)), last(plain.clone())];
        let measure = choices.into_iter().find(|list| !list.is_empty())?;
        let free: Vec<u32> = plain.into_iter().filter(|cpu| !measure.contains(cpu)).collect();
        let near = near(&free);
        let help = if near.is_empty() { free } else { near };
        let help: Vec<u32> = help.into_iter().take(2).collect();
        (!help.is_empty()).then_some(Cpus { measure, help })
    }

    fn text(&self, device: Option<&Path>) -> String {
        let Some(proposal) = self.proposal() else {
            return "one processor measures and helps; there is none to isolate".into();
        };
        let near = match device {
            Some(device) if !self.near.is_empty() => {
                format!("near {}: {}; ", device.display(), list_text(&self.near))
            }
            Some(device) => format!("{} is as near to each processor; ", device.display()),
            None => String::new(),
        };
        if self.isolated.is_empty() {
            return format!(
                "{near}keep the scheduler and its tick off what measures: boot with isolcpus={0} \
                 nohz_full={0}; use --cpus {proposal}",
                list_text(&proposal.measure)
            );
        }
        let ticks = proposal.measure.iter().filter(|cpu| !self.tickless.contains(cpu)).count();
        let ticks = if ticks == 0 { "" } else { " (they tick: nohz_full would stop that)" };
        format!("{near}isolated: {}{ticks}; use --cpus {proposal}", list_text(&self.isolated))
    }
}

/// The NUMA node of the disk under a device; none where there is one node.
fn node_of(device: &Path) -> Option<u32> {
    let disk = fs::canonicalize(BlockDevice::at(device).ok()?.disk_sysfs()).ok()?;
    let mut folders = disk.ancestors();
    let text = folders.find_map(|folder| fs::read_to_string(folder.join("numa_node")).ok())?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(isolated: &str, near: &str) -> String {
        let known = Known {
            online: read_list("0-7"),
            isolated: read_list(isolated),
            tickless: read_list(isolated),
            near: read_list(near),
        };
        known.proposal().expect("eight processors").to_string()
    }

    #[test]
    fn isolated_ones_measure_and_those_near_the_device_first() {
        assert_eq!(proposed("2-3,6-7", "4-7"), "measure=6-7,help=4-5");
        assert_eq!(proposed("2-3", "4-7"), "measure=2-3,help=4-5");
        assert_eq!(proposed("", "0-3"), "measure=3,help=0-1");
        assert_eq!(proposed("", ""), "measure=7,help=0-1");
    }

    #[test]
    fn the_kernels_lists_are_read_and_one_processor_is_not_split() {
        let sys = tempfile::tempdir().expect("a folder");
        let folder = sys.path().join("devices/system/cpu");
        fs::create_dir_all(&folder).expect("made");
        for (name, text) in [("online", "0-3\n"), ("isolated", "2-3\n"), ("nohz_full", "(null)\n")]
        {
            fs::write(folder.join(name), text).expect("written");
        }
        let text = Known::read(sys.path(), None).text(None);
        assert_eq!(
            text,
            "isolated: 2-3 (they tick: nohz_full would stop that); use --cpus measure=2-3,help=0-1"
        );
        fs::write(folder.join("online"), "0\n").expect("written");
        fs::write(folder.join("isolated"), "\n").expect("written");
        assert!(Known::read(sys.path(), None).text(None).starts_with("one processor"));
    }
}
