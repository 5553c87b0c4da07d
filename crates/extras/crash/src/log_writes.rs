//! The log of the kernel's dm-log-writes and of QEMU's blklogwrites: a sector with the head, then of each entry a sector
//! with its numbers, or with the words of a mark, and its data. Sectors are counted in the unit of the head. It says
//! neither when something was written nor what the disk was before.
//! Source: `drivers/md/dm-log-writes.c` and `Documentation/admin-guide/device-mapper/log-writes.rst` of Linux.

use std::{
    io::{self, Read, Write},
    sync::Arc,
};

use crate::log::{IMAGE_BYTES_MAX, Log, SECTOR, What};

const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
const ENTRY_BYTES: usize = 32;
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;
const METADATA: u64 = 16;
/// The first mark of [`write`] begins so; behind it come `disk`, its bytes, and what it was full of.
const OURS: &str = "pickfs: ";
/// Of the whole disk; each takes time for every page of it.
const DISCARDS_MAX: u64 = 64;

/// More are not read: a log may come from anybody.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub entries: u64,
    pub data_bytes: u64,
    pub image_bytes: u64,
}

pub const LIMITS: Limits =
    Limits { entries: 4 << 20, data_bytes: 8 << 30, image_bytes: IMAGE_BYTES_MAX };

#[derive(Debug, thiserror::Error)]
pub enum NoLog {
    #[error("no log of dm-log-writes: {0}")]
    Head(String),
    #[error("entry {entry} of the log: {what}")]
    Entry { entry: u64, what: String },
    #[error("the log ends within entry {entry} of {entries}; it was cut, or is still written")]
    Cut { entry: u64, entries: u64 },
    #[error("the log cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// Where the log does not say it, the disk was full of zeros before and ends where the last entry ends.
///
/// # Errors
/// What is not such a log, or more than the limits; nothing is kept of it.
pub fn read(from: &mut impl Read, limits: Limits) -> Result<Log, NoLog> {
    let mut head = [0; SECTOR as usize];
    from.read_exact(&mut head).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => NoLog::Head("it is shorter than a sector".into()),
        _ => error.into(),
    })?;
    let (entries, unit) = checked_head(&head, limits)?;
    let (data_bytes, discarded_bytes, log) = (0, 0, Log::of(0, 0, []));
    let mut reader = Reader { from, unit, entries, limits, data_bytes, discarded_bytes, log };
    reader.bytes(unit - SECTOR, 0)?;
    for entry in 0..entries {
        reader.entry(entry)?;
    }
    let bytes = reader.log.bytes.max(1).next_multiple_of(SECTOR * 8);
    Ok(Log { bytes: bytes.min(reader.limits.image_bytes), ..reader.log })
}

fn checked_head(head: &[u8; SECTOR as usize], limits: Limits) -> Result<(u64, u64), NoLog> {
    let wrong = |words: String| Err(NoLog::Head(words));
    let (magic, version, entries) = (word(head, 0), word(head, 8), word(head, 16));
    let unit = word(head, 24) & 0xffff_ffff;
    if magic != MAGIC {
        return wrong(format!("it begins with {magic:#x} and not with {MAGIC:#x}"));
    }
    if version != VERSION {
        return wrong(format!("it has version {version}, this reads version {VERSION}"));
    }
    if !unit.is_power_of_two() || !(SECTOR..=65536).contains(&unit) {
        return wrong(format!(
            "its sectors have {unit} bytes, not a power of two from 512 to 65536"
        ));
    }
    if entries > limits.entries {
        return wrong(format!("it has {entries} entries, at most {} are read", limits.entries));
    }
    Ok((entries, unit))
}

struct Reader<'a, R> {
    from: &'a mut R,
    /// Bytes of its sectors.
    unit: u64,
    entries: u64,
    limits: Limits,
    data_bytes: u64,
    discarded_bytes: u64,
    log: Log,
}

