//! Times that a program kept of its own operations: an interval log in its directory, or a table that it printed. The
//! file is of somebody with other rights than ours, perhaps: nothing outside of the directory is read.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    os::unix::fs::FileExt,
    path::Path,
};

use pickfs_record::{
    interval_log::{Tags, op_of_log},
    plan::Statistic,
    record::OpRecord,
};
use rustix::{
    fs::{Mode, OFlags, ResolveFlags, openat2},
    io::Errno,
};

use super::{jlbh, place::Place, run::Ran};
use crate::fault::Fault;

/// A second of 10,000 operations takes about a kilobyte.
const LOG_BYTES_MAX: u64 = 64 << 20;
/// Of a log that goes on: an interval with its time of day, at least.
const COMPARED_BYTES: usize = 4 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A file of the directory, by seconds.
    Log { file: String, tags: Tags, unit_ns: u64 },
    /// A probe of JLBH.
    Table { probe: String },
}

impl Source {
    /// `hlog:FILE#TAG,TAG`, `hlog-us:FILE` or `jlbh#PROBE`. None where it is neither.
    pub(super) fn read(text: &str) -> Option<Result<Source, String>> {
        let (head, tag) = text.split_once('#').map_or((text, None), |(h, tag)| (h, Some(tag)));
        if head == "jlbh" {
            let probe = tag.unwrap_or(jlbh::END_TO_END).into();
            return Some(Ok(Source::Table { probe }));
        }
        let (kind, file) = head.split_once(':')?;
        let unit_ns = match kind {
            "hlog" => 1,
            "hlog-us" => 1_000,
            "hlog-ms" => 1_000_000,
            _ => return None,
        };
        let file = file.strip_prefix("{dir}/").unwrap_or(file);
        if file.is_empty() || Path::new(file).is_absolute() {
            let why = "name a file in the directory where the command runs";
            return Some(Err(format!("`{file}`: {why}")));
        }
        let one = |tag: &str| vec![tag.to_owned()];
        let tags = match tag.map(|tag| tag.split_once(',').unwrap_or((tag, ""))) {
            None => {
                Tags { service: vec![String::new(), "service".into()], response: one("response") }
            }
            Some((service, "")) => Tags { service: one(service), response: Vec::new() },
            Some((service, response)) => Tags { service: one(service), response: one(response) },
        };
        Some(Ok(Source::Log { file: file.into(), tags, unit_ns }))
    }

    pub(super) fn names_response(&self) -> bool {
        matches!(self, Source::Log { tags, .. } if tags.service.len() == 1 && !tags.response.is_empty())
    }

    pub(super) fn carries(&self, judge: Statistic) -> bool {
        match self {
            Source::Log { .. } => judge.is_time() && judge.is_ranked(),
            Source::Table { .. } => matches!(judge, Statistic::Quantile(_)),
        }
    }

    pub(super) fn judged_by(&self) -> &'static str {
        match self {
            Source::Log { .. } => "a log is judged by mean, sd, min, worst or a quantile like p99",
            Source::Table { .. } => "a table of JLBH is judged by a quantile like p99",
        }
    }
}

/// How far a log was read after the run before, and the end of that: a program may go on in it.
#[derive(Debug, Default)]
struct Seen {
    bytes: u64,
    end: Vec<u8>,
}

/// What the runs of a trial told by one source.
#[derive(Debug)]
pub(super) struct Kept {
    op: String,
    source: Source,
    seen: Seen,
    records: Vec<OpRecord>,
    runs: Vec<jlbh::Run>,
}

impl Kept {
    pub(super) fn new(op: &str, source: Source) -> Kept {
        let (seen, records, runs) = Default::default();
        Kept { op: op.into(), source, seen, records, runs }
    }

    /// After a run; one of the warm-up is only passed over.
    pub(super) fn take(&mut self, ran: &Ran, place: &Place, counts: bool) -> Result<(), Fault> {
        let failed = |why: String| Fault::Failed { reason: format!("metric {}: {why}", self.op) };
        match &self.source {
            Source::Table { probe } => {
                let runs = jlbh::runs(&ran.output.text(), probe).map_err(|why| {
                    let said = super::end_of(&[&ran.output, &ran.errors]);
                    failed(format!("{why}; it said: {said}"))
                })?;
                self.runs.extend(runs.into_iter().filter(|_| counts));
            }
            Source::Log { file, tags, unit_ns } => {
                let told = |why: String| failed(format!("{file}: {why}"));
                let new = text_of(&place.directory, file, &mut self.seen).map_err(told)?;
                if new.trim().is_empty() {
                    return Err(told("this run wrote nothing to it".into()));
                }
                if counts {
                    let record = op_of_log(&self.op, &new, tags, *unit_ns).map_err(told)?;
                    self.records.push(record);
                }
            }
        }
        Ok(())
    }

