//! ZFS by the daemon zfs-fuse: pool version 23, outside the kernel.
//!
//! The daemon keeps its socket, lock and pool list in three fixed folders.
//! Each gets a small tmpfs of our own (private with our mount namespace), so
//! that a pool of the user's is neither seen nor remembered and nothing is
//! left behind. The pool is made, exported, and imported by the mount step:
//! between the two the image is at rest. The candidate's mount options become
//! properties of the pool's file system (`zfs-fuse:compression=on`).
//! Source: zfs-fuse(8), zpool(8).

use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Durability, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Period, Place, Program, recipe, words::Words};

const FOLDERS: [&str; 3] = ["/etc/zfs", "/run/zfs", "/run/lock/zfs"];
const DEVICE_FOLDER: &str = "/run/zfs/pickfs-device";
const SOCKET: &str = "/run/zfs/zfs_socket";
const DAEMON: &str = "zfs-fuse";

pub struct ZfsFuse;

impl FileSystem for ZfsFuse {
    fn name(&self) -> &'static str {
        "zfs-fuse"
    }

    fn origin(&self) -> &'static str {
        "Sun's ZFS as of 2010, served outside the kernel by the daemon zfs-fuse."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["fuse"],
            "the kernel module fuse is in every Debian kernel; load it with modprobe fuse",
            "zpool",
            "zfs-fuse",
        )
        .with_helpers(&[Program { name: DAEMON, package: "zfs-fuse" }])
        .at_least(64 << 20)
        .whole_device()
    }

    fn words(&self) -> Words {
        super::zfs::Zfs.words()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut steps: Vec<_> = FOLDERS.iter().map(|folder| private_folder(folder)).collect();
        let daemon = [DAEMON, SOCKET, "--no-daemon", "--no-kstat-mount"];
        steps.push(recipe::call("start zfs-fuse", "start-daemon", daemon));
        steps.push(recipe::call(
            "show zpool only this device",
            "link-device",
            [DEVICE_FOLDER, &place.device],
        ));
        steps.push(recipe::exec("make", "zpool", create_args(spec, place)));
        let name = &place.unique_name;
        steps.push(recipe::exec("bring the pool to rest", "zpool", ["export", name]));
        steps
    }

    fn mount(&self, _spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let args = ["import", "-d", DEVICE_FOLDER, &place.unique_name];
        vec![recipe::exec("mount", "zpool", args)]
    }

    fn unmount(&self, _spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut steps = vec![
            recipe::exec("unmount", "zpool", ["export", &place.unique_name]),
            recipe::call("stop zfs-fuse", "stop-daemon", [DAEMON]),
        ];
        let folders = FOLDERS.iter().rev();
        steps.extend(folders.map(|folder| {
            recipe::call("take the private folder away", "drop-private-folder", [*folder])
        }));
        steps
    }

    /// Its own cache keeps what the kernel's drops: only an exported pool is cold.
    fn cool(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut steps =
            vec![recipe::exec("drop its cache", "zpool", ["export", &place.unique_name])];
        steps.extend(self.mount(spec, place));
        steps
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate, Lack::UserAttributes]
    }

    /// zfs-fuse 0.7 has no way to ask; ZFS of its time closed a group after at most 30 s.
    fn periods(&self, _options: &[String]) -> Vec<Period> {
        vec![Period::new("zfs transaction group", 30.0)]
    }

    fn durability(&self, _options: &[String]) -> (Durability, &'static str) {
        (Durability::PowerLoss, "fsync writes the intent log and asks for a flush")
    }

    fn driver(&self, _fs_type: &str, _device: &str) -> String {
        "zfs-fuse (FUSE)".into()
    }
}

fn private_folder(folder: &str) -> Step {
    recipe::call("keep the pool's traces private", "private-folder", [folder])
}

fn create_args(spec: &CandidateSpec, place: &Place) -> Vec<String> {
    let mut args = vec!["create".to_string(), "-f".into(), "-m".into(), place.at.clone()];
    for property in &spec.mount_options {
        args.extend(["-O".into(), property.clone()]);
    }
    args.extend(recipe::make_words(spec));
    args.extend([place.unique_name.clone(), place.device.clone()]);
    args
}

const ORIGIN: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: true,
    article_class: Some(Class::ForeignSupported),
    designed: fact(
        "2001 to 2005 by Jeff Bonwick, Matthew Ahrens and others at Sun, for Solaris",
        "Bonwick et al., The Zettabyte File System, 2003",
    ),
    purpose: fact(
        "pooled storage with end-to-end checksums",
        "Bonwick et al., The Zettabyte File System, 2003",
    ),
    stable_since: fact(
        "never in the kernel; zfs-fuse 0.7.0 (2011) is its last release",
        "Debian package zfs-fuse 0.7.0",
    ),
    served_by: fact("the daemon zfs-fuse, through FUSE; pool version 23", "zfs-fuse(8)"),
    journal: fact("none: copy on write, with an intent log for fsync", "zpool(8) of zfs-fuse"),
    devices: fact("several: mirrors, RAID-Z", "zpool(8) of zfs-fuse"),
    systems: fact(
        "FreeBSD, illumos and others import its pools; it does not import theirs when they are newer",
        "zpool(8) of zfs-fuse, version 23",
    ),
    distributions: fact(
        "Debian (package zfs-fuse); not RHEL, not SUSE; Ubuntu not looked up",
        "Debian package zfs-fuse 0.7.0",
    ),
    checksums: fact("of data and metadata: fletcher2, fletcher4, sha256", "zfs(8) of zfs-fuse"),
    compression: fact("lzjb, gzip, zle", "zfs(8) of zfs-fuse"),
    snapshots: fact("yes; writable as clones", "zfs(8) of zfs-fuse"),
    encryption: fact("none in pool version 23", "zfs(8) of zfs-fuse"),
    casefold: fact("per dataset, chosen at its creation (casesensitivity)", "zfs(8) of zfs-fuse"),
    limits: fact("file 16 EiB", "Bonwick et al., The Zettabyte File System, 2003"),
    looked_up: LOOKED_UP,
};
