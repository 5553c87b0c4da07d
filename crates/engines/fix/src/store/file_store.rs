//! What QuickFIX keeps, in the way it writes it: many small writes to three files of each session, and no sync.
//!
//! | file | holds | written |
//! |---|---|---|
//! | `.body` | what was sent, end to end | behind its end, for each message out |
//! | `.header` | `sequence,offset,bytes ` for each of them | behind its end, for each message out |
//! | `.seqnums` | both next sequence numbers in 23 bytes | over and over at its beginning, for each message in or out |
//!
//! An order and its report are four writes and four seeks. What came in is not kept, so an order book cannot be
//! built again from it; and a crash between two of the writes leaves them telling different stories. This is the
//! store to compare with, not one to choose.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::{Each, Entry, EntryKind, Gate, Result, SessionNumber, Store, StoreError};

struct Files {
    name: String,
    body: File,
    header: File,
    seqnums: File,
    body_bytes: u64,
    next_in: u64,
    next_out: u64,
}

pub struct FileStore {
    directory: PathBuf,
    sessions: Vec<Files>,
    line: Vec<u8>,
}

fn open(directory: &Path, name: &str, suffix: &str) -> Result<File> {
    let path = directory.join(format!("{name}.{suffix}"));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(&path).map_err(StoreError::io("open", path))
}

fn text_of(file: &mut File, path: &Path) -> Result<String> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).map_err(StoreError::io("seek", path))?;
    file.read_to_string(&mut text).map_err(StoreError::io("read", path))?;
    Ok(text)
}

impl Files {
    fn open(directory: &Path, name: &str) -> Result<Files> {
        let mut seqnums = open(directory, name, "seqnums")?;
        let body = open(directory, name, "body")?;
        let body_bytes = body.metadata().map_err(StoreError::io("stat", directory))?.len();
        let text = text_of(&mut seqnums, directory)?;
        let mut numbers = text.split(" : ").map(|number| number.trim().parse().unwrap_or(1));
        // QuickFIX writes what it sends next first.
        let (next_out, next_in) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(1));
        let header = open(directory, name, "header")?;
        Ok(Files { name: name.into(), body, header, seqnums, body_bytes, next_in, next_out })
    }

    fn clear(&mut self) -> std::io::Result<()> {
        self.body.set_len(0)?;
        self.header.set_len(0)?;
        (self.body_bytes, self.next_in, self.next_out) = (0, 1, 1);
        Ok(())
    }
}

fn put(file: &mut File, place: SeekFrom, bytes: &[u8]) -> std::io::Result<()> {
    file.seek(place)?;
    file.write_all(bytes)
}

impl FileStore {
    pub fn open(directory: &Path) -> Result<FileStore> {
        std::fs::create_dir_all(directory).map_err(StoreError::io("make", directory))?;
        let list = directory.join("sessions");
        let names = std::fs::read_to_string(&list).unwrap_or_default();
        let sessions = names.lines().map(|name| Files::open(directory, name));
        Ok(FileStore {
            directory: directory.into(),
            sessions: sessions.collect::<Result<_>>()?,
            line: Vec::with_capacity(64),
        })
    }

    fn begin(&mut self, name: &[u8]) -> Result {
        // A name becomes part of a file's name.
        let plain = |byte: &u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => char::from(*byte),
            _ => '_',
        };
        let name: String =
            format!("{}-{}", self.sessions.len(), name.iter().map(plain).collect::<String>());
        self.sessions.push(Files::open(&self.directory, &name)?);
        let names: String = self.sessions.iter().map(|files| format!("{}\n", files.name)).collect();
        let list = self.directory.join("sessions");
        std::fs::write(&list, names).map_err(StoreError::io("write", list))
    }

    fn write(&mut self, entry: &Entry<'_>) -> std::io::Result<()> {
        let files = &mut self.sessions[entry.session as usize];
        match entry.kind {
            EntryKind::Session => return Ok(()),
            EntryKind::In | EntryKind::Refused => files.next_in = entry.next,
            EntryKind::Reset => files.clear()?,
            EntryKind::OutAdministrative | EntryKind::OutBusiness => {
                put(&mut files.body, SeekFrom::End(0), entry.message)?;
                self.line.clear();
                let (at, bytes) = (files.body_bytes, entry.message.len());
                write!(self.line, "{},{at},{bytes} ", entry.sequence)?;
                put(&mut files.header, SeekFrom::End(0), &self.line)?;
                files.body_bytes += bytes as u64;
                files.next_out = entry.next;
            }
        }
        self.line.clear();
        write!(self.line, "{:010} : {:010}", files.next_out, files.next_in)?;
        put(&mut files.seqnums, SeekFrom::Start(0), &self.line)
    }
}

/// Sequence, offset, bytes.
fn place_of(line: &str) -> Option<(u64, u64, u64)> {
    let mut numbers = line.split(',').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

impl Store for FileStore {
    fn keep(&mut self, entry: &Entry<'_>) -> Result {
        if entry.kind == EntryKind::Session {
            return self.begin(entry.message);
        }
        let written = self.write(entry);
        written.map_err(|source| StoreError::Io {
            verb: "write",
            path: self.directory.clone(),
            source,
        })
    }

    fn wait(&mut self, _gate: Gate) -> Result {
        Ok(())
    }

    fn resend(
        &mut self,
        session: SessionNumber,
        range: RangeInclusive<u64>,
        each: &mut Each<'_>,
    ) -> Result {
        let Some(files) = self.sessions.get_mut(session as usize) else { return Ok(()) };
        let lines = text_of(&mut files.header, &self.directory)?;
        for (sequence, at, bytes) in lines.split_ascii_whitespace().filter_map(place_of) {
            if !range.contains(&sequence) {
                continue;
            }
            let mut message = vec![0; usize::try_from(bytes).unwrap_or(0)];
            let read = files.body.seek(SeekFrom::Start(at));
            read.and_then(|_| files.body.read_exact(&mut message))
                .map_err(StoreError::io("read", &self.directory))?;
            let kind = kind_of(&message);
            let message = &message[..];
            let entry = Entry { kind, session, sequence, next: sequence + 1, time_ns: 0, message };
            if kind == EntryKind::OutBusiness && each(&entry).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn replay(&mut self, each: &mut dyn FnMut(&Entry<'_>) -> Result) -> Result {
        for (session, files) in (0..).zip(&self.sessions) {
            let name = files.name.split_once('-').map_or("", |(_, name)| name);
            let entry = |kind, next: u64, message| Entry {
                kind,
                session,
                sequence: next.saturating_sub(1),
                next,
                time_ns: 0,
                message,
            };
            each(&entry(EntryKind::Session, 0, name.as_bytes()))?;
            each(&entry(EntryKind::In, files.next_in, &[]))?;
            each(&entry(EntryKind::OutAdministrative, files.next_out, &[]))?;
        }
        Ok(())
    }

    fn keeps_incoming(&self) -> bool {
        false
    }
}

fn kind_of(message: &[u8]) -> EntryKind {
    match crate::codec::Message::parse(message) {
        Ok(message) if !message.header.kind.is_administrative() => EntryKind::OutBusiness,
        _ => EntryKind::OutAdministrative,
    }
}
