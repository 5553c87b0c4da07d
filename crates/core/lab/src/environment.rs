use pickfs_analysis::clock::{READ_KEY, STEP_KEY};
use pickfs_record::{Environment, MonotonicClock, environment::MACHINE_KEY, watch_gaps};
use pickfs_sys::cgroup::CgroupLimits;
use pickfs_sys::cpu::{number_list, online};
use pickfs_sys::tunables::{chosen_word, names_in, text_if_any};
use pickfs_sys::vm_state::Memory;
use std::collections::BTreeSet;
use std::path::Path;

use crate::origin;

const CLOCK_WATCHED_NS: u64 = 2_000_000;
const CPU: &str = "/sys/devices/system/cpu";

/// Files that hold one fact; of several words, the one in brackets.
const TOLD: &[(&str, &str)] = &[
    ("clock.source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("cpu.frequency_driver", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"),
    ("host.boot_id", "/proc/sys/kernel/random/boot_id"),
    ("memory.huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("memory.same_page_merging", "/sys/kernel/mm/ksm/run"),
    ("memory.swappiness", "/proc/sys/vm/swappiness"),
    ("memory.tmpfs_huge_pages", "/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
    ("numa.balancing", "/proc/sys/kernel/numa_balancing"),
    ("period.xfs_log_centiseconds", "/proc/sys/fs/xfs/xfssyncd_centisecs"),
    ("vm.background_bytes", "/proc/sys/vm/dirty_background_bytes"),
    ("vm.background_percent", "/proc/sys/vm/dirty_background_ratio"),
    ("vm.dirty_bytes", "/proc/sys/vm/dirty_bytes"),
    ("vm.dirty_expire_centiseconds", "/proc/sys/vm/dirty_expire_centisecs"),
    ("vm.dirty_percent", "/proc/sys/vm/dirty_ratio"),
    ("vm.dirty_writeback_centiseconds", "/proc/sys/vm/dirty_writeback_centisecs"),
];

/// What Linux does not say here, or not to us, is left out. Root sees a little more.
pub fn capture() -> Environment {
    let mut environment = Environment::default();
    for (key, path) in TOLD {
        environment.put(key, chosen_word(&text_if_any(path).unwrap_or_default()));
    }
    put_kernel(&mut environment);
    put_cpu(&mut environment);
    put_memory(&mut environment);
    put_cgroup(&mut environment);
    let user = if rustix::process::geteuid().is_root() { "root" } else { "not root" };
    environment.put("limits.user", user);
    environment
}

fn put_kernel(environment: &mut Environment) {
    let names = rustix::system::uname();
    let version = names.version().to_string_lossy();
    environment.put("kernel.release", names.release().to_string_lossy());
    environment.put("kernel.version", &version);
    environment.put("kernel.machine", names.machine().to_string_lossy());
    put_some(environment, "kernel.command_line", text_if_any("/proc/cmdline"));
    put_some(environment, "kernel.preemption", preemption(&version));
    let distribution = text_if_any("/etc/os-release");
    put_some(environment, "os.name", distribution.as_deref().and_then(pretty_name));
    let maker = text_if_any("/sys/class/dmi/id/sys_vendor");
    let name = text_if_any("/sys/class/dmi/id/product_name")
        .or_else(|| text_if_any("/proc/device-tree/model"));
    let words: Vec<_> = [maker, name].into_iter().flatten().collect();
    environment.put("host.product", words.join(" ").trim_end_matches('\0'));
    put_some(environment, MACHINE_KEY, origin::host());
}

/// `none`, `voluntary`, `full`, `lazy`: the choice in `none voluntary (full)`; or `PREEMPT_DYNAMIC`, `PREEMPT_RT`,
/// `PREEMPT` by the version where debugfs is closed.
fn preemption(version: &str) -> Option<String> {
    let exact = text_if_any("/sys/kernel/debug/sched/preempt").map(|text| {
        let inside = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        inside.map_or(chosen_word(&text), |(word, _)| word).to_owned()
    });
    let words = || version.split_whitespace().find(|word| word.starts_with("PREEMPT"));
    exact.or_else(|| words().map(str::to_owned))
}

fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches('"').to_owned())
}