impl<R: Read> Reader<'_, R> {
    fn entry(&mut self, entry: u64) -> Result<(), NoLog> {
        let head = self.bytes(ENTRY_BYTES as u64, entry)?;
        let (sector, sectors) = (word(&head, 0), word(&head, 8));
        let (flags, inline) = (word(&head, 16), word(&head, 24));
        let wrong = |what: String| Err(NoLog::Entry { entry, what });
        if flags & !(FLUSH | FUA | DISCARD | MARK | METADATA) != 0 {
            return wrong(format!("flags {flags:#x} are not known"));
        }
        let room = self.unit - ENTRY_BYTES as u64;
        if inline > room {
            return wrong(format!("{inline} bytes of a mark are more than its sector has"));
        }
        let words = self.bytes(inline, entry)?;
        self.bytes(room - inline, entry)?;
        if flags & MARK != 0 {
            let words = words.iter().copied().take_while(|&byte| byte != 0).collect::<Vec<_>>();
            let words = String::from_utf8_lossy(&words).into_owned();
            return self.mark(words).map_err(|what| NoLog::Entry { entry, what });
        }
        let Some(range) = self.range(sector, sectors) else {
            return wrong(format!(
                "{sectors} sectors from {sector} lie behind the end of the disk"
            ));
        };
        if flags & FLUSH != 0 {
            self.keep(What::Flush);
        }
        let (sector, bytes) = (range.0 / SECTOR, range.1);
        match bytes {
            0 => {}
            _ if flags & DISCARD != 0 => {
                self.discarded_bytes = self.discarded_bytes.saturating_add(bytes);
                if self.discarded_bytes > DISCARDS_MAX * self.limits.image_bytes {
                    return wrong(format!("discards of more than {DISCARDS_MAX} times the disk"));
                }
                self.keep(What::Discard { sector, sectors: bytes / SECTOR });
            }
            _ => {
                self.data_bytes += bytes;
                if self.data_bytes > self.limits.data_bytes {
                    return wrong(format!("more than {} bytes of data", self.limits.data_bytes));
                }
                let data: Arc<[u8]> = self.bytes(bytes, entry)?.into();
                self.keep(What::Write { sector, data, fua: flags & FUA != 0 });
            }
        }
        Ok(())
    }

    fn mark(&mut self, words: String) -> Result<(), String> {
        let Some(ours) = words.strip_prefix(OURS) else {
            self.keep(What::Mark(words));
            return Ok(());
        };
        let disk = ours.strip_prefix("disk ").and_then(|numbers| {
            let (bytes, fill) = numbers.split_once(' ')?;
            Some((bytes.parse().ok()?, fill.parse().ok()?))
        });
        match disk {
            Some((bytes, fill))
                if self.log == Log::of(0, 0, []) && self.limits.image_bytes >= bytes =>
            {
                self.limits.image_bytes = bytes;
                self.log = Log::of(bytes, fill, []);
                Ok(())
            }
            _ => Err(format!(
                "`{words}` is no beginning of a log that this version of pickfs reads: record it again, or look at it \
                 with the version that recorded it"
            )),
        }
    }

    fn keep(&mut self, what: What) {
        self.log.bytes = self.log.bytes.max(what.sectors().end * SECTOR);
        self.log.entries.push(what);
    }

    /// Offset and length in bytes; `None` behind the largest image.
    fn range(&self, sector: u64, sectors: u64) -> Option<(u64, u64)> {
        let (from, length) = (sector.checked_mul(self.unit)?, sectors.checked_mul(self.unit)?);
        let end = from.checked_add(length)?;
        (sectors == 0 || end <= self.limits.image_bytes).then_some((from, length))
    }

    /// Memory is taken as data comes, not as the log says.
    fn bytes(&mut self, length: u64, entry: u64) -> Result<Vec<u8>, NoLog> {
        let mut bytes = Vec::new();
        let read = self.from.by_ref().take(length).read_to_end(&mut bytes)?;
        match read as u64 == length {
            true => Ok(bytes),
            false => Err(NoLog::Cut { entry, entries: self.entries }),
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let eight = bytes[at..at + 8].try_into();
    u64::from_le_bytes(eight.expect("eight bytes"))
}

/// In sectors of 512 bytes, with what the format has no place for as a mark, so that [`read`] gives back the same. The end
/// of a mark that has no room in its sector is left out.
pub fn write(log: &Log, to: &mut impl Write) -> io::Result<()> {
    let entries = 1 + log.entries.len() as u64;
    to.write_all(&sector([MAGIC, VERSION, entries, SECTOR], &[]))?;
    write_entry(&What::Mark(format!("{OURS}disk {} {}", log.bytes, log.fill)), to)?;
    for entry in &log.entries {
        write_entry(entry, to)?;
    }
    to.flush()
}

fn write_entry(what: &What, to: &mut impl Write) -> io::Result<()> {
    let range = what.sectors();
    let (flags, words, data): (_, &str, &[u8]) = match what {
        What::Write { fua, data, .. } => (if *fua { FUA } else { 0 }, "", data),
        What::Flush => (FLUSH, "", &[]),
        What::Discard { .. } => (DISCARD, "", &[]),
        What::Mark(words) => (MARK, words, &[]),
    };
    let mut end = words.len().min(SECTOR as usize - ENTRY_BYTES);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    let numbers = [range.start, range.end - range.start, flags, end as u64];
    to.write_all(&sector(numbers, &words.as_bytes()[..end]))?;
    to.write_all(data)
}

fn sector(numbers: [u64; 4], words: &[u8]) -> Vec<u8> {
    let mut sector = [numbers.map(u64::to_le_bytes).as_flattened(), words].concat();
    sector.resize(SECTOR as usize, 0);
    sector
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FEW: Limits = Limits { entries: 1000, data_bytes: 1 << 20, image_bytes: 1 << 30 };

    fn what() -> impl Strategy<Value = What> {
        let data = (0u64..1000, 1usize..9, any::<u8>(), any::<bool>());
        prop_oneof![
            data.prop_map(|(sector, sectors, byte, fua)| {
                What::Write { sector, data: vec![byte; sectors * 512].into(), fua }
            }),
            Just(What::Flush),
            (0u64..1000, 1u64..1000)
                .prop_map(|(sector, sectors)| What::Discard { sector, sectors }),
            "[a-z ü]{0,40}".prop_map(What::Mark),
        ]
    }

    fn log(what: Vec<What>) -> Log {
        Log::of((1 << 20) - 2048, 0xa5, what)
    }

    fn written(log: &Log) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(log, &mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(all in proptest::collection::vec(what(), 0..20)) {
            let log = log(all);
            let read = read(&mut &written(&log)[..], FEW).unwrap();
            prop_assert_eq!(read, log);
        }

        /// It ends, with a log or with words, and takes no more memory than there are bytes.
        #[test]
        fn spoiled_bytes_are_read_or_refused(
            all in proptest::collection::vec(what(), 0..8),
            spoiled in proptest::collection::vec((0usize..6000, any::<u8>()), 0..6),
            cut in 0usize..6000,
        ) {
            let mut bytes = written(&log(all));
            for (at, byte) in spoiled {
                if let Some(old) = bytes.get_mut(at) { *old = byte; }
            }
            bytes.truncate(cut.max(100));
            match read(&mut &bytes[..], FEW) {
                Ok(log) => prop_assert!(log.bytes <= FEW.image_bytes),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn sectors_of_4096_and_a_flush_with_data_are_read() {
        let mut bytes = vec![0; 4096];
        for (at, number) in [MAGIC, VERSION, 1, 4096].into_iter().enumerate() {
            bytes[at * 8..at * 8 + 8].copy_from_slice(&number.to_le_bytes());
        }
        let mut entry = vec![0; 4096];
        for (at, number) in [3, 1, FLUSH | FUA | METADATA, 0].into_iter().enumerate() {
            entry[at * 8..at * 8 + 8].copy_from_slice(&u64::to_le_bytes(number));
        }
        bytes.extend(entry);
        bytes.extend([9; 4096]);
        let log = read(&mut &bytes[..], FEW).unwrap();
        let data = vec![9; 4096].into();
        assert_eq!(log.entries, [What::Flush, What::Write { sector: 24, data, fua: true }]);
        assert_eq!(log.bytes, 16384);
        let error = read(&mut &bytes[..8000], FEW).unwrap_err().to_string();
        assert!(error.starts_with("the log ends within entry 0 of 1"), "{error}");
    }

    #[test]
    fn what_is_no_log_says_so() {
        let good = written(&log(vec![What::Discard { sector: 8, sectors: 8 }]));
        let error = |at: usize, bytes: &[u8]| {
            let mut spoiled = good.clone();
            spoiled[at..at + bytes.len()].copy_from_slice(bytes);
            read(&mut &spoiled[..], FEW).unwrap_err().to_string()
        };
        let few = Limits { image_bytes: 8192, ..FEW };
        let large = read(&mut &good[..], few).unwrap_err().to_string();
        assert!(large.contains("`pickfs: disk 1046528 165` is no beginning"), "{large}");
        let old = written(&log(vec![What::Mark("pickfs: from here on it was recorded".into())]));
        let old = read(&mut &old[..], FEW).unwrap_err().to_string();
        assert!(old.contains("`pickfs: from here on it was recorded` is no beginning"), "{old}");
        assert!(error(0, b"x").contains("it begins with 0x"));
        assert!(error(8, &[2]).contains("it has version 2"));
        assert!(error(16, &[255; 4]).contains("at most 1000 are read"));
        assert!(error(24, &[3]).contains("not a power of two"));
        assert!(error(1024, &[255; 8]).contains("behind the end of the disk"));
        assert!(error(1040, &[64]).contains("flags 0x40 are not known"));
        assert!(error(1048, &[255, 255]).contains("more than its sector has"));
    }
}
