//! OpenZFS by its kernel module. A pool outlives the process, so its making is
//! framed by an undo record. The candidate's mount options become properties
//! of the pool's file system. Source: zpool-create(8), zfsprops(7).

use pickfs_record::{CandidateSpec, Step};

use super::{
    FileSystem, Guest, HostKind, MadeInside, Make, Place, Support, Timer, limits::Limits, recipe,
    row::packaged, words::Words,
};

pub const ZFS: FileSystem = FileSystem {
    name: "zfs",
    origin: "OpenZFS, a kernel module outside the kernel's tree.",
    kernel_type: "zfs",
    kernel_remedy: "no kernel module zfs; packages zfs-dkms and zfsutils-linux (section contrib) build it",
    formatter: packaged("zpool", "zfsutils-linux (section contrib)"),
    minimum_bytes: 64 << 20,
    words: Words { alone: "-d -f -n", valued: "-o -O", text: "", outside: "-m -R -t" },
    make: Make::Steps { steps: make, is_sized: false },
    mount: |_, _, place| vec![import(place, &device_folder(place))],
    unmount,
    cool: Some(export_and_import),
    limits: Limits::compressing(),
    timers: &[Timer {
        kernel: "/sys/module/zfs/parameters/zfs_txg_timeout",
        ..Timer::new("zfs transaction group", 5.0)
    }],
    driver: "zfs (OpenZFS module)",
    guest: Guest {
        support: Support::Rebuilt,
        made_inside: Some(made_inside),
        has_own_cache: true,
        ..FileSystem::BLOCK.guest
    },
    as_host: HostKind::CopyOnWriteAlways,
    ..FileSystem::BLOCK
};

fn make(_: &FileSystem, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
    let name = &place.unique_name;
    let (folder, device) = (device_folder(place), &place.device);
    vec![
        recipe::call("note the pool for clean", "note-undo", ["zpool", name]),
        recipe::call("show zpool only this device", "link-device", [&folder, device]),
        recipe::exec("make", "zpool", create_args(spec, place)),
        export("bring the pool to rest", place),
    ]
}

fn unmount(_: &FileSystem, _: &CandidateSpec, place: &Place) -> Vec<Step> {
    vec![
        export("unmount", place),
        recipe::call("forget the note", "forget-undo", ["zpool", &place.unique_name]),
        recipe::call("take the link away", "unlink-device", [device_folder(place)]),
    ]
}

/// Its own cache keeps what the kernel's drops: only an exported pool is cold.
pub(super) fn export_and_import(
    row: &FileSystem,
    spec: &CandidateSpec,
    place: &Place,
) -> Vec<Step> {
    let mut steps = vec![export("drop its cache", place)];
    steps.extend(row.mount(spec, place));
    steps
}

/// A guest has no other disk, so no folder of links is needed; it ends with its pool, so no note of that.
fn made_inside(spec: &CandidateSpec, place: &Place) -> MadeInside {
    MadeInside {
        make: vec![
            recipe::exec("make", "zpool", create_args(spec, place)),
            export("bring the pool to rest", place),
        ],
        mount: vec![import(place, &place.device)],
        unmount: vec![export("unmount", place)],
    }
}

pub(super) fn export(purpose: &str, place: &Place) -> Step {
    recipe::exec(purpose, "zpool", ["export", &place.unique_name])
}

fn import(place: &Place, from: &str) -> Step {
    let args = ["import", "-o", "cachefile=none", "-d", from, &place.unique_name];
    recipe::exec("mount", "zpool", args)
}

/// A folder that holds one link to the device, so that import looks at no other.
fn device_folder(place: &Place) -> String {
    format!("/run/{}", place.unique_name)
}

fn create_args(spec: &CandidateSpec, place: &Place) -> Vec<String> {
    let ours = ["create", "-f", "-o", "cachefile=none", "-o", "autotrim=off", "-m", &place.at];
    with_properties(&ours, spec, place)
}

/// The candidate's mount options are properties of the pool's file system.
pub(super) fn with_properties(ours: &[&str], spec: &CandidateSpec, place: &Place) -> Vec<String> {
    let mut args: Vec<String> = ours.iter().map(|word| word.to_string()).collect();
    args.extend(spec.mount_options.iter().flat_map(|property| ["-O".into(), property.clone()]));
    args.extend(recipe::make_words(spec));
    args.extend([place.unique_name.clone(), place.device.clone()]);
    args
}