fn put_cpu(environment: &mut Environment) {
    let info = text_if_any("/proc/cpuinfo").unwrap_or_default();
    let flags: Vec<_> = field(&info, "flags").unwrap_or_default().split_whitespace().collect();
    let invariant = ["constant_tsc", "nonstop_tsc"].iter().all(|name| flags.contains(name));
    environment.put("cpu.invariant_tsc", invariant);
    // What a virtual machine calls itself: `KVM`, `xen`, ...; absent on bare metal or unknown.
    let unnamed = || flags.contains(&"hypervisor").then(|| "unnamed".to_owned());
    let hypervisor = text_if_any("/sys/hypervisor/type").or_else(unnamed);
    put_some(environment, "host.hypervisor", hypervisor);
    // x86 says `model name`, POWER `cpu`, s390 and others say something else or nothing.
    let models = ["model name", "cpu", "Processor", "uarch"];
    put_some(environment, "cpu.model", models.iter().find_map(|name| field(&info, name)));
    environment.put("cpu.online", online().map_or(1, |numbers| numbers.len().max(1)));
    environment
        .put("cpu.sockets", fields(&info, "physical id").collect::<BTreeSet<_>>().len().max(1));
    let cpu = Path::new(CPU);
    let siblings = text_if_any(cpu.join("cpu0/topology/thread_siblings_list"));
    put_some(environment, "cpu.threads_per_core", siblings.map(|list| number_list(&list).len()));
    let clock = watch_gaps(&MonotonicClock, CLOCK_WATCHED_NS);
    environment.put(READ_KEY, format!("{:.1}", clock.read_ns()));
    environment.put(STEP_KEY, clock.step_ns_min);
    let governor = |name: String| text_if_any(cpu.join(name).join("cpufreq/scaling_governor"));
    let governors: BTreeSet<_> = names_in(cpu).into_iter().filter_map(governor).collect();
    environment.put("cpu.governor", Vec::from_iter(governors).join(" "));
    let governor = ["current_governor", "current_governor_ro"];
    let governor = governor.iter().find_map(|name| text_if_any(cpu.join("cpuidle").join(name)));
    let driver = text_if_any(cpu.join("cpuidle/current_driver")).map(|driver| {
        let words: Vec<_> = [driver].into_iter().chain(governor).collect();
        words.join("/")
    });
    put_some(environment, "cpu.idle_driver", driver);
    let states = cpu.join("cpu0/cpuidle");
    let idle_state = |state: String| {
        let text = |name| text_if_any(states.join(&state).join(name));
        let is_on = text("disable").is_none_or(|off| off == "0");
        is_on.then_some(format!("{}:{}us", text("name")?, text("latency")?))
    };
    let idle_states: Vec<_> = names_in(&states).into_iter().filter_map(idle_state).collect();
    environment.put("cpu.idle_states", idle_states.join(" "));
    for name in names_in(&cpu.join("vulnerabilities")) {
        let state = text_if_any(cpu.join("vulnerabilities").join(&name));
        put_some(environment, &format!("mitigation.{name}"), state);
    }
    let load = text_if_any("/proc/loadavg").unwrap_or_default();
    let load: Vec<_> =
        load.split(' ').take(3).filter_map(|word| word.parse::<f64>().ok()).collect();
    environment
        .put("cpu.load_at_start", load.iter().map(f64::to_string).collect::<Vec<_>>().join(" "));
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    fields(info, name).next()
}

/// Of /proc/cpuinfo, one for each processor.
fn fields<'a>(info: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let split = info.lines().filter_map(|line| line.split_once(':'));
    split.filter(move |(found, _)| found.trim() == name).map(|(_, value)| value.trim())
}

