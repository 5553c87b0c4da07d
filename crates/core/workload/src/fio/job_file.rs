//! What could lead elsewhere is refused when it is read ([`super::options`]).
//! Source: fio(1), "Job file format": sections, `global` for all that follow, `;` and `#` begin a
//! comment at the start of a line.

use std::collections::BTreeMap;

use pickfs_record::{quantity::parse_duration_ns, typed::program};

use super::options::{is_known, refused_section, refused_value};

/// Bytes of a line: fio reads the rest of one with 4096 as a line by itself.
const LINE_MAX_BYTES: usize = 2000;

#[derive(Debug, Clone, PartialEq)]
pub struct JobFile {
    pub jobs: Vec<Job>,
    /// What was read, line by line, without comments and without `directory`.
    lines: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    pub name: String,
    options: BTreeMap<String, String>,
}

/// An option with its value; `1` where none stands.
fn option(line: &str) -> (String, String) {
    let (name, value) = line.split_once('=').unwrap_or((line, "1"));
    let name = match name.trim() {
        "readwrite" => "rw",
        "blocksize" => "bs",
        name => name,
    };
    (name.to_owned(), value.trim().to_owned())
}

fn section(line: &str) -> Option<&str> {
    line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
}

/// What fio reads of a line: a comment may begin anywhere.
fn said(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default().trim()
}

/// Why a line is not taken, if it is not.
fn refused(line: &str) -> Option<String> {
    let wrong = |why: &str| {
        let text: String = line.chars().take(80).collect();
        Some(format!("`{text}`: {why}"))
    };
    if line.len() > LINE_MAX_BYTES {
        return wrong("the line is too long for fio; write at most 2000 bytes");
    }
    if line.contains(|sign: char| sign.is_control() && sign != '\t') {
        return wrong("it has a control character; leave it out");
    }
    if line.split_whitespace().next() == Some("include") {
        return Some("`include` is not followed; put that file's lines here".into());
    }
    if let Some(name) = section(line) {
        return refused_section(name).and_then(wrong);
    }
    let (name, value) = option(line);
    if is_known(&name) {
        return refused_value(&name, &value).and_then(|why| wrong(&why));
    }
    let (name, program): (String, _) = (name.chars().take(80).collect(), program());
    Some(format!(
        "pickfs does not take the fio option `{name}`, for it could name a file, program, device, host or user; \
         leave it out, or run fio as a command that you see: {program} exec --fs ext4,xfs -- 'fio ...'"
    ))
}

impl JobFile {
    pub fn read(text: &str) -> Result<JobFile, String> {
        let (mut global, mut is_global) = (BTreeMap::new(), false);
        let (mut jobs, mut lines): (Vec<Job>, Vec<String>) = Default::default();
        for (index, line) in text.lines().map(said).enumerate() {
            let number = index + 1;
            if line.is_empty() {
                continue;
            }
            if section(line).is_none() && !is_global && jobs.is_empty() {
                return Err(format!("line {number}: `{line}` stands before any [job]"));
            }
            if let Some(why) = refused(line) {
                return Err(format!("line {number}: {why}"));
            }
            if let Some(name) = section(line) {
                lines.push(line.into());
                is_global = name == "global";
                if !is_global {
                    jobs.push(Job { name: name.into(), options: global.clone() });
                }
                continue;
            }
            let (name, value) = option(line);
            if name != "directory" {
                lines.push(line.into());
            }
            match (is_global, jobs.last_mut()) {
                (false, Some(job)) => job.options.insert(name, value),
                _ => global.insert(name, value),
            };
        }
        match jobs.is_empty() {
            true => Err("no job in it: a job is a section [name] other than [global]".into()),
            false => Ok(JobFile { jobs, lines }),
        }
    }

    /// The file for a directory of ours, and what was changed in words: `directory` becomes it,
    /// absolute names become plain names in it.
    pub fn led_into(&self, directory: &str) -> (String, Vec<String>) {
        let mut notes = Vec::new();
        let mut text = format!("[global]\ndirectory={directory}\n");
        for line in &self.lines {
            match option(line) {
                (name, value) if name == "filename" && value.contains('/') => {
                    let inside = plain_names(&value);
                    notes.push(format!("filename={value} is {inside} in the mount"));
                    text.push_str(&format!("filename={inside}\n"));
                }
                _ => text.push_str(&format!("{line}\n")),
            }
        }
        (text, notes)
    }
}

/// `/mnt/a/log:/mnt/b/log` as `mnt-a-log:mnt-b-log`.
pub(super) fn plain_names(value: &str) -> String {
    let plain = |path: &str| path.trim_matches('/').replace("../", "").replace('/', "-");
    value.split(':').map(plain).collect::<Vec<_>>().join(":")
}

impl Job {
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    pub fn number(&self, name: &str) -> f64 {
        self.option(name).and_then(|value| value.parse().ok()).unwrap_or(0.0)
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.option(name).is_some_and(|value| !matches!(value, "0" | "none"))
    }

    fn direction(&self) -> &str {
        self.option("rw").unwrap_or("read")
    }

    /// Whether it reads; fio's default does.
    pub fn reads(&self) -> bool {
        self.direction().contains("read") || self.direction().contains("rw")
    }

