//! What ext2, ext3 and ext4 share: mke2fs and the driver that serves all three.
//!
//! The block size is always given, because mke2fs takes 1 KiB under 512 MiB.
//! Discard is off and lazy initialisation pinned off, so that nothing is left
//! to be done behind a trial. Source: mke2fs(8), "-E" and "-b".

use std::path::Path;

use pickfs_record::{CandidateSpec, Durability, Step};

use super::{LogPlace, Needs, Period, Place, recipe, words::Words};

const BLOCK_BYTES: u64 = 4096;
const PINNED: &str = "lazy_itable_init=0,lazy_journal_init=0";

pub fn make(program: &str, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
    let (extended, words) = split_extended(recipe::make_words(spec));
    let mut args: Vec<String> = vec!["-q".into(), "-F".into()];
    let block = block_bytes(&words);
    if block.is_none() {
        args.extend(["-b".into(), BLOCK_BYTES.to_string()]);
    }
    let block = block.unwrap_or(BLOCK_BYTES);
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

/// Whether the journal may lie on another device: `-j`, `-J` and `-O ^has_journal` say otherwise.
pub fn journal_apart(spec: &CandidateSpec) -> bool {
    let inside = |word: String| word == "-j" || word.starts_with("-J");
    let has_none = recipe::make_values(spec, "-O").iter().any(|value| value == "^has_journal");
    !has_none && !recipe::make_words(spec).any(inside)
}

pub fn words() -> Words {
    Words {
        alone: "-c -D -F -j -K -n -q -S -v -V",
        valued: "-b -C -e -E -g -G -i -I -J -m -N -o -O -r -R -s -t -T -U",
        text: "-L -M",
        outside: "-d -l -z",
    }
}

/// mke2fs keeps only the last `-E`, so the candidate's is joined to ours.
fn split_extended(words: impl Iterator<Item = String>) -> (Vec<String>, Vec<String>) {
    let (mut extended, mut rest) = (Vec::new(), Vec::new());
    let mut words = words;
    while let Some(word) = words.next() {
        match word.strip_prefix("-E") {
            Some("") => extended.extend(words.next()),
            Some(joined) => extended.push(joined.into()),
            None => rest.push(word),
        }
    }
    (extended, rest)
}

fn block_bytes(words: &[String]) -> Option<u64> {
    let at = words.iter().position(|word| word.starts_with("-b"))?;
    let joined = words[at].trim_start_matches("-b");
    let text = if joined.is_empty() { words.get(at + 1)? } else { joined };
    Some(text.parse().unwrap_or(BLOCK_BYTES))
}

pub const fn needs(kernel_types: &'static [&'static str], mkfs: &'static str) -> Needs {
    Needs::block(kernel_types, "the kernel lacks ext4 (CONFIG_EXT4_FS)", mkfs, "e2fsprogs")
}

/// The driver: ext4 serves all three where it knows the device.
pub fn driver(fs_type: &str, device: &str) -> String {
    let served = Path::new("/sys/fs/ext4").join(device).exists();
    if served { "ext4".into() } else { fs_type.into() }
}

/// The journal's commit, every five seconds unless `commit=` says otherwise; ext4(5).
pub fn commit(options: &[String]) -> Vec<Period> {
    vec![Period::from_option("journal commit", options, "commit", 5.0)]
}

/// Barriers off: the data may stay in the device's cache.
pub fn durability(options: &[String]) -> (Durability, &'static str) {
    let off = recipe::has_option(options, "nobarrier")
        || recipe::option_value(options, "barrier") == Some("0");
    if off {
        (Durability::KernelCrash, "barriers are off: fsync does not flush the device's cache")
    } else {
        (Durability::PowerLoss, "fsync ends with a flush of the device")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(candidate: &str, make_bytes: Option<u64>) -> String {
        let place = Place { make_bytes, ..Place::example() };
        make("mkfs.ext4", &candidate.parse().unwrap(), &place)[0].action.to_string()
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
        assert_eq!(durability(&["barrier=0".into()]).0, Durability::KernelCrash);
        assert_eq!(durability(&["barrier=1".into()]).0, Durability::PowerLoss);
    }
}