fn put_memory(environment: &mut Environment) {
    if let Ok(memory) = Memory::now() {
        environment.put("memory.total_bytes", memory.total_bytes);
        environment.put("memory.available_at_start_bytes", memory.available_bytes);
        environment.put("memory.swap_bytes", memory.swap_total_bytes);
    }
    let nodes = Path::new("/sys/devices/system/node");
    let is_node = |name: &&String| nodes.join(name).join("meminfo").exists();
    environment.put("numa.nodes", names_in(nodes).iter().filter(is_node).count().max(1));
    put_damon(
        environment,
        Path::new("/sys/kernel/mm/damon/admin/kdamonds"),
        Path::new("/sys/module"),
    );
}

/// A scheme that pages out "cold" memory makes a hot file cold; a report must name it.
fn put_damon(environment: &mut Environment, threads: &Path, modules: &Path) {
    for name in names_in(threads) {
        let Some(state) = text_if_any(threads.join(&name).join("state")) else { continue };
        let mut words = vec![state];
        let contexts = threads.join(&name).join("contexts");
        for context in names_in(&contexts) {
            let schemes = contexts.join(context).join("schemes");
            let action = |name: String| text_if_any(schemes.join(name).join("action"));
            words.extend(names_in(&schemes).into_iter().filter_map(action));
        }
        environment.put(&format!("memory.damon.kdamond {name}"), words.join(" "));
    }
    for name in ["damon_reclaim", "damon_lru_sort", "damon_stat"] {
        let state = text_if_any(modules.join(name).join("parameters/enabled"));
        put_some(environment, &format!("memory.damon.{name}"), state);
    }
}

fn put_cgroup(environment: &mut Environment) {
    let limits = CgroupLimits::of_self();
    environment.put("cgroup.version", limits.version);
    put_some(environment, "cgroup.memory_bytes_max", limits.memory_bytes_max);
    put_some(environment, "cgroup.cpus_max", limits.processors_max);
    environment.put("cgroup.io_limits", limits.io_limits.join("; "));
}

fn put_some(environment: &mut Environment, key: &str, value: Option<impl ToString>) {
    if let Some(value) = value {
        environment.put(key, value);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_every_linux_tells_is_there() {
        let environment = capture();
        for key in
            ["kernel.release", "cpu.online", "memory.total_bytes", "vm.dirty_expire_centiseconds"]
        {
            assert!(environment.get(key).is_some(), "{key} is absent");
        }
        for key in [READ_KEY, STEP_KEY] {
            let ns = environment.get(key).and_then(|text| text.parse::<f64>().ok());
            assert!(ns.is_some_and(|ns| (1.0..1e6).contains(&ns)), "{key}: {ns:?}");
        }
    }

    #[test]
    fn damon_threads_and_modules_are_found_with_what_they_do() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for (path, text) in [
            ("0/state", "on\n"),
            ("0/contexts/0/schemes/0/action", "pageout\n"),
            ("nr_kdamonds", "1\n"),
            ("damon_reclaim/parameters/enabled", "Y\n"),
        ] {
            fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
            fs::write(folder.join(path), text).unwrap();
        }
        let mut environment = Environment::default();
        put_damon(&mut environment, folder, folder);
        assert_eq!(environment.0.len(), 2);
        assert_eq!(environment.get("memory.damon.kdamond 0"), Some("on pageout"));
        assert_eq!(environment.get("memory.damon.damon_reclaim"), Some("Y"));
    }

    #[test]
    fn a_text_is_read_as_its_kernel_writes_it() {
        let text = "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n";
        assert_eq!(pretty_name(text).as_deref(), Some("Debian GNU/Linux 13 (trixie)"));
        let info = "processor\t: 0\nmodel name\t: Fast 9000\n\nprocessor\t: 1\nphysical id\t: 1\n";
        assert_eq!(
            (field(info, "model name"), fields(info, "processor").count()),
            (Some("Fast 9000"), 2)
        );
    }
}
