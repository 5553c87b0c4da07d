//! XFS. `-K` keeps mkfs from discarding; mounts do not discard by themselves. Source: mkfs.xfs(8).

use pickfs_record::{CandidateSpec, Step};

use super::{FileSystem, Guest, Make, Place, Size, Timer, recipe, row::packaged, words::Words};

pub const XFS: FileSystem = FileSystem {
    name: "xfs",
    origin: "From Silicon Graphics' IRIX (1994), in Linux since 2.4.25; served by the xfs driver.",
    kernel_type: "xfs",
    formatter: packaged("mkfs.xfs", "xfsprogs"),
    minimum_bytes: 300 << 20,
    words: Words {
        alone: "-C -f -K -N -q -V",
        valued: "-b -d -i -l -m -n -r -s",
        text: "-L",
        outside: "-c -p --protofile",
    },
    make: Make::Steps { steps: make, is_sized: true },
    mount,
    log_apart: Some(log_apart),
    timers: &[Timer {
        kernel: "/proc/sys/fs/xfs/xfssyncd_centisecs",
        unit_s: 0.01,
        ..Timer::new("xfs log work", 30.0)
    }],
    guest: Guest { modules_before: &["crc32c_generic"], ..FileSystem::BLOCK.guest },
    free_extents: "xfs_spaceman -r -c freesp MOUNT",
    checker: "xfs_repair -n SOURCE",
    of_copy: &["nouuid"],
    ..FileSystem::BLOCK
};

fn make(_: &FileSystem, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
    let mut args = recipe::make_args(&["-q", "-f"], &["-K"], spec);
    if let Some(log) = &place.log {
        let said = recipe::make_values(spec, "-l");
        let mut words = vec![format!("logdev={}", log.device)];
        // mkfs.xfs takes 512 for the sectors of a log device, whatever it says.
        for (key, value) in [("size=", log.bytes), ("sectsize=", log.sector_bytes.into())] {
            if value != 512 && !said.iter().any(|word| word.starts_with(key)) {
                words.push(format!("{key}{value}"));
            }
        }
        args.extend(["-l".into(), words.join(",")]);
    }
    let args = recipe::with_device(args, Size::Words("-d size={}"), place);
    vec![recipe::exec("make", "mkfs.xfs", args)]
}

fn mount(row: &FileSystem, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
    let log = place.log.as_ref().map(|log| format!("logdev={}", log.device));
    let options = spec.mount_options.iter().cloned().chain(log).collect();
    recipe::mount_device(row.kernel_type, options, place)
}

fn log_apart(spec: &CandidateSpec) -> bool {
    let inside = |value: &String| {
        matches!(value.as_str(), "internal" | "internal=1") || value.starts_with("agnum=")
    };
    !recipe::make_values(spec, "-l").iter().any(inside)
}
