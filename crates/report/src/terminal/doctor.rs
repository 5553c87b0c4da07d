//! What a machine can test, and the remedy for what it cannot.

use pickfs_model::{
    Diagnosis, Environment,
    diagnosis::{ClockDiagnosis, FileSystemDiagnosis, Need},
    quantity::{bytes_text, duration_text, significant},
};

use super::{paragraph::hanging, plain};

const MARGIN: usize = 14;

/// Writes the screen of a diagnosis.
pub fn doctor_screen(diagnosis: &Diagnosis, columns: usize) -> String {
    let columns = columns.max(60);
    let mut out = hanging("machine", &plain(&machine(&diagnosis.environment)), MARGIN, columns);
    out.push_str(&hanging("clock", &clock(&diagnosis.clock), MARGIN, columns));
    out.push('\n');
    out.push_str("needs\n");
    for need in &diagnosis.needs {
        out.push_str(&hanging(&mark(need.met, &need.what), &need_text(need), MARGIN + 4, columns));
    }
    out.push_str("\nfile systems\n");
    let (ready, missing): (Vec<_>, Vec<_>) =
        diagnosis.file_systems.iter().partition(|row| row.ready);
    for row in ready.into_iter().chain(missing) {
        out.push_str(&hanging(&mark(row.ready, &row.name), &row_text(row), MARGIN + 4, columns));
    }
    if !diagnosis.packages.is_empty() {
        let command = format!("sudo apt-get install {}", diagnosis.packages.join(" "));
        out.push('\n');
        out.push_str(&hanging("more with", &command, MARGIN, columns));
    }
    out
}

fn mark(met: bool, name: &str) -> String {
    format!("  {} {name}", if met { "ok  " } else { "no  " })
}

fn need_text(need: &Need) -> String {
    plain(&need.text)
}

fn row_text(row: &FileSystemDiagnosis) -> String {
    if row.ready {
        return plain(&row.origin);
    }
    plain(&format!("{}; {}", row.reason, row.remedy))
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
        let screen = doctor_screen(&diagnosis, 80);
        let (ext4, f2fs) = (screen.find("ok   ext4"), screen.find("no   f2fs"));
        assert!(ext4.is_some() && ext4 < f2fs, "{screen}");
        assert!(screen.contains("sudo apt-get install f2fs-tools"), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= 80));
    }
}
