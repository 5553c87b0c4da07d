//! NTFS by the FUSE program ntfs-3g, which opens the device itself.
//! Not the kernel's ntfs3: that is a row of its own.
//! Source: ntfs-3g(8), mkntfs(8).

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Lack, Needs, Place, Program, recipe};

/// The row of ntfs-3g.
pub struct Ntfs3g;

impl FileSystem for Ntfs3g {
    fn name(&self) -> &'static str {
        "ntfs-3g"
    }

    fn origin(&self) -> &'static str {
        "Microsoft's NTFS, served outside the kernel by the program ntfs-3g through FUSE."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["fuseblk"],
            "the kernel module fuse is in every Debian kernel; load it with modprobe fuse",
            "mkfs.ntfs",
            "ntfs-3g",
        )
        .with_helpers(&[Program { name: "ntfs-3g", package: "ntfs-3g" }])
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q", "-F", "-Q"], &[], spec);
        args.push(place.device.clone());
        args.extend(place.make_units(place.sector_bytes.into()));
        vec![recipe::exec("make", "mkfs.ntfs", args)]
    }

    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = Vec::new();
        if !spec.mount_options.is_empty() {
            args.extend(["-o".into(), spec.mount_options.join(",")]);
        }
        args.extend([place.device.clone(), place.at.clone()]);
        vec![recipe::exec("mount", "ntfs-3g", args)]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate, Lack::Permissions]
    }

    fn driver(&self, _fs_type: &str, _device: &str) -> String {
        "ntfs-3g (FUSE)".into()
    }
}
