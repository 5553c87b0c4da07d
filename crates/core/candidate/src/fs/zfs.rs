//! OpenZFS by its kernel module. A pool outlives the process, so its making is
//! framed by an undo record. The candidate's mount options become properties
//! of the pool's file system. Source: zpool-create(8), zfsprops(7).

use pickfs_record::features::{Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, MadeInside, Needs, Period, Place, recipe, words::Words};

pub struct Zfs;

impl FileSystem for Zfs {
    fn name(&self) -> &'static str {
        "zfs"
    }

    fn origin(&self) -> &'static str {
        "OpenZFS, a kernel module outside the kernel's tree."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["zfs"],
            "no kernel module zfs; packages zfs-dkms and zfsutils-linux (section contrib) build it",
            "zpool",
            "zfsutils-linux (section contrib)",
        )
        .at_least(64 << 20)
        .whole_device()
    }

    fn words(&self) -> Words {
        Words { alone: "-d -f -n", valued: "-o -O", outside: "-m -R -t", ..Words::default() }
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let name = &place.unique_name;
        let (folder, device) = (device_folder(place), &place.device);
        vec![
            recipe::call("note the pool for clean", "note-undo", ["zpool", name]),
            recipe::call("show zpool only this device", "link-device", [&folder, device]),
            recipe::exec("make", "zpool", create_args(spec, place)),
            recipe::exec("bring the pool to rest", "zpool", ["export", name]),
        ]
    }

    fn mount(&self, _spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let folder = device_folder(place);
        let args = ["import", "-o", "cachefile=none", "-d", &folder, &place.unique_name];
        vec![recipe::exec("mount", "zpool", args)]
    }

    fn unmount(&self, _spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let name = &place.unique_name;
        vec![
            recipe::exec("unmount", "zpool", ["export", name]),
            recipe::call("forget the note", "forget-undo", ["zpool", name]),
            recipe::call("take the link away", "unlink-device", [device_folder(place)]),
        ]
    }

    /// Its own cache keeps what the kernel's drops: only an exported pool is cold.
    fn cool(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut steps =
            vec![recipe::exec("drop its cache", "zpool", ["export", &place.unique_name])];
        steps.extend(self.mount(spec, place));
        steps
    }

    fn is_made_inside(&self) -> bool {
        true
    }

    /// A guest has no other disk, so no folder of links is needed; it ends with its pool, so no note of that.
    fn made_inside(&self, spec: &CandidateSpec, place: &Place) -> Option<MadeInside> {
        let (name, device) = (&place.unique_name, &place.device);
        let export = |purpose| recipe::exec(purpose, "zpool", ["export", name]);
        let import = ["import", "-o", "cachefile=none", "-d", device, name];
        Some(MadeInside {
            make: vec![
                recipe::exec("make", "zpool", create_args(spec, place)),
                export("bring the pool to rest"),
            ],
            mount: vec![recipe::exec("mount", "zpool", import)],
            unmount: vec![export("unmount")],
        })
    }

    fn periods(&self, _options: &[String]) -> Vec<Period> {
        let path = "/sys/module/zfs/parameters/zfs_txg_timeout";
        vec![Period::from_kernel("zfs transaction group", path, 1.0, 5.0)]
    }

    fn driver(&self, _fs_type: &str, _device: &str) -> String {
        "zfs (OpenZFS module)".into()
    }
}

/// A folder that holds one link to the device, so that import looks at no other.
fn device_folder(place: &Place) -> String {
    format!("/run/{}", place.unique_name)
}

fn create_args(spec: &CandidateSpec, place: &Place) -> Vec<String> {
    let ours = ["create", "-f", "-o", "cachefile=none", "-o", "autotrim=off", "-m", &place.at];
    let mut args: Vec<String> = ours.iter().map(|word| word.to_string()).collect();
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
    article_class: None,
    designed: fact(
        "2001 to 2005 by Jeff Bonwick, Matthew Ahrens and others at Sun, for Solaris",
        "Bonwick et al., The Zettabyte File System, 2003",
    ),
    purpose: fact(
        "pooled storage with end-to-end checksums",
        "Bonwick et al., The Zettabyte File System, 2003",
    ),
    stable_since: fact(
        "never in the kernel; ZFS on Linux 0.6.1 (March 2013) was called ready",
        "zfsonlinux.org, release 0.6.1",
    ),
    served_by: fact(
        "the module zfs of OpenZFS, outside the kernel's tree",
        "openzfs.github.io, Getting Started",
    ),
    journal: fact("none: copy on write, with an intent log for fsync", "zfsconcepts(7)"),
    devices: fact("several: mirrors, RAID-Z", "zpoolconcepts(7)"),
    systems: fact(
        "FreeBSD, illumos, NetBSD; macOS and Windows by added programs",
        "openzfs.org, Platforms",
    ),
    distributions: fact(
        "Ubuntu (module in its kernel package), Debian (contrib, built by dkms); not RHEL, not SUSE",
        "openzfs.github.io, Getting Started; packages zfs-dkms and zfsutils-linux",
    ),
    checksums: fact(
        "of data and metadata: fletcher4, sha256, blake3 and others",
        "zfsprops(7), checksum",
    ),
    compression: fact("lz4, zstd, gzip, lzjb, zle", "zfsprops(7), compression"),
    snapshots: fact("yes; writable as clones", "zfsconcepts(7)"),
    encryption: fact("per dataset", "zfsprops(7), encryption"),
    casefold: fact("per dataset, chosen at its creation (casesensitivity)", "zfsprops(7)"),
    limits: fact("file 16 EiB", "Bonwick et al., The Zettabyte File System, 2003"),
    looked_up: LOOKED_UP,
};
