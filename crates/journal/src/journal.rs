//! The journal: one writer that appends to the current file, syncs by its policy and rolls to the next.
//!
//! [`Journal::append`] does all of it. A measuring loop, or a program with its own idea of when to sync,
//! uses the verbs it is made of: [`Journal::encode`], [`Journal::needs_roll`], [`Journal::roll`],
//! [`Journal::write_encoded`], [`Journal::sync_due`], [`Journal::sync`].

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::aligned::Aligned;
use crate::axes::{Framing, Sync, SyncEvery, WritePath};
use crate::buffer::EncodeBuffer;
use crate::directory::Directory;
use crate::error::{Error, Latch, Result};
use crate::layout::{self, BLOCK_BYTES, FILE_HEADER_BYTES, FileHeader, RecordHeader};
use crate::maker::{Made, Maker, judge};
use crate::name::{self, Name};
use crate::options::{KeepFiles, Options};
use crate::recovery::{self, Holes, Recovery};
use crate::refusal::Way;
use crate::storage::{Storage, StorageFile, SyncRange, Writer, WriterSpec};
use crate::supply::Supply;

/// Where a write went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Sequence of the last record of the write.
    pub sequence: u64,
    /// Records in the write.
    pub records: u32,
    /// Offset of the first of them in its file.
    pub offset_bytes: u64,
    /// Number of the file.
    pub file_index: u64,
    /// Whether this call began a new file first.
    pub rolled: bool,
}

/// A full file that is still there.
#[derive(Debug, Clone, Copy)]
struct Sealed {
    index: u64,
    last_sequence: u64,
}

/// The file that is written now.
struct Current<F> {
    file: F,
    index: u64,
    salt: u32,
}

/// What was found or chosen before the first file of this writer.
struct Past {
    journal_id: u64,
    next_index: u64,
    next_sequence: u64,
    sealed: VecDeque<Sealed>,
    unused: Vec<u64>,
    recovery: Option<Recovery>,
}

/// An append journal. Dropping it neither syncs nor loses anything that was written.
pub struct Journal<S: Storage = Directory> {
    // The writer may have registered the buffer with the kernel, so it stands (and is dropped) first.
    writer: S::Writer,
    buffer: EncodeBuffer,
    current: Current<S::File>,
    position_bytes: u64,
    synced_bytes: u64,
    next_sequence: u64,
    durable_through: u64,
    unsynced_records: u32,
    latch: Option<Latch>,
    options: Options,
    facts: Facts,
    header: Aligned,
    supply: Supply<S>,
    sealed: VecDeque<Sealed>,
    notes: Vec<String>,
    recovery: Option<Recovery>,
    storage: S,
}

impl Journal<Directory> {
    /// Makes a journal in `dir`, which is created where it is missing and must hold no journal yet.
    pub fn create(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        let dir = dir.as_ref();
        let opened = Directory::open_or_create(dir);
        Self::create_in(opened.map_err(Error::io("open", dir.display().to_string()))?, options)
    }

    /// Recovers the journal in `dir` (see [`crate::recover`]) and goes on in a new file behind it.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        let dir = dir.as_ref();
        let opened = Directory::open(dir);
        Self::open_in(
            opened.map_err(Error::io("open", dir.display().to_string()))?,
            options,
            Holes::Refuse,
        )
    }
}

impl<S: Storage> Journal<S> {
    /// As [`Journal::create`], in any storage.
    pub fn create_in(storage: S, options: Options) -> Result<Self> {
        options.validate()?;
        lock(&storage)?;
        let names = storage.list().map_err(Error::io("list", storage.describe()))?;
        if names.iter().any(|entry| name::parse(entry) != Name::Other) {
            return Err(Error::Exists { dir: storage.describe() });
        }
        let past = Past {
            journal_id: random(),
            next_index: 1,
            next_sequence: 1,
            sealed: VecDeque::new(),
            unused: Vec::new(),
            recovery: None,
        };
        Self::start(storage, options, past)
    }

    /// As [`Journal::open`], in any storage, with a choice for holes in what was not synced.
    pub fn open_in(storage: S, options: Options, holes: Holes) -> Result<Self> {
        options.validate()?;
        if options.framing == Framing::Raw {
            return Err(Error::Raw { dir: storage.describe() });
        }
        lock(&storage)?;
        let (recovery, survey) = recovery::recover_locked(&storage, holes)?;
        let sealed = survey
            .files
            .iter()
            .map(|file| Sealed { index: file.index, last_sequence: file.last_sequence() });
        let past = Past {
            journal_id: survey.journal_id.unwrap_or_else(random),
            next_index: survey.next_index,
            next_sequence: recovery.last_sequence + 1,
            sealed: sealed.collect(),
            unused: survey.unused,
            recovery: Some(recovery),
        };
        Self::start(storage, options, past)
    }

