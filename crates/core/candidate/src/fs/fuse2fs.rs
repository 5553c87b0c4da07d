//! ext2, ext3 and ext4 by the FUSE program of e2fsprogs. Three rows beside those of the kernel's driver, so
//! that they show what FUSE costs. fuse2fs replays a journal and writes none. Source: fuse2fs(1).

use pickfs_record::{CandidateSpec, Durability, Step};

use super::{FileSystem, Place, Program, ext, recipe};

pub const EXT4: FileSystem = FileSystem {
    name: "ext4-fuse2fs",
    origin: "ext4 served outside the kernel by fuse2fs through FUSE, without its journal.",
    make: ext::EXT4.make,
    formatter: ext::EXT4.formatter,
    words: ext::EXT4.words,
    lacks: ext::EXT4.lacks,
    ..BASE
};

pub const EXT3: FileSystem = FileSystem {
    name: "ext3-fuse2fs",
    origin: "ext3 served outside the kernel by fuse2fs through FUSE, without its journal.",
    formatter: ext::EXT3.formatter,
    ..EXT4
};

pub const EXT2: FileSystem = FileSystem {
    name: "ext2-fuse2fs",
    origin: "ext2 served outside the kernel by the program fuse2fs through FUSE.",
    formatter: ext::EXT2.formatter,
    ..EXT4
};

const BASE: FileSystem = FileSystem {
    kernel_type: "fuse",
    helpers: &[Program { name: "fuse2fs", package: "fuse2fs" }],
    mount,
    fsync: (
        Durability::PowerLoss,
        "fsync of a file ends with a flush of the device; no journal is written",
    ),
    driver: "fuse2fs (FUSE)",
    ..FileSystem::FUSE
};

/// `allow_other` and `default_permissions` make it what a kernel mount is: open to all users,
/// with the kernel checking modes.
fn mount(_: &FileSystem, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
    let mut shared = spec.clone();
    shared.mount_options.splice(0..0, ["allow_other".into(), "default_permissions".into()]);
    let mut device_first = recipe::helper_args(&shared, place);
    device_first.rotate_right(2);
    vec![recipe::exec("mount", "fuse2fs", device_first)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_is_made_as_the_kernel_row_makes_it_and_mounted_by_the_program() {
        let place = Place::example();
        let rows = [(EXT4, ext::EXT4), (EXT3, ext::EXT3), (EXT2, ext::EXT2)];
        for (row, native) in rows {
            let spec = format!("{}:minixdf;mkfs=-b 1024", row.name).parse().unwrap();
            assert_eq!(row.make(&spec, &place), native.make(&spec, &place));
            let mount = row.mount(&spec, &place)[0].action.to_string();
            assert_eq!(
                mount,
                "fuse2fs /dev/loopN MOUNT -o allow_other,default_permissions,minixdf"
            );
        }
    }
}
