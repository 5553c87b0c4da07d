//! ZFS by the daemon zfs-fuse: pool version 23, outside the kernel.
//!
//! The daemon keeps its socket, lock and pool list in three fixed folders.
//! Each gets a small tmpfs of our own (private with our mount namespace), so
//! that a pool of the user's is neither seen nor remembered and nothing is
//! left behind. The pool is made, exported, and imported by the mount step:
//! between the two the image is at rest. The candidate's mount options become
//! properties of the pool's file system (`zfs-fuse:compression=on`).
//! Source: zfs-fuse(8), zpool(8).

use pickfs_record::{CandidateSpec, Durability, Step};

use super::{FileSystem, Make, Place, Program, Timer, limits::Limits, recipe, row::packaged, zfs};

const FOLDERS: [&str; 3] = ["/etc/zfs", "/run/zfs", "/run/lock/zfs"];
const DEVICE_FOLDER: &str = "/run/zfs/pickfs-device";
const SOCKET: &str = "/run/zfs/zfs_socket";
const DAEMON: &str = "zfs-fuse";

pub const ZFS_FUSE: FileSystem = FileSystem {
    name: "zfs-fuse",
    origin: "Sun's ZFS as of 2010, served outside the kernel by the daemon zfs-fuse.",
    kernel_type: "fuse",
    formatter: packaged("zpool", "zfs-fuse"),
    helpers: &[Program { name: DAEMON, package: "zfs-fuse" }],
    minimum_bytes: 64 << 20,
    words: zfs::ZFS.words,
    make: Make::Steps { steps: make, is_sized: false },
    mount: |_, _, place| {
        let args = ["import", "-d", DEVICE_FOLDER, &place.unique_name];
        vec![recipe::exec("mount", "zpool", args)]
    },
    unmount,
    cool: Some(zfs::export_and_import),
    lacks: "fallocate, user attributes",
    limits: Limits::compressing(),
    // zfs-fuse 0.7 has no way to ask; ZFS of its time closed a group after at most 30 s.
    timers: &[Timer::new("zfs transaction group", 30.0)],
    fsync: (Durability::PowerLoss, "fsync writes the intent log and asks for a flush"),
    driver: "zfs-fuse (FUSE)",
    ..FileSystem::FUSE
};

fn make(_: &FileSystem, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
    let private =
        |folder: &&str| recipe::call("keep the pool's traces private", "private-folder", [*folder]);
    let mut steps: Vec<_> = FOLDERS.iter().map(private).collect();
    let daemon = [DAEMON, SOCKET, "--no-daemon", "--no-kstat-mount"];
    let link = [DEVICE_FOLDER, &place.device];
    let args = zfs::with_properties(&["create", "-f", "-m", &place.at], spec, place);
    steps.extend([
        recipe::call("start zfs-fuse", "start-daemon", daemon),
        recipe::call("show zpool only this device", "link-device", link),
        recipe::exec("make", "zpool", args),
        zfs::export("bring the pool to rest", place),
    ]);
    steps
}

fn unmount(_: &FileSystem, _: &CandidateSpec, place: &Place) -> Vec<Step> {
    let drop = |folder: &&str| {
        recipe::call("take the private folder away", "drop-private-folder", [*folder])
    };
    let stop = recipe::call("stop zfs-fuse", "stop-daemon", [DAEMON]);
    let steps = [zfs::export("unmount", place), stop].into_iter();
    steps.chain(FOLDERS.iter().rev().map(drop)).collect()
}