    fn start(storage: S, options: Options, past: Past) -> Result<Self> {
        let mut maker = Maker::new(storage.clone(), options, past.next_index);
        for index in &past.unused {
            maker.retire(*index)?;
        }
        let mut notes = Vec::new();
        let mut header = Aligned::zeroed(FILE_HEADER_BYTES as usize);
        let facts = Facts { journal_id: past.journal_id, epoch: random() as u32 };
        let (writer, buffer, made) = loop {
            match first_file(&storage, &mut maker, &mut header, facts, past.next_sequence) {
                Ok(first) => break first,
                Err(error) => notes.push(maker.step_down(error)?),
            }
        };
        let options = maker.options().clone();
        let mut journal = Self {
            writer,
            buffer,
            current: Current {
                salt: layout::salt(facts.epoch, made.index),
                index: made.index,
                file: made.file,
            },
            position_bytes: options.header_bytes(),
            synced_bytes: 0,
            next_sequence: past.next_sequence,
            durable_through: durable_at_start(&options, past.next_sequence),
            unsynced_records: 0,
            latch: None,
            facts,
            header,
            supply: Supply::start(maker)?,
            sealed: past.sealed,
            notes,
            recovery: past.recovery,
            storage,
            options,
        };
        journal.retire_surplus()?;
        Ok(journal)
    }

    /// Appends one record: encodes it, rolls where the file is full, writes, and syncs where the policy
    /// says so. When it returns, the record has the durability that the policy promises.
    pub fn append(&mut self, payload: &[u8]) -> Result<Appended> {
        self.encode(payload)?;
        self.commit_encoded()
    }

    /// Appends records with as few writes as the buffer allows, and one sync where the policy asks for
    /// one. Returns the last write. On an error some of the records may be in the journal.
    pub fn append_batch(&mut self, payloads: &[&[u8]]) -> Result<Appended> {
        let mut rolled = false;
        for payload in payloads {
            match self.encode(payload) {
                Err(Error::BufferFull { .. }) => {
                    rolled |= self.write_with_roll()?.rolled;
                    self.encode(payload)?;
                }
                other => other?,
            }
        }
        let last = self.commit_encoded()?;
        Ok(Appended { rolled: rolled | last.rolled, ..last })
    }

    /// Writes what was encoded, with a roll before and a sync after it where they are due.
    pub fn commit_encoded(&mut self) -> Result<Appended> {
        let appended = self.write_with_roll()?;
        if self.sync_due() {
            self.sync()?;
        }
        Ok(appended)
    }

    pub(crate) fn write_with_roll(&mut self) -> Result<Appended> {
        let rolled = self.needs_roll();
        if rolled {
            self.roll()?;
        }
        let appended = self.write_encoded()?;
        Ok(Appended { rolled, ..appended })
    }

    /// Puts one record, with its sequence and checksum, into the buffer. Called again before
    /// [`Self::write_encoded`] it makes a batch. No system call, no allocation.
    pub fn encode(&mut self, payload: &[u8]) -> Result<()> {
        self.check_latch()?;
        let record_bytes = self.options.record_bytes(payload.len());
        let file_room = self.options.file_bytes - self.options.header_bytes();
        let encoded_bytes = self.buffer.pending_bytes();
        let fits_file = (encoded_bytes + record_bytes) as u64 <= file_room;
        if !fits_file || !self.buffer.has_room(record_bytes) {
            return Err(self.no_room(payload.len()));
        }
        let header = RecordHeader {
            payload_bytes: payload.len() as u32,
            sequence: self.next_sequence,
            durable_through: self.durable_through,
        };
        self.buffer.push(payload, header, self.current.salt);
        self.next_sequence += 1;
        Ok(())
    }

    #[cold]
    fn no_room(&self, payload_bytes: usize) -> Error {
        let limit_bytes = self.payload_bytes_max();
        if payload_bytes > limit_bytes {
            return Error::TooLarge { payload_bytes, limit_bytes };
        }
        Error::BufferFull { encoded_bytes: self.buffer.pending_bytes() }
    }

