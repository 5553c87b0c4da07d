//! A real disk: what it acknowledged until its power went is written down on another machine, which keeps its own.
//!
//! ```text
//! write into DIR ── a line a record ─ ssh ─► witness, into FILE     on another machine
//! power cut, boot, judge DIR by FILE
//! ```
//!
//! A line that is under way when the power goes is not written down: less may be due than was acknowledged, never more.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    path::Path,
    time::Duration,
};

use pickfs_candidate::identity::boot_id;
use pickfs_record::{Durability, quantity::grouped};
use pickfs_report::document::{Document, Node, Role};

use crate::{
    check::{Found, Loss},
    ground::recorder::plain_file,
    oracle::Subject,
    recording::{file, subject, write as write_records},
    session::SessionError,
};

/// In the folder: the first line of what was said.
const NAME: &str = "session";
const FIRST: &str = "pickfs-witnessed-1";
const LINE_BYTES_MAX: u64 = 200;

fn refused<T>(words: impl Into<String>) -> Result<T, SessionError> {
    Err(SessionError::Refused(words.into()))
}

/// Into a new folder, until the power goes; each line tells of one thing that is on the disk by then.
pub fn write(
    dir: &Path,
    writer: &str,
    records: u64,
    say: &mut dyn FnMut(&str) -> io::Result<()>,
) -> Result<(), SessionError> {
    let subject = subject(writer)?;
    if subject.promised() < Durability::PowerLoss {
        return refused(format!("{subject} promises nothing at a power loss; name one that syncs"));
    }
    fs::create_dir(dir).map_err(|error| file(dir, error))?;
    let session = format!("{FIRST} {subject} {:016x} {}", fastrand::u64(..), boot_id());
    // Before the first record the whole file system is synced, this with it.
    fs::write(dir.join(NAME), &session).map_err(|error| file(dir, error))?;
    write_records(dir, subject, (records, Duration::ZERO), &mut |number| {
        let line = if number == 0 { session.clone() } else { number.to_string() };
        let unheard = |error| SessionError::Refused(format!("nobody hears of records: {error}"));
        say(&line).map_err(unheard)
    })
}

/// Whole lines: of the session, then of records, each the next.
struct Lines<R> {
    from: BufReader<R>,
    count: u64,
}

impl<R: Read> Lines<R> {
    fn of(from: R) -> Self {
        Self { from: BufReader::new(from), count: 0 }
    }

    fn session(&mut self) -> Result<String, SessionError> {
        let none = || SessionError::Refused("nothing was said; the writer did not begin".into());
        self.next()?.ok_or_else(none)
    }

    /// `None` at the end, or where the power went within a line.
    fn next(&mut self) -> Result<Option<String>, SessionError> {
        let mut line = Vec::new();
        let read = self.from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let read = read.map_err(|error| SessionError::Refused(format!("not heard: {error}")))?;
        let is_whole = line.last() == Some(&b'\n');
        line.truncate(line.len() - usize::from(is_whole));
        if !is_whole && (read as u64) < LINE_BYTES_MAX {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line).into_owned();
        let is_expected = match self.count {
            0 => line.starts_with(FIRST),
            record => line == record.to_string(),
        };
        if !is_whole || !is_expected {
            let number = self.count + 1;
            return refused(format!(
                "line {number} is {line:?}, and not of `pickfs crash witnessed`"
            ));
        }
        self.count += 1;
        Ok(Some(line))
    }

    fn records(&self) -> u64 {
        self.count.saturating_sub(1)
    }
}

/// Writes down what is said into a new file, durably, until there is no more; gives how many records that were.
pub fn witness(from: impl Read, into: &Path, began: &mut dyn FnMut()) -> Result<u64, SessionError> {
    let unwritten = |error| file(into, error);
    let mut lines = Lines::of(from);
    let mut line = Some(lines.session()?);
    let mut kept = File::create_new(into).map_err(unwritten)?;
    began();
    while let Some(said) = line {
        kept.write_all(format!("{said}\n").as_bytes()).map_err(unwritten)?;
        // Nobody waits for it: what has come already goes with it.
        if lines.from.buffer().is_empty() {
            kept.sync_data().map_err(unwritten)?;
        }
        line = lines.next()?;
    }
    kept.sync_all().map_err(unwritten)?;
    Ok(lines.records())
}

/// What is there of what a witness heard of.
#[derive(Debug)]
pub struct Judged {
    pub writer: Subject,
    pub found: Found,
}