    pub fn writes(&self) -> bool {
        self.direction().contains("write") || self.direction().contains("rw")
    }

    pub fn has_rate(&self) -> bool {
        self.is_on("rate") || self.is_on("rate_iops")
    }

    pub(super) fn expected_s(&self) -> Option<f64> {
        let seconds = |text: &str| match text.parse::<f64>() {
            Ok(plain) => Some(plain),
            Err(_) => parse_duration_ns(text).ok().map(|ns| ns as f64 / 1e9),
        };
        self.option("runtime").and_then(seconds)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "; a comment\n[global]\ndirectory=/mnt/x\nsize=4m\n[seq]\nrw=write\nfdatasync=1\n\
                        [mix]\nstonewall\nreadwrite=randrw\nfilename=/mnt/d/foo:bar\n";

    #[test]
    fn jobs_have_their_own_options_and_those_of_global() {
        let file = JobFile::read(FILE).unwrap();
        let [seq, mix] = file.jobs.as_slice() else { panic!("two jobs") };
        assert_eq!((seq.name.as_str(), seq.option("size")), ("seq", Some("4m")));
        assert!(seq.writes() && !seq.reads() && seq.is_on("fdatasync"));
        assert!(mix.writes() && mix.reads() && mix.is_on("stonewall") && !mix.is_on("fdatasync"));
    }

    #[test]
    fn places_are_led_into_the_mount_and_told() {
        let (text, notes) = JobFile::read(FILE).unwrap().led_into("/m/work");
        assert!(text.contains("\ndirectory=/m/work\n") && !text.contains("/mnt/"), "{text}");
        assert!(text.contains("\nfilename=mnt-d-foo:bar\n"), "{text}");
        assert_eq!(notes, ["filename=/mnt/d/foo:bar is mnt-d-foo:bar in the mount"]);
        assert_eq!(JobFile::read(&text).unwrap().jobs.len(), 2);
    }

    #[test]
    fn what_leads_outside_the_mount_is_refused_with_its_line() {
        let long = format!("filename={}exec_prerun=id", "a".repeat(4086));
        for line in [
            "filename_format=/dev/loop4",
            "filename_format=../../../tmp/x",
            "filename=${VAR}",
            "filename=a:..",
            "filename=/",
            "filename=/../",
            "read_iolog=FILE",
            "write_iolog=FILE",
            "write_lat_log=/tmp/x",
            "exec_prerun=id > /tmp/x",
            "exec_postrun = id",
            "opendir=/etc",
            "ioscheduler=none",
            "cgroup=x",
            "uid=0",
            "profile=act",
            "name=/dev/loop4",
            "verify_state_load=1",
            "replay_redirect=/dev/loop4",
            "EXEC_PRERUN=id",
            "include other.fio",
            "include\tother.fio",
            "includeother.fio",
            "ioengine=external:./a.so",
            "ioengine=exec",
            "ioengine=net",
            "mem=mmaphuge:/x",
            "iomem=mmap:x",
            "size=$ncpus';id;'",
            "buffer_pattern='secret'",
            "verify_pattern='secret'",
            "runtime=/dev/loop4",
            "rw=write\u{b}exec_prerun=id",
            &long,
            "[/dev/loop4]",
            "[..]",
            "[a/../b]",
            "[global2]",
            "[a",
        ] {
            let error = JobFile::read(&format!("[a]\n{line}\n[b]\n")).expect_err(line);
            assert!(error.starts_with("line 2: "), "{line}: {error}");
        }
        let error = JobFile::read("[a]\nexec_prerun=id\n").unwrap_err();
        assert!(error.contains("`exec_prerun`") && error.contains(" exec --fs "), "{error}");
    }

    #[test]
    fn what_a_benchmark_needs_is_taken_and_given_to_fio_as_it_stands() {
        let options = "directory=${WHERE}\nioengine=io_uring\nbssplit=4k/50:8k/50\nrate_iops=100\nstonewall\n\
                       random_distribution=zoned:60/10:40/90\nverify=crc32c\nthinktime=1ms\nwait_for=b";
        let (text, _) =
            JobFile::read(&format!("[b]\n[a]\n{options} ; why\n")).unwrap().led_into("/m");
        let given = options.split_once('\n').unwrap().1;
        assert_eq!(text, format!("[global]\ndirectory=/m\n[b]\n[a]\n{given}\n"));
    }

    #[test]
    fn what_cannot_be_used_is_told_with_its_line() {
        let wrong = |text: &str| JobFile::read(text).unwrap_err();
        assert_eq!(wrong("rw=read\n"), "line 1: `rw=read` stands before any [job]");
        assert!(wrong("[a]\ninclude other.fio\n").starts_with("line 2: `include`"));
        assert!(wrong("[global]\nbs=4k\n").contains("no job in it"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\[?[a-z/]{0,4}\\]?=?[a-z0-9/:]{0,4}\n){0,6}") {
            let _ = JobFile::read(&text);
        }

        #[test]
        fn no_file_name_has_a_slash(name in "[a./:;#]{1,8}") {
            if let Ok(file) = JobFile::read(&format!("[a]\nfilename={name}\n")) {
                let (text, _) = file.led_into("m");
                assert!(!text.contains('/') && !text.contains("=..\n"), "{text}");
            }
        }
    }
}
