use pickfs_record::{Action, CandidateSpec, Step};

use super::{FileSystem, Place, Size};

/// A word in a candidate's mkfs options that is ours, not the program's: let mkfs discard.
const DISCARD: &str = "discard";

pub fn exec<I, S>(purpose: &str, program: &str, args: I) -> Step
where
    I: IntoIterator<Item = S>,
    S: Into<String>,
{
    let args = args.into_iter().map(Into::into).collect();
    Step { purpose: purpose.into(), action: Action::Exec { program: program.into(), args } }
}

pub fn call<I, S>(purpose: &str, name: &str, args: I) -> Step
where
    I: IntoIterator<Item = S>,
    S: Into<String>,
{
    let args = args.into_iter().map(Into::into).collect();
    Step { purpose: purpose.into(), action: Action::Call { name: name.into(), args } }
}

/// `size=BYTES` where it is less than the device and the format can be.
pub fn own_format(name: &str, spec: &CandidateSpec, place: &Place, is_sized: bool) -> Vec<Step> {
    let size = place.make_units(1).filter(|_| is_sized).map(|bytes| format!("size={bytes}"));
    let args = [name.into(), place.device.clone()].into_iter().chain(size).chain(make_words(spec));
    vec![call("make", "format", args)]
}

pub fn mount(source: &str, fs_type: &str, options: Vec<String>, at: &str) -> Step {
    let (source, fs_type, at) = (source.into(), fs_type.into(), at.into());
    Step { purpose: "mount".into(), action: Action::Mount { source, fs_type, options, at } }
}

/// Options, device, mount point.
pub fn helper_args(spec: &CandidateSpec, place: &Place) -> Vec<String> {
    let mut args = Vec::new();
    if !spec.mount_options.is_empty() {
        args.extend(["-o".into(), spec.mount_options.join(",")]);
    }
    args.extend([place.device.clone(), place.at.clone()]);
    args
}

pub fn mount_device(fs_type: &str, options: Vec<String>, place: &Place) -> Vec<Step> {
    vec![mount(&place.device, fs_type, options, &place.at)]
}

pub fn unmount(at: &str) -> Step {
    Step { purpose: "unmount".into(), action: Action::Unmount { at: at.into() } }
}

pub fn make_discards(spec: &CandidateSpec) -> bool {
    spec.mkfs_options.iter().any(|word| word == DISCARD)
}

pub fn make_words(spec: &CandidateSpec) -> impl Iterator<Item = String> + '_ {
    spec.mkfs_options.iter().filter(|word| *word != DISCARD).cloned()
}

/// The values of an option of the mkfs program, joined to it or in the next word, cut at commas.
pub fn make_values(spec: &CandidateSpec, option: &str) -> Vec<String> {
    let mut words = make_words(spec);
    let mut values = Vec::new();
    while let Some(word) = words.next() {
        let value = match word.strip_prefix(option) {
            Some("") => words.next().unwrap_or_default(),
            Some(joined) => joined.to_owned(),
            None => continue,
        };
        values.extend(value.split(',').map(str::to_owned));
    }
    values
}

/// Arguments in this order: ours, the flag that keeps mkfs from discarding, the candidate's.
pub fn make_args(ours: &[&str], no_discard: &[&str], spec: &CandidateSpec) -> Vec<String> {
    let quiet: &[&str] = if make_discards(spec) { &[] } else { no_discard };
    ours.iter().chain(quiet).map(|word| word.to_string()).chain(make_words(spec)).collect()
}

/// The device, and the size where that is less.
pub fn with_device(mut args: Vec<String>, size: Size, place: &Place) -> Vec<String> {
    let (mut before, mut behind) = (None, None);
    match size {
        Size::Whole => {}
        Size::Units(unit_bytes) => behind = place.make_units(unit_bytes),
        Size::Sectors => behind = place.make_units(place.sector_bytes.into()),
        Size::Words(words) => before = place.make_units(1).map(|bytes| words.replace("{}", &bytes)),
    }
    args.extend(before.iter().flat_map(|words| words.split(' ')).map(str::to_owned));
    args.push(place.device.clone());
    args.extend(behind);
    args
}

/// A mount with `nodiscard`, for drivers that discard unless told.
pub fn mount_without_discard(row: &FileSystem, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
    mount_device(row.kernel_type, options_without_discard(spec), place)
}

fn options_without_discard(spec: &CandidateSpec) -> Vec<String> {
    let speaks = |option: &String| {
        option == "discard" || option == "nodiscard" || option.starts_with("discard=")
    };
    let mut options = spec.mount_options.clone();
    if !options.iter().any(speaks) {
        options.push("nodiscard".into());
    }
    options
}

/// The value of `key=value` among options; the last one counts, as it does for the kernel.
pub fn option_value<'a>(options: &'a [String], key: &str) -> Option<&'a str> {
    let pairs = options.iter().rev().filter_map(|option| option.split_once('='));
    pairs.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value)
}

pub fn has_option(options: &[String], word: &str) -> bool {
    options.iter().any(|option| option == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodiscard_is_added_only_where_the_candidate_is_silent() {
        let options = |text: &str| options_without_discard(&text.parse().unwrap());
        assert_eq!(options("btrfs:noatime"), ["noatime", "nodiscard"]);
        assert_eq!(options("btrfs:discard=async"), ["discard=async"]);
        assert_eq!(options("btrfs:discard"), ["discard"]);
    }

    #[test]
    fn the_word_discard_switches_the_flag_off_and_is_not_passed_on() {
        let args = |text: &str| make_args(&["-f"], &["-K"], &text.parse().unwrap());
        assert_eq!(args("xfs;mkfs=-m crc=1"), ["-f", "-K", "-m", "crc=1"]);
        assert_eq!(args("xfs;mkfs=discard -m crc=1"), ["-f", "-m", "crc=1"]);
    }

    #[test]
    fn the_last_of_two_values_counts() {
        let options = ["commit=5".to_string(), "commit=9".to_string()];
        assert_eq!(option_value(&options, "commit"), Some("9"));
    }
}