/// By the number of this boot: what is in memory since the records were written says nothing of a disk.
pub fn judge(dir: &Path, heard: &Path, boot: &str) -> Result<Judged, SessionError> {
    let mut lines = Lines::of(plain_file(heard).map_err(|error| file(heard, error))?);
    let session = lines.session()?;
    while lines.next()?.is_some() {}
    let [_, writer, _, before] = session.split(' ').collect::<Vec<_>>()[..] else {
        return refused(format!("{session:?} is not a session of `pickfs crash witnessed`"));
    };
    if before == boot {
        return refused(
            "this machine has not booted since the records were written: nothing of them came from the disk",
        );
    }
    if lines.records() == 0 {
        return refused("the witness heard of no record, so none can be lost");
    }
    let (writer, path) = (subject(writer)?, dir.join(NAME));
    let mut kept = Vec::new();
    let read = plain_file(&path).and_then(|file| file.take(LINE_BYTES_MAX).read_to_end(&mut kept));
    let found = match read {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(file(&path, error)),
        Ok(_) if kept == session.as_bytes() => writer.look(dir),
        Ok(_) if kept.starts_with(FIRST.as_bytes()) => {
            return refused(format!("{} is of another session than the witness", path.display()));
        }
        _ => {
            let words = format!("{} is gone, which was synced before record 1", path.display());
            Found { losses: vec![Loss::Damaged(words)], ..Found::default() }
        }
    };
    Ok(Judged { writer, found: found.judged(lines.records()) })
}

impl Judged {
    pub fn document(&self) -> Document {
        let (found, due) = (&self.found, grouped(self.found.due as i64));
        let told = format!("{due} records of {} that the witness heard of", self.writer);
        let (role, word, sentence) = if found.is_fault() {
            let lied = "If its mount has barriers, the disk said that they were safe, and lied";
            (Role::Opposite, "LOST", format!("of {told}: {}. {lied}.", found.words()))
        } else {
            let again = "A disk that lies may be lucky: cut the power again, while it is busy";
            (Role::Winner, "KEPT", format!("all {told} are there. {again}."))
        };
        Document {
            title: "What a witness heard of".into(),
            nodes: vec![Node::End(role, word.into(), sentence)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITER: &str = "journal/pwrite/fdatasync/none";

    /// Until somebody has heard of so many.
    fn said(dir: &Path, records: usize) -> String {
        let mut lines = Vec::new();
        let ended = write(dir, WRITER, 1000, &mut |line| {
            if lines.len() > records {
                return Err(ErrorKind::BrokenPipe.into());
            }
            lines.push(format!("{line}\n"));
            Ok(())
        });
        assert!(ended.unwrap_err().to_string().starts_with("nobody hears"));
        lines.concat()
    }

    #[test]
    fn a_witness_tells_what_is_lost_and_what_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let [dir, heard] = ["dir", "heard"].map(|name| folder.path().join(name));
        let said = said(&dir, 200);
        let mut has_begun = false;
        // The power goes within the last line.
        let cut = &said.as_bytes()[..said.len() - 2];
        assert_eq!(witness(cut, &heard, &mut || has_begun = true).unwrap(), 199);
        assert!(has_begun && said.as_bytes().starts_with(&fs::read(&heard).unwrap()));
        assert!(witness(cut, &heard, &mut || {}).is_err(), "it is there already");
        let kept = judge(&dir, &heard, "another boot").unwrap();
        assert_eq!((kept.found.due, kept.found.losses.len()), (199, 0), "{kept:?}");
        let same = judge(&dir, &heard, &boot_id()).unwrap_err().to_string();
        assert!(same.contains("not booted"), "{same}");
        fs::remove_dir_all(dir.join("kept")).unwrap();
        let lost = judge(&dir, &heard, "another boot").unwrap();
        assert!(
            matches!(&lost.found.losses[0], Loss::Lost(words) if words.contains("to 199")),
            "{lost:?}"
        );
        fs::write(dir.join(NAME), [0; 40]).unwrap();
        let gone = judge(&dir, &heard, "another boot").unwrap();
        assert_eq!(gone.found.losses.len(), 2, "{gone:?}");
    }

    #[test]
    fn what_belongs_to_no_session_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [dir, other, heard] = ["dir", "other", "heard"].map(|name| folder.path().join(name));
        let [one, two] = [&dir, &other].map(|dir| said(dir, 3));
        let refused = |text: &str| {
            fs::write(&heard, text).unwrap();
            judge(&dir, &heard, "another boot").unwrap_err().to_string()
        };
        assert!(refused(&two).contains("another session"));
        assert!(refused(&format!("{one}5\n")).contains("line 5 is \"5\""));
        assert!(refused(&"x".repeat(5000)).contains("line 1 is"));
        assert!(refused(one.lines().next().unwrap()).contains("nothing was said"));
        assert!(refused(&format!("{}\n", one.lines().next().unwrap())).contains("no record"));
        assert!(refused(&format!("{FIRST}\n1\n")).contains("is not a session"));
        assert!(write(&folder.path().join("new"), "queue/none", 1, &mut |_| Ok(())).is_err());
        assert!(write(&dir, WRITER, 1, &mut |_| Ok(())).is_err(), "it is there already");
    }
}
