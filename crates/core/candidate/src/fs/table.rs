use super::{
    FileSystem, Formatter, Program, affs::Affs, bcachefs::Bcachefs, btrfs::Btrfs, exfat::Exfat,
    exfat_fuse::ExfatFuse, ext2::Ext2, ext3::Ext3, ext4::Ext4, f2fs::F2fs, fat::Fat,
    fuse2fs::Fuse2fs, hfs::Hfs, hfsplus::HfsPlus, hpfs::Hpfs, jfs::Jfs, nilfs2::Nilfs2,
    ntfs_3g::Ntfs3g, ntfs3::Ntfs3, ramfs::Ramfs, reiserfs::Reiserfs, tmpfs::Tmpfs, ufs::Ufs,
    xfs::Xfs, zfs::Zfs, zfs_fuse::ZfsFuse,
};

pub static FILE_SYSTEMS: &[&dyn FileSystem] = &[
    &Ext4,
    &Xfs,
    &Btrfs,
    &Tmpfs,
    &Ext3,
    &Ext2,
    &Ramfs,
    &Ntfs3g,
    &ZfsFuse,
    &ExfatFuse,
    &Fuse2fs::Ext4,
    &Fuse2fs::Ext3,
    &Fuse2fs::Ext2,
    &F2fs,
    &Zfs,
    &Jfs,
    &Reiserfs::V35,
    &Reiserfs::V36,
    &Fat::Sixteen,
    &Fat::ThirtyTwo,
    &Hfs,
    &HfsPlus::Plus,
    &HfsPlus::X,
    &Affs,
    &Hpfs,
    &Ufs::One,
    &Ufs::Two,
    &Nilfs2,
    &Exfat,
    &Ntfs3,
    &Bcachefs,
];

pub const OWN_PROGRAMS: &[Program] = &[
    Program { name: "blkid", package: "util-linux" },
    Program { name: "wipefs", package: "util-linux" },
    Program { name: "blkdiscard", package: "util-linux" },
];

pub fn find(name: &str) -> Option<&'static dyn FileSystem> {
    FILE_SYSTEMS.iter().copied().find(|row| row.name() == name)
}

pub fn package_of(program: &str) -> Option<&'static str> {
    let formatters = FILE_SYSTEMS.iter().filter_map(|row| match row.needs().formatter {
        Formatter::Packaged(program) => Some(program),
        _ => None,
    });
    let helpers = FILE_SYSTEMS.iter().flat_map(|row| row.needs().helpers.iter().copied());
    let mut all = formatters.chain(helpers).chain(OWN_PROGRAMS.iter().copied());
    all.find(|known| known.name == program).map(|known| known.package)
}

pub fn names() -> Vec<&'static str> {
    FILE_SYSTEMS.iter().map(|row| row.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Ground, Place};
    use pickfs_record::CandidateSpec;

    #[test]
    fn names_are_unique_and_can_be_written_in_a_candidate() {
        let mut seen = std::collections::BTreeSet::new();
        for name in names() {
            assert!(seen.insert(name), "{name} stands twice");
            assert_eq!(name.parse::<CandidateSpec>().unwrap().fs, name);
        }
        assert_eq!(seen.len(), 31);
    }

    #[test]
    fn every_row_says_where_it_comes_from_and_what_would_help() {
        for row in FILE_SYSTEMS {
            assert!(row.origin().ends_with('.'), "{}", row.name());
            assert!(!row.needs().kernel_remedy.is_empty(), "{}", row.name());
            assert!(!row.needs().kernel_types.is_empty(), "{}", row.name());
        }
    }

    #[test]
    fn every_fact_of_every_row_is_written_and_has_its_source() {
        for row in FILE_SYSTEMS {
            let origin = row.facts();
            assert_eq!(origin.looked_up.len(), "2026-11".len(), "{}", row.name());
            for (what, fact) in origin.facts() {
                let is_short = (3..=160).contains(&fact.text.chars().count());
                assert!(is_short && !fact.text.ends_with('.'), "{}: {what}", row.name());
                assert!(fact.source.chars().count() > 5, "{}: source of {what}", row.name());
            }
        }
    }

    #[test]
    fn a_smaller_size_reaches_the_formatter_where_the_row_says_so() {
        let place = Place { make_bytes: Some(512 << 20), ..Place::example() };
        for row in FILE_SYSTEMS {
            let needs = row.needs();
            if needs.ground == Ground::Memory {
                continue;
            }
            let spec = row.name().parse().unwrap();
            let changed = row.make(&spec, &place) != row.make(&spec, &Place::example());
            assert_eq!(changed, needs.sized, "{}", row.name());
        }
    }

    #[test]
    fn every_row_mounts_where_it_is_told_and_unmounts() {
        for row in FILE_SYSTEMS {
            let spec = row.name().parse().unwrap();
            let text = |steps: Vec<pickfs_record::Step>| -> String {
                steps.iter().map(|step| step.action.to_string() + "\n").collect()
            };
            let place = Place::example();
            let all = text(row.make(&spec, &place)) + &text(row.mount(&spec, &place));
            assert!(all.contains(&place.at), "{}: {all}", row.name());
            assert!(!row.unmount(&spec, &place).is_empty(), "{}", row.name());
        }
    }
}