    /// Longest payload that fits in buffer and file.
    pub fn payload_bytes_max(&self) -> usize {
        let kept_block = if self.options.write_path == WritePath::Direct { BLOCK_BYTES } else { 0 };
        let buffer_room = self.options.buffer_bytes - kept_block;
        let file_room = (self.options.file_bytes - self.options.header_bytes()) as usize;
        buffer_room.min(file_room) - self.options.record_bytes(0)
    }

    /// Whether what was encoded does not fit in the rest of the current file.
    #[inline]
    pub fn needs_roll(&self) -> bool {
        self.position_bytes + self.buffer.pending_bytes() as u64 > self.options.file_bytes
    }

    /// Writes what was encoded: one system call (two for seek-write), or one copy for mmap, and nothing
    /// else. Does nothing if nothing was encoded.
    #[inline]
    pub fn write_encoded(&mut self) -> Result<Appended> {
        self.check_latch()?;
        if self.needs_roll() {
            return Err(self.no_free_room());
        }
        let written_bytes = self.buffer.pending_bytes() as u64;
        let records = self.buffer.pending_records();
        if records > 0 {
            let offset_bytes = self.position_bytes - self.buffer.tail_bytes() as u64;
            let written = self.writer.write(&mut self.current.file, offset_bytes, &self.buffer);
            if !matches!(written, Ok(count) if count == self.buffer.bytes().len()) {
                self.finish_write(written, offset_bytes)?;
            }
        }
        Ok(self.note_written(written_bytes, records))
    }

    #[inline]
    fn note_written(&mut self, written_bytes: u64, records: u32) -> Appended {
        let appended = Appended {
            sequence: self.next_sequence - 1,
            records,
            offset_bytes: self.position_bytes,
            file_index: self.current.index,
            rolled: false,
        };
        self.buffer.mark_written();
        self.position_bytes += written_bytes;
        self.unsynced_records = self.unsynced_records.saturating_add(records);
        if self.options.sync.is_write_through() {
            self.note_synced();
        }
        appended
    }

    #[inline]
    fn note_synced(&mut self) {
        self.unsynced_records = 0;
        self.synced_bytes = self.position_bytes;
        if self.options.sync.outlives_power_loss() {
            self.durable_through =
                self.next_sequence - 1 - u64::from(self.buffer.pending_records());
        }
    }

    #[cold]
    fn no_free_room(&self) -> Error {
        Error::NeedsRoll {
            encoded_bytes: self.buffer.pending_bytes(),
            free_bytes: self.options.file_bytes - self.position_bytes,
        }
    }

    /// The rest of a write that was interrupted or came out short.
    #[cold]
    fn finish_write(&mut self, first: io::Result<usize>, offset_bytes: u64) -> Result<()> {
        let finished = write_rest(&mut self.current.file, first, offset_bytes, &self.buffer);
        let name = name::of_index(self.current.index);
        let finished = finished.map_err(Error::io("write", name));
        self.latch_if_failed(finished)
    }

    /// Whether the policy wants a sync now. Never for group commit: there the caller decides.
    #[inline]
    pub fn sync_due(&self) -> bool {
        if self.options.sync == Sync::None {
            return false;
        }
        match self.options.sync_every {
            SyncEvery::Record => self.unsynced_records > 0,
            SyncEvery::Records(count) => self.unsynced_records >= count.get(),
            SyncEvery::GroupCommit => false,
        }
    }

    /// Makes everything that was written durable, by the method of the options: one system call where
    /// something is unsynced. Nothing happens for sync none and for write-through methods.
    #[inline]
    pub fn sync(&mut self) -> Result<()> {
        self.check_latch()?;
        if self.synced_bytes == self.position_bytes || self.options.sync == Sync::None {
            return Ok(());
        }
        let range = SyncRange { start_bytes: self.synced_bytes, end_bytes: self.position_bytes };
        match self.writer.sync(&mut self.current.file, range) {
            Ok(()) => {
                self.note_synced();
                Ok(())
            }
            Err(source) => self.sync_failed(source),
        }
    }

    #[cold]
    fn sync_failed(&mut self, source: io::Error) -> Result<()> {
        // After a failed sync the kernel may have dropped the dirty pages and marked them clean, so
        // another try would lie (fsync(2), "EIO").
        let error = Error::io("sync", name::of_index(self.current.index))(source);
        self.latch_if_failed(Err(error))
    }

