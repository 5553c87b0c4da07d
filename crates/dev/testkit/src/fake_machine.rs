use pickfs_record::{
    Action, BackingKind, CandidateSpec, Environment, Step, StepRecord, record::ImageRecord,
};

pub(crate) const IMAGE: ImageRecord = ImageRecord {
    direct_io: true,
    repaired_bytes: 64 << 20,
    holes_before_bytes: 0,
    holes_after_bytes: 0,
    extents_before: 14,
    extents_after: 14,
};

pub(crate) fn steps(spec: &CandidateSpec) -> Vec<StepRecord> {
    let mount = Action::Mount {
        source: if spec.fs == "tmpfs" { "tmpfs".into() } else { "/dev/loop7".into() },
        fs_type: spec.fs.clone(),
        options: spec.mount_options.clone(),
        at: "/run/pickfs/mnt".into(),
    };
    let mut args = match spec.fs.as_str() {
        "ext4" => vec!["-q".to_string(), "-E".into(), "nodiscard".into()],
        "xfs" | "btrfs" => vec!["-q".to_string(), "-K".into()],
        _ => Vec::new(),
    };
    args.extend(spec.mkfs_options.iter().cloned());
    args.push("/dev/loop7".into());
    let make = Action::Exec { program: format!("mkfs.{}", spec.fs), args };
    let record = |purpose: &str, action: Action| StepRecord {
        step: Step { purpose: purpose.into(), action },
        elapsed_ms: 12.5,
        output: String::new(),
        succeeded: true,
    };
    let make = (spec.fs != "tmpfs").then(|| record("make", make));
    let unmount = Action::Unmount { at: "/run/pickfs/mnt".into() };
    make.into_iter().chain([record("mount", mount), record("unmount", unmount)]).collect()
}

pub(crate) fn trial_environment(spec: &CandidateSpec) -> Environment {
    let mut environment = Environment::default();
    environment.put("mount.driver", &spec.fs);
    environment.put("mount.options", format!("rw,{}", spec.mount_options.join(",")));
    environment.put("device.logical_sector_bytes", 512);
    environment
}

pub(crate) fn machine() -> Environment {
    let mut environment = Environment::default();
    for (key, value) in [
        ("host.name", "fake-1"),
        ("cpu.model", "Imaginary Xeon 2.50GHz"),
        ("cpu.online", "2"),
        ("cpu.sockets", "1"),
        ("cpu.governor", "performance"),
        ("numa.nodes", "1"),
        ("memory.total_bytes", "24696061952"),
        ("memory.transparent_huge_pages", "madvise"),
        ("kernel.release", "6.18.0"),
        ("kernel.preemption", "voluntary"),
        ("os.name", "Debian GNU/Linux 12 (bookworm)"),
        ("clock.source", "tsc"),
        ("vm.dirty_background_ratio", "10"),
        ("vm.dirty_expire_centisecs", "3000"),
    ] {
        environment.put(key, value);
    }
    environment
}

pub(crate) fn card(backing: BackingKind) -> Environment {
    let mut card = Environment::default();
    card.put("backing.kind", backing);
    for (key, value) in [
        ("device.model", "Imaginary NVMe 1"),
        ("device.link", "virtio"),
        ("device.size_bytes", "107374182400"),
        ("device.write_cache", "write back"),
        ("device.scheduler", "none"),
        ("device.rotational", "0"),
        ("bare.write_sequential_bytes_per_s", "1240000000"),
        ("bare.read_sequential_bytes_per_s", "2100000000"),
        ("bare.read_4k_per_s", "41000"),
        ("bare.read_4k_p50_ns", "96000"),
        ("bare.flush_p50_ns", "61000"),
    ] {
        card.put(key, value);
    }
    card
}
