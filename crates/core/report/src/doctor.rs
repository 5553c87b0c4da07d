//! What this machine can test. File systems that lack the same thing share a row: what differs in their texts is
//! the kernel module alone, which then stands as NAME.

use pickfs_record::{
    Diagnosis,
    diagnosis::{ClockDiagnosis, FileSystemDiagnosis},
    quantity::{duration_text, significant},
};

use crate::{
    card::machine_line,
    document::{Document, Node, Role, Text, facts},
};

pub fn doctor_document(diagnosis: &Diagnosis, install: &str) -> Document {
    let machine = machine_line(&diagnosis.environment);
    let mut nodes = vec![facts([("machine", machine), ("clock", clock(&diagnosis.clock))])];
    let needs = diagnosis.needs.iter().map(|need| met(need.met, &need.what, need.text.clone()));
    nodes.extend([Node::Heading(2, "needs".into()), facts(needs)]);
    let (ready, missing): (Vec<_>, Vec<_>) =
        diagnosis.file_systems.iter().partition(|row| row.ready);
    let (guests, missing): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|row| !row.route.is_empty());
    let ready = ready.into_iter().map(|row| met(true, &row.name, row.origin.clone()));
    let guests = guests
        .into_iter()
        .map(|row| (format!("in {} {}", row.route, row.name), Text::from(guest_text(row))));
    let lacks =
        lacks(&missing).into_iter().map(|lack| met(false, &lack.names[0], lack_text(&lack)));
    let rows = facts(ready.chain(guests).chain(lacks));
    nodes.extend([Node::Heading(2, "file systems".into()), rows]);
    if !diagnosis.packages.is_empty() {
        let command = format!("sudo {install} {}", diagnosis.packages.join(" "));
        nodes.push(facts([("more with", Role::Code.of(command))]));
    }
    Document { title: "What this machine can test".into(), nodes }
}

fn met(is_met: bool, name: &str, text: String) -> (String, Text) {
    match is_met {
        true => (format!("ok   {name}"), text.into()),
        false => (format!("no   {name}"), Role::NoAnswer.of(text)),
    }
}

fn guest_text(row: &FileSystemDiagnosis) -> String {
    let fetches = match row.route_needs.is_empty() {
        true => String::new(),
        false => format!(", which fetches {} without installing it", row.route_needs),
    };
    format!("with --engine {}{fetches}; on this machine: {}; {}", row.route, row.reason, row.remedy)
}

struct Lack {
    names: Vec<String>,
    modules: Vec<String>,
    /// Reason and remedy with NAME for the module.
    template: String,
}

fn lacks(missing: &[&FileSystemDiagnosis]) -> Vec<Lack> {
    let mut lacks: Vec<Lack> = Vec::new();
    for row in missing {
        let module = row.reason.rsplit(' ').next().unwrap_or("").to_string();
        let template = named(&format!("{}; {}", row.reason, row.remedy), &module);
        let at = lacks.iter().position(|lack| lack.template == template).unwrap_or_else(|| {
            lacks.push(Lack { names: Vec::new(), modules: Vec::new(), template });
            lacks.len() - 1
        });
        lacks[at].names.push(row.name.clone());
        if !lacks[at].modules.contains(&module) {
            lacks[at].modules.push(module);
        }
    }
    lacks
}

fn named(text: &str, module: &str) -> String {
    let word = |word: &str| match word.trim_end_matches([';', ',', '.']) == module {
        true => word.replace(module, "NAME"),
        false => word.to_string(),
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn lack_text(lack: &Lack) -> String {
    let others = match &lack.names[1..] {
        [] => String::new(),
        others => format!("and {}: ", others.join(", ")),
    };
    match lack.modules.as_slice() {
        [module] => format!("{others}{}", lack.template.replace("NAME", module)),
        modules => format!("{others}{}; NAME is {}", lack.template, modules.join(", ")),
    }
}

fn clock(clock: &ClockDiagnosis) -> String {
    format!(
        "a reading costs {}; watched for {} s: {} gaps over 10 us a second, the longest {}, {} % \
         of the time",
        duration_text(clock.read_ns),
        significant(clock.watched_s),
        significant(clock.gaps_per_s),
        duration_text(clock.gap_ns_max as f64),
        significant(clock.gap_share * 100.0)
    )
}

#[cfg(test)]
mod tests {
    use pickfs_record::{Environment, diagnosis::Need};

    use super::*;
    use crate::document::terminal::terminal;

    fn row(name: &str, reason: &str, remedy: &str) -> FileSystemDiagnosis {
        FileSystemDiagnosis {
            name: name.into(),
            origin: "the kernel".into(),
            ready: reason.is_empty(),
            reason: reason.into(),
            remedy: remedy.into(),
            route: String::new(),
            route_needs: String::new(),
        }
    }

    fn screen(file_systems: Vec<FileSystemDiagnosis>) -> String {
        let diagnosis = Diagnosis {
            environment: Environment::default(),
            file_systems,
            needs: vec![Need { what: "root".into(), met: true, text: "mounts".into() }],
            clock: ClockDiagnosis {
                read_ns: 25.0,
                step_ns: 1,
                watched_s: 2.0,
                gaps_per_s: 3.0,
                gap_ns_max: 40_000,
                gap_share: 0.001,
            },
            packages: vec!["f2fs-tools".into()],
        };
        let screen = terminal(&doctor_document(&diagnosis, "dnf install"), 80, false);
        assert!(screen.lines().all(|line| line.chars().count() <= 80));
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_missing_stands_last_with_its_remedy() {
        let lost = row("f2fs", "mkfs.f2fs not found", "install f2fs-tools");
        let guest = row("jfs", "this kernel has no file system jfs", "load the module jfs");
        let (route, route_needs) = ("qemu-tcg".into(), "jfsutils".into());
        let guest = FileSystemDiagnosis { route, route_needs, ..guest };
        let screen = screen(vec![lost, guest, row("ext4", "", "")]);
        let places = [
            "ok root mounts",
            "ok ext4 the kernel",
            "in qemu-tcg jfs with --engine qemu-tcg, which fetches jfsutils without installing it; on this machine: \
             this kernel has no file system jfs; load the module jfs",
            "no f2fs mkfs.f2fs not found; install f2fs-tools",
            "more with sudo dnf install f2fs-tools",
        ];
        let found =
            places.map(|text| screen.find(text).unwrap_or_else(|| panic!("{text}: {screen}")));
        assert!(found.is_sorted(), "{screen}");
    }

    #[test]
    fn what_lacks_the_same_shares_a_row_and_keeps_its_remedy() {
        let of = |name: &str, module: &str| {
            let reason = format!("this kernel has no file system {module}");
            row(name, &reason, &format!("load it with modprobe {module}"))
        };
        let rows = vec![of("jfs", "jfs"), of("fat16", "vfat"), of("fat32", "vfat")];
        let twins = screen(rows[1..].to_vec());
        let text =
            "no fat16 and fat32: this kernel has no file system vfat; load it with modprobe vfat";
        assert!(twins.contains(text), "{twins}");
        let text = "no jfs and fat16, fat32: this kernel has no file system NAME; load it with modprobe NAME; NAME is \
                    jfs, vfat";
        let all = screen(rows);
        assert!(all.contains(text), "{all}");
    }
}