    /// Syncs the rest of the current file and goes on in the next one. What was encoded and not written
    /// goes into the new file.
    pub fn roll(&mut self) -> Result<()> {
        self.check_latch()?;
        self.sync()?;
        let rolled = self.supply.take().and_then(|made| self.begin_file(made));
        self.latch_if_failed(rolled)
    }

    fn begin_file(&mut self, mut made: Made<S::File>) -> Result<()> {
        let pending = u64::from(self.buffer.pending_records());
        let last_sequence = self.next_sequence - 1 - pending;
        self.write_header(&mut made, last_sequence + 1)?;
        let name = name::of_index(made.index);
        self.writer.attach(&mut made.file).map_err(Error::io("register", name))?;
        self.sealed.push_back(Sealed { index: self.current.index, last_sequence });
        let salt = layout::salt(self.facts.epoch, made.index);
        let next = Current { file: made.file, index: made.index, salt };
        let full = std::mem::replace(&mut self.current, next);
        self.position_bytes = self.options.header_bytes();
        self.synced_bytes = 0;
        self.unsynced_records = 0;
        self.buffer.move_to_new_file(salt);
        self.supply.close(full.file);
        self.retire_surplus()
    }

    fn write_header(&mut self, made: &mut Made<S::File>, first_sequence: u64) -> Result<()> {
        let header = FileHeader {
            journal_id: self.facts.journal_id,
            epoch: self.facts.epoch,
            file_index: made.index,
            first_sequence,
            durable_through: self.durable_through,
            file_bytes: self.options.file_bytes,
            recycled: made.recycled,
        };
        put_header(&self.options, &mut self.header, made, header)
    }

    fn retire_surplus(&mut self) -> Result<()> {
        let KeepFiles::Last(count) = self.options.keep_files else {
            return Ok(());
        };
        while self.sealed.len() > count.max(1) as usize {
            self.retire_oldest()?;
        }
        Ok(())
    }

    fn retire_oldest(&mut self) -> Result<()> {
        match self.sealed.pop_front() {
            Some(oldest) => self.supply.retire(oldest.index),
            None => Ok(()),
        }
    }

    /// Gives up all full files whose records are all numbered `sequence` or lower; they are recycled or
    /// removed, **and their records are gone**. Returns how many files went.
    pub fn retire_through(&mut self, sequence: u64) -> Result<u32> {
        // The header of the current file must outlive them: it says where the sequences go on.
        self.sync()?;
        let mut count = 0;
        while self.sealed.front().is_some_and(|oldest| oldest.last_sequence <= sequence) {
            self.retire_oldest()?;
            count += 1;
        }
        Ok(count)
    }

    /// Sequence of the last record that was written, 0 if none.
    pub fn written_sequence(&self) -> u64 {
        self.next_sequence - 1 - u64::from(self.buffer.pending_records())
    }

    /// Sequence of the last record that a sync has covered, for methods that outlive a power cut.
    pub fn durable_sequence(&self) -> u64 {
        self.durable_through
    }

    /// Records that were written since the last sync.
    pub fn unsynced_records(&self) -> u32 {
        self.unsynced_records
    }

    /// Name of the file that is written now.
    pub fn file_name(&self) -> String {
        name::of_index(self.current.index)
    }

    /// Offset in the current file where the next write goes.
    pub fn position_bytes(&self) -> u64 {
        self.position_bytes
    }

    /// The options in force, after fallbacks.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What is not as it was asked, in words: the fallbacks that were taken.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What opening found, for a journal that was opened.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Rolls that had to wait because the background thread had no file ready.
    pub fn roll_waits(&self) -> u64 {
        self.supply.waits()
    }

    /// The first I/O error, after which nothing more is written.
    pub fn latch(&self) -> Option<&Latch> {
        self.latch.as_ref()
    }

    /// Where the files are.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    #[inline]
    fn check_latch(&self) -> Result<()> {
        match &self.latch {
            None => Ok(()),
            Some(latch) => Err(Error::Latched(latch.clone())),
        }
    }

    fn latch_if_failed<T>(&mut self, result: Result<T>) -> Result<T> {
        let Err(error) = result else {
            return result;
        };
        let (latch, error) = latch_of(error, &self.current_name());
        self.latch = Some(latch);
        Err(error)
    }

    fn current_name(&self) -> String {
        name::of_index(self.current.index)
    }
}

