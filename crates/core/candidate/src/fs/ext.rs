//! ext2, ext3 and ext4: mke2fs and the driver that serves all three.
//!
//! The block size is always given, because mke2fs takes 1 KiB under 512 MiB.
//! Discard is off and lazy initialisation pinned off, so that nothing is left
//! to be done behind a trial. Source: mke2fs(8), "-E" and "-b".

use pickfs_record::{CandidateSpec, Step};

use super::{
    FileSystem, Formatter, Guest, LogPlace, Make, Place, Program, Timer, limits::Limits, recipe,
    row::packaged, words::Words,
};

pub const EXT4: FileSystem = FileSystem {
    name: "ext4",
    origin: "The fourth extended file system: extents, delayed allocation, a journal (jbd2).",
    kernel_type: "ext4",
    kernel_remedy: "the kernel lacks ext4 (CONFIG_EXT4_FS)",
    formatter: packaged("mkfs.ext4", "e2fsprogs"),
    words: Words {
        alone: "-c -D -F -j -K -n -q -S -v -V",
        valued: "-b -C -e -E -g -G -i -I -J -m -N -o -O -r -R -s -t -T -U",
        text: "-L -M",
        outside: "-d -l -z",
    },
    make: Make::Steps { steps: make, is_sized: true },
    log_apart: Some(journal_apart),
    holds_metadata: true,
    // EXT4_LINK_MAX in fs/ext4/ext4.h; dir_nlink takes the limit from directories.
    limits: Limits { hard_links_max: Some(65_000), ..Limits::NONE },
    // ext4(5).
    timers: &[Timer { option: "commit", ..Timer::new("journal commit", 5.0) }],
    no_barrier: &["nobarrier", "barrier=0"],
    other_driver: "ext4",
    guest: Guest {
        modules: &["ext4"],
        modules_before: &["crc32c_generic"],
        ..FileSystem::BLOCK.guest
    },
    free_extents: "e2freefrag SOURCE",
    checker: "e2fsck -fn SOURCE",
    of_copy: &["errors=remount-ro"],
    ..FileSystem::BLOCK
};

pub const EXT3: FileSystem = FileSystem {
    name: "ext3",
    origin: "ext2 with a journal; since Linux 4.3 there is no ext3 driver, ext4 serves it.",
    kernel_type: "ext3",
    formatter: packaged("mkfs.ext3", "e2fsprogs"),
    lacks: "fallocate",
    // The ext4 driver serves it, but the format lacks dir_nlink.
    limits: Limits::links(65_000),
    ..EXT4
};

pub const EXT2: FileSystem = FileSystem {
    name: "ext2",
    origin: "The second extended file system, without a journal; mainline kernels serve it by the ext4 driver, only a kernel with CONFIG_EXT2_FS has its own.",
    kernel_type: "ext2",
    formatter: packaged("mkfs.ext2", "e2fsprogs"),
    log_apart: None,
    holds_metadata: false,
    // EXT2_LINK_MAX in fs/ext2/ext2.h.
    limits: Limits::links(32_000),
    timers: &[],
    guest: Guest { modules: &["ext2", "ext4"], ..EXT4.guest },
    ..EXT3
};

fn make(row: &FileSystem, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
    const BLOCK_BYTES: u64 = 4096;
    const PINNED: &str = "lazy_itable_init=0,lazy_journal_init=0";
    let Formatter::Packaged(Program { name: program, .. }) = row.formatter else {
        return Vec::new();
    };
    let (extended, words) = split_extended(recipe::make_words(spec));
    let given = words.iter().position(|word| word.starts_with("-b")).and_then(|at| {
        let joined = words[at].trim_start_matches("-b");
        let text = if joined.is_empty() { words.get(at + 1)? } else { joined };
        Some(text.parse().unwrap_or(BLOCK_BYTES))
    });
    let mut args: Vec<String> = vec!["-q".into(), "-F".into()];
    if given.is_none() {
        args.extend(["-b".into(), BLOCK_BYTES.to_string()]);
    }
    let block = given.unwrap_or(BLOCK_BYTES);
    let discard = if recipe::make_discards(spec) { "discard" } else { "nodiscard" };
    let mut pinned = vec![discard.to_string(), PINNED.to_string()];
    pinned.extend(extended);
    args.extend(["-E".into(), pinned.join(",")]);
    args.extend(words);
    let mut steps = Vec::new();
    if let Some(log) = &place.log {
        steps.push(journal(program, log, block, &format!("{discard},{PINNED}")));
        args.extend(["-J".into(), format!("device={}", log.device)]);
    }
    args.push(place.device.clone());
    args.extend(place.make_units(block));
    steps.push(recipe::exec("make", program, args));
    steps
}

/// The journal on a device of its own, in blocks of the file system's size.
fn journal(program: &str, log: &LogPlace, block_bytes: u64, extended: &str) -> Step {
    let (block, count) = (block_bytes.to_string(), (log.bytes / block_bytes.max(1)).to_string());
    let args = ["-q", "-F", "-O", "journal_dev", "-b", &block, "-E", extended, &log.device, &count];
    recipe::exec("make the journal", program, args)
}

/// `-j`, `-J` and `-O ^has_journal` say otherwise.
fn journal_apart(spec: &CandidateSpec) -> bool {
    let inside = |word: String| word == "-j" || word.starts_with("-J");
    let has_none = recipe::make_values(spec, "-O").iter().any(|value| value == "^has_journal");
    !has_none && !recipe::make_words(spec).any(inside)
}

/// mke2fs keeps only the last `-E`, so the candidate's is joined to ours.
fn split_extended(mut words: impl Iterator<Item = String>) -> (Vec<String>, Vec<String>) {
    let (mut extended, mut rest) = (Vec::new(), Vec::new());
    while let Some(word) = words.next() {
        match word.strip_prefix("-E") {
            Some("") => extended.extend(words.next()),
            Some(joined) => extended.push(joined.into()),
            None => rest.push(word),
        }
    }
    (extended, rest)
}

#[cfg(test)]
mod tests {
    use pickfs_record::Durability;

    use super::*;

    fn command(candidate: &str, make_bytes: Option<u64>) -> String {
        let place = Place { make_bytes, ..Place::example() };
        EXT4.make(&candidate.parse().unwrap(), &place)[0].action.to_string()
    }

    #[test]
    fn discard_and_lazy_work_are_pinned_off_and_the_block_size_is_given() {
        assert_eq!(
            command("ext4", None),
            "mkfs.ext4 -q -F -b 4096 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/loopN"
        );
    }

    #[test]
    fn the_candidates_extended_options_join_ours() {
        assert_eq!(
            command("ext4;mkfs=-E stride=4 -b 1024 -O ^has_journal", Some(1 << 20)),
            "mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0,stride=4 \
             -b 1024 -O ^has_journal /dev/loopN 1024"
        );
    }

    #[test]
    fn barriers_off_lowers_the_promise() {
        assert_eq!(EXT4.durability(&["barrier=0".into()]).0, Durability::KernelCrash);
        assert_eq!(EXT4.durability(&["barrier=1".into()]).0, Durability::PowerLoss);
    }
}
