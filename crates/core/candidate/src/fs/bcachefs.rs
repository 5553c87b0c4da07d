//! bcachefs, copy on write with its own block cache. Source: bcachefs(8).

use pickfs_record::features::{Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Needs, Period, Place, recipe, words::Words};

pub struct Bcachefs;

impl FileSystem for Bcachefs {
    fn name(&self) -> &'static str {
        "bcachefs"
    }

    fn origin(&self) -> &'static str {
        "Grown out of bcache; in Linux from 6.7 to 6.17, since then a module outside the kernel's tree."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["bcachefs"],
            "no kernel module bcachefs; a kernel from 6.7 to 6.17 may have it, a later one needs the \
             project's own module package",
            "bcachefs",
            "bcachefs-tools (not in Debian 12; see the project's own archive)",
        )
        .at_least(64 << 20)
    }

    fn words(&self) -> Words {
        Words {
            alone: "-f -q -v --force --quiet --verbose --discard --nodiscard --no_passphrase --encrypted \
                    --no_initialize -h",
            valued: "-g -U --uuid --replicas --fs_size --superblock_size --version",
            text: "-l -L --label --fs_label",
            outside: "--source --passphrase_file",
        }
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let ours = ["format", "--force", "--quiet"];
        let mut args = recipe::make_args(&ours, &["--nodiscard"], spec);
        if let Some(bytes) = place.make_bytes {
            args.push(format!("--fs_size={bytes}"));
        }
        args.push(place.device.clone());
        vec![recipe::exec("make", "bcachefs", args)]
    }

    /// The journal is flushed after `journal_flush_delay` milliseconds, 1,000 by default.
    fn periods(&self, options: &[String]) -> Vec<Period> {
        let (what, key) = ("bcachefs journal flush", "journal_flush_delay");
        let delay = Period::from_option(what, options, key, 1000.0);
        vec![Period::new(what, delay.seconds / 1000.0)]
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Linux,
    is_unix_by_design: true,
    article_class: None,
    designed: fact("2015 by Kent Overstreet, for Linux", "bcachefs.org, Principles of Operation"),
    purpose: fact(
        "copy on write with checksums, several devices and tiers",
        "bcachefs.org, Principles of Operation",
    ),
    stable_since: fact(
        "experimental in 6.7 (January 2024) to 6.17; outside the kernel since 6.18",
        "wits.at, news 392 (September 2025); ostechnix.com on the DKMS module",
    ),
    served_by: fact(
        "a module outside the kernel's tree (dkms)",
        "ostechnix.com on the DKMS module",
    ),
    journal: fact(
        "metadata, by copy on write and a journal of tree updates",
        "bcachefs.org, Principles of Operation",
    ),
    devices: fact("several, with replicas and tiers", "bcachefs.org, Principles of Operation"),
    systems: fact("none", "bcachefs.org, Principles of Operation"),
    distributions: fact(
        "the project's own archives; not RHEL, not SUSE; not in Debian 12",
        "byte-bucket.com, 2025-09-30; packages.debian.org",
    ),
    checksums: fact(
        "of data and metadata: crc32c, crc64, xxhash",
        "bcachefs.org, Principles of Operation",
    ),
    compression: fact("lz4, gzip, zstd", "bcachefs.org, Principles of Operation"),
    snapshots: fact("yes, writable ones too", "bcachefs.org, Principles of Operation"),
    encryption: fact(
        "the whole volume: ChaCha20 with Poly1305",
        "bcachefs.org, Principles of Operation",
    ),
    casefold: fact(
        "per directory, with UTF-8",
        "Documentation/filesystems/bcachefs/casefolding.rst",
    ),
    limits: fact("file 8 EiB by Linux", "bcachefs.org, Principles of Operation"),
    looked_up: LOOKED_UP,
};
