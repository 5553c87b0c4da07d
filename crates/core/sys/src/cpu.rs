use crate::tunables::{names_in, number_if_any, text_if_any};
use std::collections::BTreeSet;
use std::path::Path;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuFacts {
    pub model: Option<String>,
    /// Of the first processor.
    pub flags: Vec<String>,
    pub online_count: usize,
    /// 1 where the kernel does not say.
    pub socket_count: usize,
    /// By the first processor.
    pub threads_per_core: Option<usize>,
    /// Behind CLOCK_MONOTONIC: `tsc`, `kvm-clock`.
    pub clock_source: Option<String>,
    /// Each once; empty where there is no frequency control.
    pub governors: Vec<String>,
    pub frequency_driver: Option<String>,
    /// `intel_idle/menu`
    pub idle_driver: Option<String>,
    /// Of the first processor.
    pub idle_states: Vec<IdleState>,
    /// `(meltdown, Mitigation: PTI)`
    pub mitigations: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    pub name: String,
    pub exit_latency_us: u64,
    pub is_disabled: bool,
}

impl CpuFacts {
    pub fn now() -> Self {
        let system = Path::new("/sys/devices/system");
        let info = text_if_any("/proc/cpuinfo").unwrap_or_default();
        let siblings = text_if_any(system.join("cpu/cpu0/topology/thread_siblings_list"));
        Self {
            model: model(&info),
            flags: flags(&info),
            online_count: number_list(&text_if_any(system.join("cpu/online")).unwrap_or_default())
                .len()
                .max(1),
            socket_count: sockets(&info),
            threads_per_core: siblings.map(|list| number_list(&list).len()),
            clock_source: text_if_any(system.join("clocksource/clocksource0/current_clocksource")),
            governors: governors(&system.join("cpu")),
            frequency_driver: text_if_any(system.join("cpu/cpu0/cpufreq/scaling_driver")),
            idle_driver: idle_driver(&system.join("cpu/cpuidle")),
            idle_states: idle_states(&system.join("cpu/cpu0/cpuidle")),
            mitigations: mitigations(&system.join("cpu/vulnerabilities")),
        }
    }

    /// The time-stamp counter ticks at one rate and never stops.
    pub fn has_invariant_tsc(&self) -> bool {
        let has = |name: &str| self.flags.iter().any(|flag| flag == name);
        has("constant_tsc") && has("nonstop_tsc")
    }
}

/// Whether we may use them or not.
pub fn online() -> std::io::Result<Vec<u32>> {
    Ok(number_list(&std::fs::read_to_string("/sys/devices/system/cpu/online")?))
}

/// Numbers of a list as the kernel writes it: `0-2,5` is 0, 1, 2 and 5. What is not a number is left
/// out; no more than 65,536 are given.
pub fn number_list(text: &str) -> Vec<u32> {
    let ranges = text.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
    });
    ranges.flatten().take(65_536).collect()
}

fn fields<'a>(info: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let split = info.lines().filter_map(|line| line.split_once(':'));
    split.filter(move |(found, _)| found.trim() == name).map(|(_, value)| value.trim())
}

/// x86 says `model name`, POWER `cpu`, s390 and others say something else or nothing.
fn model(info: &str) -> Option<String> {
    let names = ["model name", "cpu", "Processor", "uarch"];
    names.iter().find_map(|name| fields(info, name).next()).map(str::to_owned)
}

fn flags(info: &str) -> Vec<String> {
    let line = fields(info, "flags").chain(fields(info, "Features")).next().unwrap_or_default();
    line.split_whitespace().map(str::to_owned).collect()
}

fn sockets(info: &str) -> usize {
    fields(info, "physical id").collect::<BTreeSet<_>>().len().max(1)
}

fn governors(folder: &Path) -> Vec<String> {
    let read = |name: String| text_if_any(folder.join(name).join("cpufreq/scaling_governor"));
    let found: BTreeSet<_> = names_in(folder).into_iter().filter_map(read).collect();
    found.into_iter().collect()
}

fn idle_driver(folder: &Path) -> Option<String> {
    let driver = text_if_any(folder.join("current_driver"))?;
    let governor = text_if_any(folder.join("current_governor"))
        .or_else(|| text_if_any(folder.join("current_governor_ro")));
    Some(governor.map_or(driver.clone(), |governor| format!("{driver}/{governor}")))
}

fn idle_states(folder: &Path) -> Vec<IdleState> {
    let read = |name: String| {
        let state = folder.join(name);
        Some(IdleState {
            name: text_if_any(state.join("name"))?,
            exit_latency_us: number_if_any(state.join("latency"))?,
            is_disabled: number_if_any::<u32>(state.join("disable")).is_some_and(|off| off != 0),
        })
    };
    names_in(folder).into_iter().filter_map(read).collect()
}

fn mitigations(folder: &Path) -> Vec<(String, String)> {
    let read = |name: String| Some((name.clone(), text_if_any(folder.join(name))?));
    names_in(folder).into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INFO: &str = "processor\t: 0\nmodel name\t: Fast 9000\nphysical id\t: 0\n\
        flags\t\t: fpu constant_tsc nonstop_tsc\n\nprocessor\t: 1\nphysical id\t: 1\n";

    #[test]
    fn model_flags_and_sockets_are_read() {
        assert_eq!(model(INFO).as_deref(), Some("Fast 9000"));
        assert_eq!(flags(INFO), ["fpu", "constant_tsc", "nonstop_tsc"]);
        assert_eq!((sockets(INFO), sockets("")), (2, 1));
    }

    #[test]
    fn number_lists_have_ranges_and_singles() {
        assert_eq!(number_list("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(number_list("3-1,x,7-"), [] as [u32; 0]);
        assert_eq!(number_list("0-4294967295").len(), 65_536);
    }

    #[test]
    fn the_running_machine_is_understood() {
        let facts = CpuFacts::now();
        assert!(facts.online_count >= 1 && facts.clock_source.is_some());
    }

    proptest! {
        #[test]
        fn no_list_makes_the_parser_panic(text in "[0-9,\\- x]{0,60}") {
            let _ = number_list(&text);
        }
    }
}
