//! Records that many hosts write into one file, and what became of them: each can be told from any other by itself.
//!
//! ```text
//! bytes   0       8      12        16       24
//!         | sum   | lane | attempt | number | "pkfs", lane, number: again and again to the end |
//! ```

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use pickfs_sys::closing::close;

use crate::{fault::Fault, workload::Session};

pub(super) const BYTES_MIN: usize = 64;
pub(super) const BYTES_MAX: usize = 65_536;
const HEAD: usize = 24;
const MARK: u32 = u32::from_le_bytes(*b"pkfs");
/// Hours of appends; more is none of ours.
const FILE_BYTES_MAX: u64 = 1 << 30;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) lane: u32,
    pub(super) number: u64,
    /// Of one whose earlier attempts were refused, and may be there all the same.
    pub(super) attempt: u32,
}

impl Record {
    /// What stands behind its head, again and again.
    fn piece(&self) -> u64 {
        u64::from(MARK) | (u64::from(self.lane as u16) << 32) | (self.number << 48)
    }

    /// At least [`BYTES_MIN`] bytes, and a multiple of eight.
    pub(super) fn fill(&self, bytes: &mut [u8]) {
        let first = u64::from(self.lane) | (u64::from(self.attempt) << 32);
        let head = [first, self.number].map(u64::to_le_bytes).concat();
        bytes[8..HEAD].copy_from_slice(&head);
        let piece = self.piece().to_le_bytes();
        bytes[HEAD..].chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&piece));
        let sum = sum(&bytes[8..]);
        bytes[..8].copy_from_slice(&sum.to_le_bytes());
    }

    /// Nothing where one byte is another. No record begins among the pieces of one, so that whoever looks at each byte of
    /// a file reads it a few times, whoever wrote it.
    pub(super) fn read(bytes: &[u8]) -> Option<Record> {
        let (first, number) = (word(bytes, 8), word(bytes, 16));
        let (lane, attempt) = (first as u32, (first >> 32) as u32);
        let record = Record { lane, number, attempt };
        let mut pieces = bytes.get(HEAD..BYTES_MIN.max(bytes.len()))?.chunks_exact(8);
        let is_own = lane != MARK && pieces.all(|piece| word(piece, 0) == record.piece());
        (is_own && word(bytes, 0) == sum(&bytes[8..])).then_some(record)
    }
}

pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// FNV-1a (Fowler, Noll, Vo), of 64 bits.
fn sum(bytes: &[u8]) -> u64 {
    let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, add)
}

/// Runs of bytes that are no record: of nothing but zeros, of one record, of several.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Strays {
    pub(super) holes: u64,
    pub(super) torn: u64,
    pub(super) mixed: u64,
}

/// Each record of these bytes to `keep`.
pub(super) fn sift(bytes: &[u8], size: usize, mut keep: impl FnMut(Record)) -> Strays {
    let mut strays = Strays::default();
    let (mut at, mut stray) = (0, 0);
    while at < bytes.len() {
        match bytes.get(at..at + size).and_then(Record::read) {
            Some(record) => {
                strays.count(&bytes[stray..at]);
                keep(record);
                at += size;
                stray = at;
            }
            None => at += 1,
        }
    }
    strays.count(&bytes[stray..]);
    strays
}

impl Strays {
    fn count(&mut self, run: &[u8]) {
        let mut pieces = run.windows(8).filter(|bytes| word(bytes, 0) as u32 == MARK);
        match pieces.next() {
            _ if run.is_empty() => {}
            None if run.iter().all(|byte| *byte == 0) => self.holes += 1,
            Some(first) if pieces.any(|other| other != first) => self.mixed += 1,
            _ => self.torn += 1,
        }
    }
}

/// Of a file that is not there, nothing.
pub(super) fn read_whole(path: &Path) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let limit = FILE_BYTES_MAX + 1;
    let read = File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(bytes),
        Ok(read) if read as u64 == limit => {
            let reason = format!("{} is over 1 GiB; ask for a lower rate", path.display());
            Err(Fault::Failed { reason })
        }
        read => read.map(|_| bytes).map_err(Fault::io("read", path)),
    }
}

/// With their sum before them.
pub(super) fn write_words(path: &Path, words: &[u64]) -> Result<(), Fault> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    write_kept(path, &[&sum(&bytes).to_le_bytes(), &bytes[..]].concat())
}

/// Nothing where they are not whole.
pub(super) fn read_words(bytes: &[u8]) -> Option<Vec<u64>> {
    let words: Vec<u64> = bytes.chunks_exact(8).map(|bytes| word(bytes, 0)).collect();
    let is_whole = *words.first()? == sum(&bytes[8..]);
    is_whole.then(|| words[1..].into())
}

/// All at once, and kept before it is closed.
pub(super) fn write_kept(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let file = File::create(path).map_err(Fault::io("create", path))?;
    file.write_all_at(bytes, 0).map_err(Fault::io("write", path))?;
    file.sync_all().and_then(|()| close(file)).map_err(Fault::io("sync", path))
}

