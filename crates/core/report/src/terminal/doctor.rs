//! File systems that lack the same thing share a row: what differs in their texts is
//! the kernel module alone, which then stands as NAME.

use pickfs_record::{
    Diagnosis, Environment,
    diagnosis::{ClockDiagnosis, FileSystemDiagnosis, Need},
    quantity::{bytes_text, duration_text, significant},
};

use super::{paragraph::hanging, plain};

const MARGIN: usize = 14;

pub fn doctor_screen(diagnosis: &Diagnosis, install: &str, columns: usize) -> String {
    let columns = columns.max(60);
    let mut out = hanging("machine", &plain(&machine(&diagnosis.environment)), MARGIN, columns);
    out.push_str(&hanging("clock", &clock(&diagnosis.clock), MARGIN, columns));
    out.push('\n');
    out.push_str("needs\n");
    let margin = margin(diagnosis.needs.iter().map(|need| need.what.as_str()));
    for need in &diagnosis.needs {
        out.push_str(&hanging(&mark(need.met, &need.what), &need_text(need), margin, columns));
    }
    out.push_str("\nfile systems\n");
    let (ready, missing): (Vec<_>, Vec<_>) =
        diagnosis.file_systems.iter().partition(|row| row.ready);
    let margin = margin_of(&diagnosis.file_systems);
    for row in ready {
        out.push_str(&hanging(&mark(true, &row.name), &plain(&row.origin), margin, columns));
    }
    let (guests, missing): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|row| !row.route.is_empty());
    for row in guests {
        let text = plain(&guest_text(row));
        out.push_str(&hanging(
            &format!("  in {} {}", row.route, row.name),
            &text,
            margin + 2,
            columns,
        ));
    }
    for lack in lacks(&missing) {
        out.push_str(&hanging(&mark(false, &lack.names[0]), &lack_text(&lack), margin, columns));
    }
    if !diagnosis.packages.is_empty() {
        let command = format!("sudo {install} {}", diagnosis.packages.join(" "));
        out.push('\n');
        out.push_str(&hanging("more with", &command, MARGIN, columns));
    }
    out
}

fn mark(met: bool, name: &str) -> String {
    format!("  {} {name}", if met { "ok  " } else { "no  " })
}

fn guest_text(row: &FileSystemDiagnosis) -> String {
    let fetches = match row.route_needs.is_empty() {
        true => String::new(),
        false => format!(", which fetches {} without installing it", row.route_needs),
    };
    format!("with --engine {}{fetches}; on this machine: {}; {}", row.route, row.reason, row.remedy)
}

fn need_text(need: &Need) -> String {
    plain(&need.text)
}

fn margin<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    7 + longest.min(16) + 2
}

fn margin_of(rows: &[FileSystemDiagnosis]) -> usize {
    margin(rows.iter().map(|row| row.name.as_str()))
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
        [module] => plain(&format!("{others}{}", lack.template.replace("NAME", module))),
        modules => plain(&format!("{others}{}; NAME is {}", lack.template, modules.join(", "))),
    }
}

fn machine(environment: &Environment) -> String {
    let get = |key: &str| environment.get(key);
    let memory = get("memory.total_bytes").and_then(|bytes| bytes.parse().ok()).map(bytes_text);
    let parts = [
        get("cpu.online").zip(get("cpu.model")).map(|(count, model)| format!("{count} x {model}")),
        memory,
        get("kernel.release").map(|release| format!("Linux {release}")),
        get("os.name").map(str::to_owned),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
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
    use super::*;

    #[test]
    fn what_is_missing_stands_last_with_its_remedy() {
        let row = |name: &str, ready: bool| FileSystemDiagnosis {
            name: name.into(),
            origin: "the kernel".into(),
            ready,
            reason: if ready { "" } else { "mkfs.f2fs not found" }.into(),
            remedy: if ready { "" } else { "install f2fs-tools" }.into(),
            route: if ready { "native" } else { "" }.into(),
            route_needs: String::new(),
        };
        let diagnosis = Diagnosis {
            environment: Environment::default(),
            file_systems: vec![row("f2fs", false), row("ext4", true)],
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
        let screen = doctor_screen(&diagnosis, "dnf install", 80);
        let (ext4, f2fs) = (screen.find("ok   ext4"), screen.find("no   f2fs"));
        assert!(ext4.is_some() && ext4 < f2fs, "{screen}");
        assert!(screen.contains("sudo dnf install f2fs-tools"), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn what_a_guest_can_mount_names_its_engine_and_the_better_way() {
        let row = FileSystemDiagnosis {
            name: "jfs".into(),
            origin: String::new(),
            ready: false,
            reason: "this kernel has no file system jfs".into(),
            remedy: "load the module jfs".into(),
            route: "qemu-tcg".into(),
            route_needs: "jfsutils".into(),
        };
        let text = guest_text(&row);
        assert_eq!(
            text,
            "with --engine qemu-tcg, which fetches jfsutils without installing it; on this \
             machine: this kernel has no file system jfs; load the module jfs"
        );
    }

    #[test]
    fn what_lacks_the_same_shares_a_row_and_keeps_its_remedy() {
        let row = |name: &str, module: &str| FileSystemDiagnosis {
            name: name.into(),
            origin: String::new(),
            ready: false,
            reason: format!("this kernel has no file system {module}"),
            remedy: format!("load it with modprobe {module}"),
            route: String::new(),
            route_needs: String::new(),
        };
        let rows = [row("jfs", "jfs"), row("fat16", "vfat"), row("fat32", "vfat")];
        let lacks = lacks(&rows.iter().collect::<Vec<_>>());
        assert_eq!(lacks.len(), 1);
        assert_eq!(
            lack_text(&lacks[0]),
            "and fat16, fat32: this kernel has no file system NAME; load it with modprobe NAME; \
             NAME is jfs, vfat"
        );
        let twins = lacks_of(&rows[1..]);
        assert_eq!(
            twins,
            "and fat32: this kernel has no file system vfat; load it with modprobe vfat"
        );
    }

    fn lacks_of(rows: &[FileSystemDiagnosis]) -> String {
        lack_text(&lacks(&rows.iter().collect::<Vec<_>>())[0])
    }
}