    pub(super) fn record(&mut self) -> Result<OpRecord, Fault> {
        match self.source {
            Source::Table { .. } => Ok(jlbh::record(&self.op, &self.runs)),
            Source::Log { .. } => OpRecord::merged(std::mem::take(&mut self.records), 0)
                .map_err(|reason| Fault::Failed { reason }),
        }
    }
}

const DID_NOT_WRITE: &str = "the command did not write it in its working directory, $PICKFS_DIR";

/// What is new in a log; all of it where it was written anew.
fn text_of(directory: &Path, file: &str, seen: &mut Seen) -> Result<String, String> {
    let unread = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => DID_NOT_WRITE.into(),
        _ => format!("cannot be read: {error}"),
    };
    let directory = File::open(directory).map_err(unread)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let file =
        openat2(directory, file, flags, Mode::empty(), beneath).map_err(|error| match error {
            Errno::PERM | Errno::NOSYS => {
                "openat2 is refused; let the container's seccomp profile allow it".into()
            }
            other => unread(other.into()),
        })?;
    let mut file = File::from(file);
    if !file.metadata().map_err(unread)?.is_file() {
        return Err("is a folder, a device or a pipe; it must be a file".into());
    }
    let (mut end, at) = (vec![0; seen.end.len()], seen.bytes - seen.end.len() as u64);
    let goes_on = file.read_exact_at(&mut end, at).is_ok();
    let from = if goes_on && end == seen.end { seen.bytes } else { 0 };
    file.seek(SeekFrom::Start(from)).map_err(unread)?;
    let mut text = String::new();
    file.take(LOG_BYTES_MAX + 1).read_to_string(&mut text).map_err(unread)?;
    if text.len() as u64 > LOG_BYTES_MAX {
        return Err("has more than 64 MiB; log longer intervals".into());
    }
    let end = &text.as_bytes()[text.len().saturating_sub(COMPARED_BYTES)..];
    *seen = Seen { bytes: from + text.len() as u64, end: end.to_vec() };
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_source_is_read_with_its_tags_and_its_unit() {
        let log = |text: &str| match Source::read(text) {
            Some(Ok(Source::Log { file, tags, unit_ns })) => {
                (file, tags.service.join("|"), tags.response.join("|"), unit_ns)
            }
            other => panic!("{other:?}"),
        };
        let usual = (String::from("a/b.hlog"), "|service".into(), "response".into(), 1);
        assert_eq!(log("hlog:{dir}/a/b.hlog"), usual);
        assert_eq!(log("hlog-us:b#w,due"), ("b".into(), "w".into(), "due".into(), 1_000));
        assert_eq!(log("hlog-ms:b#w"), ("b".into(), "w".into(), String::new(), 1_000_000));
        let probe = |text: &str| Source::read(text).unwrap().unwrap();
        assert_eq!(probe("jlbh"), Source::Table { probe: "End to End".into() });
        assert_eq!(probe("jlbh#append"), Source::Table { probe: "append".into() });
        assert!(Source::read("/hlog:a/").is_none() && Source::read("$.jlbh").is_none());
        assert!(Source::read("hlog:/etc/shadow").unwrap().unwrap_err().contains("/etc/shadow"));
    }

    #[test]
    fn nothing_but_a_file_of_the_directory_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("work");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(folder.path().join("secret"), "key").unwrap();
        std::fs::write(inside.join("log"), "text").unwrap();
        symlink("../secret", inside.join("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            inside.join("pipe"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        let said = |file: &str| text_of(&inside, file, &mut Seen::default());
        assert_eq!(said("log").unwrap(), "text");
        for outside in ["link", "../secret", "none", "pipe", "."] {
            assert!(said(outside).is_err(), "{outside}");
        }
        assert_eq!(said("none").unwrap_err(), DID_NOT_WRITE);
        assert!(said("pipe").unwrap_err().contains("must be a file"));
    }

    #[test]
    fn a_log_that_goes_on_is_read_on_and_one_written_anew_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut seen = Seen::default();
        let mut after = |text: &str| {
            std::fs::write(folder.path().join("log"), text).unwrap();
            text_of(folder.path(), "log", &mut seen).unwrap()
        };
        let long = "x".repeat(3 * COMPARED_BYTES);
        assert_eq!(after(&long), long);
        assert_eq!(after(&format!("{long}more\n")), "more\n");
        assert_eq!(after("new"), "new");
        assert_eq!(after("newer"), "er");
        assert_eq!(after("else"), "else");
    }
}