/// Appends one record after another.
pub(super) struct Pen {
    pub(super) path: PathBuf,
    file: Option<File>,
    syncs: bool,
    closes: bool,
    bytes: Vec<u8>,
}

impl Pen {
    pub(super) fn new(session: &Session, name: &str) -> Pen {
        let sync = session.params.text("sync");
        let (syncs, closes) = (sync == "fdatasync", sync == "close");
        let bytes = vec![0; session.params.integer("size") as usize];
        Pen { path: session.spec.directory.join(name), file: None, syncs, closes, bytes }
    }

    pub(super) fn fill(&mut self, record: &Record) {
        record.fill(&mut self.bytes);
    }

    /// By one call: what the kernel cuts in two may be parted.
    pub(super) fn put(&mut self) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => File::options().append(true).open(&self.path)?,
        };
        let written = io::Write::write(&mut file, &self.bytes)?;
        if written < self.bytes.len() {
            let text = format!("{written} of {} bytes were taken", self.bytes.len());
            return Err(io::Error::new(io::ErrorKind::WriteZero, text));
        }
        if self.closes {
            return close(file);
        }
        if self.syncs {
            file.sync_data()?;
        }
        self.file = Some(file);
        Ok(())
    }

    /// What was taken may be refused only now.
    pub(super) fn close(&mut self) -> Result<(), Fault> {
        self.file.take().map_or(Ok(()), close).map_err(Fault::io("close", &self.path))
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sight {
    Nothing,
    /// Bytes that are no whole record yet.
    Torn,
    Whole,
}

/// Looks at one record after another.
pub(super) struct Reader {
    path: PathBuf,
    file: Option<File>,
    reopens: bool,
    stats: bool,
    bytes: Vec<u8>,
}

impl Reader {
    pub(super) fn new(session: &Session, name: &str) -> Reader {
        let look = session.params.text("look");
        let (reopens, stats) = (look == "reopen", look == "stat");
        let bytes = vec![0; session.params.integer("size") as usize];
        Reader { path: session.spec.directory.join(name), file: None, reopens, stats, bytes }
    }

    pub(super) fn look(&mut self, number: u64) -> io::Result<Sight> {
        if self.stats {
            fs::metadata(&self.path)?;
        }
        let file = match self.file.take().filter(|_| !self.reopens) {
            Some(file) => file,
            None => File::open(&self.path)?,
        };
        let offset_bytes = number * self.bytes.len() as u64;
        let read = file.read_at(&mut self.bytes, offset_bytes);
        self.file = Some(file);
        let read = read?;
        let found = Record::read(&self.bytes[..read]);
        Ok(match found {
            Some(record) if record.number == number => Sight::Whole,
            _ if read == 0 => Sight::Nothing,
            _ => Sight::Torn,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 96;

    fn written(lane: u32, number: u64) -> Vec<u8> {
        let mut bytes = vec![0; SIZE];
        Record { lane, number, attempt: 7 }.fill(&mut bytes);
        bytes
    }

    #[test]
    fn a_record_is_itself_and_with_any_other_byte_none() {
        let bytes = written(3, 1 << 40);
        let whole = Record { lane: 3, number: 1 << 40, attempt: 7 };
        assert_eq!(Record::read(&bytes), Some(whole));
        for at in 0..SIZE {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_eq!(Record::read(&other), None, "{at}");
            assert_eq!(Record::read(&bytes[..at]), None, "{at}");
        }
    }

    #[test]
    fn what_is_torn_mixed_or_missing_is_counted_and_what_stands_behind_it_is_found() {
        let (a, b) = (written(0, 1), written(1, 1));
        let holes = vec![0; 2 * SIZE];
        for (parts, expected) in [
            (&[&a[..], &b][..], (2, 0, 0, 0)),
            (&[&a[..50], &b, &a], (2, 0, 1, 0)),
            (&[&a[..50], &b[50..], &a], (1, 0, 0, 1)),
            (&[&a, &holes, &b], (2, 1, 0, 0)),
            (&[&a, &b[..40]], (1, 0, 1, 0)),
            (&[], (0, 0, 0, 0)),
        ] {
            let mut whole = 0;
            let Strays { holes, torn, mixed } = sift(&parts.concat(), SIZE, |_| whole += 1);
            assert_eq!((whole, holes, torn, mixed), expected, "{parts:?}");
        }
    }

    /// One torn record, and what somebody wrote so that many heads stand in it: each sum would be of 64 KiB.
    #[test]
    fn much_that_is_torn_is_sifted_as_fast_as_it_is_read() {
        let record = Record { lane: 3, number: 5, attempt: 0 };
        let mut torn = vec![0; 64 * BYTES_MAX];
        record.fill(&mut torn);
        let made = [record.piece(), 0, 0].map(u64::to_le_bytes).concat().repeat(2 * BYTES_MAX);
        for bytes in [torn, made] {
            let began = std::time::Instant::now();
            let strays = sift(&bytes, BYTES_MAX, |record| panic!("{record:?}"));
            assert_eq!(strays, Strays { torn: 1, ..Strays::default() });
            assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
        }
    }
}
