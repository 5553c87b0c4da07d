use crate::tunables::{chosen_word, text_if_any};

/// `None`: not said here, or not to us.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelFacts {
    pub release: String,
    pub version: String,
    pub machine: String,
    pub command_line: Option<String>,
    /// `none`, `voluntary`, `full`, `lazy`; or `PREEMPT_DYNAMIC`, `PREEMPT_RT`, `PREEMPT` by the
    /// version where debugfs is closed.
    pub preemption: Option<String>,
    pub distribution: Option<String>,
    /// What a virtual machine calls itself: `KVM`, `xen`, ...; `None` on bare metal or unknown.
    pub hypervisor: Option<String>,
    pub product: Option<String>,
    pub boot_id: Option<String>,
}

impl KernelFacts {
    /// Root sees a little more.
    pub fn now() -> Self {
        let names = rustix::system::uname();
        let version = names.version().to_string_lossy().into_owned();
        Self {
            release: names.release().to_string_lossy().into_owned(),
            preemption: preemption(&version),
            version,
            machine: names.machine().to_string_lossy().into_owned(),
            command_line: text_if_any("/proc/cmdline"),
            distribution: text_if_any("/etc/os-release").and_then(|text| pretty_name(&text)),
            hypervisor: hypervisor(),
            product: product(),
            boot_id: boot_id(),
        }
    }
}

pub fn boot_id() -> Option<String> {
    text_if_any("/proc/sys/kernel/random/boot_id")
}

fn preemption(version: &str) -> Option<String> {
    let exact = text_if_any("/sys/kernel/debug/sched/preempt");
    let exact = exact.map(|text| round_choice(&text).to_owned());
    exact.or_else(|| preemption_by_version(version))
}

/// The preempt file marks its choice with round brackets: `none voluntary (full)`.
fn round_choice(text: &str) -> &str {
    let inside = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    inside.map_or(chosen_word(text), |(word, _)| word)
}

fn preemption_by_version(version: &str) -> Option<String> {
    let word = version.split_whitespace().find(|word| word.starts_with("PREEMPT"))?;
    Some(word.to_owned())
}

fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches('"').to_owned())
}

fn hypervisor() -> Option<String> {
    text_if_any("/sys/hypervisor/type").or_else(|| {
        let info = text_if_any("/proc/cpuinfo")?;
        let flags = info.lines().find(|line| line.starts_with("flags"))?;
        let is_guest = flags.split_whitespace().any(|flag| flag == "hypervisor");
        is_guest.then(|| "unnamed".to_owned())
    })
}

fn product() -> Option<String> {
    let maker = text_if_any("/sys/class/dmi/id/sys_vendor");
    let name = text_if_any("/sys/class/dmi/id/product_name")
        .or_else(|| text_if_any("/proc/device-tree/model"));
    let words: Vec<_> = [maker, name].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" ").trim_end_matches('\0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preemption_comes_from_either_place() {
        assert_eq!(round_choice("none voluntary (full) lazy"), "full");
        let version = "#1 SMP PREEMPT_DYNAMIC Debian 6.12.1";
        assert_eq!(preemption_by_version(version).as_deref(), Some("PREEMPT_DYNAMIC"));
        assert_eq!(preemption_by_version("#1 SMP"), None);
    }

    #[test]
    fn the_distribution_is_named_without_its_quotes() {
        let text = "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n";
        assert_eq!(pretty_name(text).as_deref(), Some("Debian GNU/Linux 13 (trixie)"));
    }

    #[test]
    fn the_running_kernel_is_named() {
        let facts = KernelFacts::now();
        assert!(!facts.release.is_empty() && facts.boot_id.is_some());
    }
}