/// What all headers of one writer have in common.
#[derive(Debug, Clone, Copy)]
struct Facts {
    journal_id: u64,
    epoch: u32,
}

type First<S> = (<S as Storage>::Writer, EncodeBuffer, Made<<S as Storage>::File>);

/// Makes the first file with its header, and the writer: everything that a file system may refuse.
fn first_file<S: Storage>(
    storage: &S,
    maker: &mut Maker<S>,
    block: &mut Aligned,
    facts: Facts,
    next_sequence: u64,
) -> Result<First<S>> {
    let options = maker.options().clone();
    let whole_blocks = options.write_path == WritePath::Direct;
    let buffer = EncodeBuffer::new(options.buffer_bytes, options.framing, whole_blocks);
    let ring = (options.write_path == WritePath::IoUring).then_some(Way::IoUring);
    let made_writer = storage.writer(WriterSpec::from(&options), &buffer);
    let mut writer = made_writer.map_err(judge(ring, "set up", options.write_path.to_string()))?;
    let mut made = maker.make()?;
    let header = FileHeader {
        journal_id: facts.journal_id,
        epoch: facts.epoch,
        file_index: made.index,
        first_sequence: next_sequence,
        durable_through: durable_at_start(&options, next_sequence),
        file_bytes: options.file_bytes,
        recycled: made.recycled,
    };
    let name = name::of_index(made.index);
    let begun = put_header(&options, block, &mut made, header)
        .and_then(|()| writer.attach(&mut made.file).map_err(judge(ring, "register", name)));
    if let Err(error) = begun {
        maker.discard(made.index);
        return Err(error);
    }
    maker.put_to_use(made.index);
    Ok((writer, buffer, made))
}

/// What was recovered is on the device already: recovery has synced it.
fn durable_at_start(options: &Options, next_sequence: u64) -> u64 {
    if options.sync.outlives_power_loss() { next_sequence - 1 } else { 0 }
}

fn put_header<F: StorageFile>(
    options: &Options,
    block: &mut Aligned,
    made: &mut Made<F>,
    header: FileHeader,
) -> Result<()> {
    if options.framing == Framing::Raw {
        return Ok(());
    }
    header.encode(block.bytes_mut());
    let way = match (options.sync, options.write_path) {
        (Sync::RwfDsync, _) => Some(Way::RwfDsync),
        (_, WritePath::Direct) => Some(Way::Direct),
        _ => None,
    };
    let name = name::of_index(made.index);
    let written =
        made.file.write_at(0, block.bytes()).map_err(judge(way, "write", name.clone()))?;
    if written < block.bytes().len() {
        return Err(Error::io("write", name)(io::ErrorKind::WriteZero.into()));
    }
    Ok(())
}

/// A random number from the only source that the standard library has.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}

pub(crate) fn lock<S: Storage>(storage: &S) -> Result<()> {
    storage.lock().map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => Error::Busy { dir: storage.describe().into() },
        _ => Error::io("lock", storage.describe())(error),
    })
}

/// Writes what is left until all is there, the system reports an error, or nothing moves any more.
fn write_rest<F: StorageFile>(
    file: &mut F,
    first: io::Result<usize>,
    offset_bytes: u64,
    buffer: &EncodeBuffer,
) -> io::Result<()> {
    let bytes = buffer.bytes();
    let unit = if buffer.writes_whole_blocks() { BLOCK_BYTES } else { 1 };
    let mut done = 0;
    let mut step = first;
    loop {
        done += match step {
            Ok(count) if count / unit > 0 => count / unit * unit,
            Ok(_) => return Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        if done >= bytes.len() {
            return Ok(());
        }
        step = file.write_at(offset_bytes + done as u64, &bytes[done..]);
    }
}

/// Splits an error into what stays in the journal and what goes to the caller.
fn latch_of(error: Error, current: &str) -> (Latch, Error) {
    let shared = match &error {
        Error::Io { source, .. } | Error::Refused { source, .. } => match source.raw_os_error() {
            Some(errno) => io::Error::from_raw_os_error(errno),
            None => io::Error::new(source.kind(), source.to_string()),
        },
        other => io::Error::other(other.to_string()),
    };
    let (verb, file) = match &error {
        Error::Io { verb, file, .. } => (*verb, file.clone()),
        _ => ("roll", current.to_owned()),
    };
    (Latch { verb, file, source: Arc::new(shared) }, error)
}
