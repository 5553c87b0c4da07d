use pickfs_analysis::clock::{READ_KEY, STEP_KEY};
use pickfs_record::{Environment, MonotonicClock, watch_gaps};
use pickfs_sys::{
    cgroup::CgroupLimits,
    cpu::CpuFacts,
    kernel::KernelFacts,
    memory_schemes::MemorySchemes,
    pressure,
    vm_state::{Memory, WritebackSettings},
};

const CLOCK_WATCHED_NS: u64 = 2_000_000;

pub fn capture() -> Environment {
    let mut environment = Environment::default();
    put_kernel(&mut environment);
    put_cpu(&mut environment);
    put_memory(&mut environment);
    put_writeback(&mut environment);
    put_cgroup(&mut environment);
    put_periods(&mut environment);
    environment
        .put("limits.user", if rustix::process::geteuid().is_root() { "root" } else { "not root" });
    environment
}

fn put_kernel(environment: &mut Environment) {
    let kernel = KernelFacts::now();
    environment.put("kernel.release", &kernel.release);
    environment.put("kernel.version", &kernel.version);
    environment.put("kernel.machine", &kernel.machine);
    put_some(environment, "kernel.command_line", kernel.command_line);
    put_some(environment, "kernel.preemption", kernel.preemption);
    put_some(environment, "os.name", kernel.distribution);
    put_some(environment, "host.hypervisor", kernel.hypervisor);
    put_some(environment, "host.product", kernel.product);
    put_some(environment, "host.boot_id", kernel.boot_id);
}

fn put_cpu(environment: &mut Environment) {
    let cpu = CpuFacts::now();
    environment.put("cpu.invariant_tsc", cpu.has_invariant_tsc());
    put_some(environment, "cpu.model", cpu.model);
    environment.put("cpu.online", cpu.online_count);
    environment.put("cpu.sockets", cpu.socket_count);
    put_some(environment, "cpu.threads_per_core", cpu.threads_per_core);
    put_some(environment, "clock.source", cpu.clock_source);
    let clock = watch_gaps(&MonotonicClock, CLOCK_WATCHED_NS);
    environment.put(READ_KEY, format!("{:.1}", clock.read_ns()));
    environment.put(STEP_KEY, clock.step_ns_min);
    environment.put("cpu.governor", cpu.governors.join(" "));
    put_some(environment, "cpu.frequency_driver", cpu.frequency_driver);
    put_some(environment, "cpu.idle_driver", cpu.idle_driver);
    let states = cpu.idle_states.iter().filter(|state| !state.is_disabled);
    let states: Vec<_> =
        states.map(|state| format!("{}:{}us", state.name, state.exit_latency_us)).collect();
    environment.put("cpu.idle_states", states.join(" "));
    for (name, state) in cpu.mitigations {
        environment.put(&format!("mitigation.{name}"), state);
    }
    if let Ok(load) = pressure::load_average() {
        let text = format!("{} {} {}", load.minutes_1, load.minutes_5, load.minutes_15);
        environment.put("cpu.load_at_start", text);
    }
}

fn put_memory(environment: &mut Environment) {
    if let Ok(memory) = Memory::now() {
        environment.put("memory.total_bytes", memory.total_bytes);
        environment.put("memory.available_at_start_bytes", memory.available_bytes);
        environment.put("memory.swap_bytes", memory.swap_total_bytes);
    }
    let schemes = MemorySchemes::now();
    put_some(environment, "memory.huge_pages", schemes.huge_pages);
    put_some(environment, "memory.tmpfs_huge_pages", schemes.tmpfs_huge_pages);
    put_some(environment, "memory.same_page_merging", schemes.same_page_merging);
    put_some(environment, "memory.swappiness", schemes.swappiness);
    environment.put("numa.nodes", schemes.numa_nodes.max(1));
    put_some(environment, "numa.balancing", schemes.numa_balancing);
    for scheme in schemes.damon {
        let text = format!("{} {}", scheme.state, scheme.actions.join(" "));
        environment.put(&format!("memory.damon.{}", scheme.name), text);
    }
}

fn put_writeback(environment: &mut Environment) {
    let settings = WritebackSettings::now();
    put_some(environment, "vm.dirty_percent", settings.dirty_percent);
    put_some(environment, "vm.dirty_bytes", settings.dirty_bytes);
    put_some(environment, "vm.background_percent", settings.background_percent);
    put_some(environment, "vm.background_bytes", settings.background_bytes);
    put_some(environment, "vm.dirty_expire_centiseconds", settings.expire_centiseconds);
    put_some(environment, "vm.dirty_writeback_centiseconds", settings.writeback_centiseconds);
}

fn put_cgroup(environment: &mut Environment) {
    let limits = CgroupLimits::of_self();
    environment.put("cgroup.version", format!("{:?}", limits.version).to_lowercase());
    put_some(environment, "cgroup.memory_bytes_max", limits.memory_bytes_max);
    put_some(environment, "cgroup.cpus_max", limits.processors_max);
    environment.put("cgroup.io_limits", limits.io_limits.join("; "));
}

fn put_periods(environment: &mut Environment) {
    let xfs = pickfs_sys::tunables::Tunable::sysctl("fs.xfs.xfssyncd_centisecs").read();
    put_some(environment, "period.xfs_log_centiseconds", xfs.ok());
}

fn put_some(environment: &mut Environment, key: &str, value: Option<impl ToString>) {
    if let Some(value) = value {
        environment.put(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
