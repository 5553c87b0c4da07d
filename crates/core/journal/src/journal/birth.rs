//! How a journal begins: an empty directory, or one with a past that is recovered first, and the
//! fallbacks where the file system refuses a way.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;

use super::rolling::put_header;
use super::{Current, Facts, Journal, Sealed};
use crate::aligned::Aligned;
use crate::axes::{Framing, WritePath};
use crate::buffer::EncodeBuffer;
use crate::directory::Directory;
use crate::error::{Error, Result};
use crate::layout::{self, FILE_HEADER_BYTES, FileHeader};
use crate::maker::{Made, Maker, judge};
use crate::name::{self, Name};
use crate::options::Options;
use crate::recovery::{self, Holes, Recovery};
use crate::refusal::Way;
use crate::storage::{Storage, Writer, WriterSpec};
use crate::supply::Supply;

impl Journal<Directory> {
    /// `dir` is created where it is missing and must hold no journal yet.
    pub fn create(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        let dir = dir.as_ref();
        let opened = Directory::open_or_create(dir);
        Self::create_in(opened.map_err(Error::io("open", dir.display().to_string()))?, options)
    }

    /// Recovers the journal in `dir` (see [`crate::recover`]) and goes on in a new file behind it.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::open_in(recovery::open(dir.as_ref())?, options, Holes::Refuse)
    }
}

impl<S: Storage> Journal<S> {
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
}

struct Past {
    journal_id: u64,
    next_index: u64,
    next_sequence: u64,
    sealed: VecDeque<Sealed>,
    unused: Vec<u64>,
    recovery: Option<Recovery>,
}

type First<S> = (<S as Storage>::Writer, EncodeBuffer, Made<<S as Storage>::File>);

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
