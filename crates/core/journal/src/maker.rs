use std::collections::VecDeque;
use std::io;

use crate::aligned::Aligned;
use crate::axes::{Preallocation, Sync, WritePath};
use crate::error::{Error, Result};
use crate::heater::Heater;
use crate::name;
use crate::options::{Fallback, Options};
use crate::refusal::Way;
use crate::storage::{Open, Storage, StorageFile, WriterSpec};

const ZEROS_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Made<F> {
    pub(crate) file: F,
    pub(crate) index: u64,
    pub(crate) recycled: bool,
}

#[derive(Debug, Clone, Copy)]
struct Prepared {
    index: u64,
    recycled: bool,
}

pub(crate) struct Maker<S: Storage> {
    storage: S,
    options: Options,
    next_index: u64,
    prepared: VecDeque<Prepared>,
    retired: VecDeque<u64>,
    zeros: Option<Aligned>,
    heater: Option<Heater>,
}

impl<S: Storage> Maker<S> {
    pub(crate) fn new(storage: S, options: Options, next_index: u64) -> Self {
        Self {
            storage,
            options,
            next_index,
            prepared: VecDeque::new(),
            retired: VecDeque::new(),
            zeros: None,
            heater: None,
        }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Steps down from a way that the file system refused; hands the error back where that is not
    /// allowed, or where it was no refusal.
    pub(crate) fn step_down(&mut self, error: Error) -> Result<String> {
        match error {
            Error::Refused { way, .. } if self.options.fallback == Fallback::Allow => {
                Ok(way.step_down(&mut self.options))
            }
            other => Err(other),
        }
    }

    pub(crate) fn prepare_at_start(&mut self) -> Result<()> {
        if self.options.preallocation == Preallocation::ZeroFilledHot {
            self.heater = Some(Heater::start(self.storage.clone())?);
        }
        self.top_up()
    }

    pub(crate) fn top_up(&mut self) -> Result<()> {
        while self.prepared.len() < self.options.prepared_at_start() as usize {
            let Made { index, recycled, .. } = self.make()?;
            self.prepared.push_back(Prepared { index, recycled });
        }
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Result<Made<S::File>> {
        let Some(Prepared { index, recycled }) = self.prepared.pop_front() else {
            return self.make();
        };
        let mut file = self.open(index, true)?;
        self.map(&mut file, index)?;
        Ok(Made { file, index, recycled })
    }

    pub(crate) fn put_to_use(&self, index: u64) {
        if let Some(heater) = &self.heater {
            heater.cool(index);
        }
    }

    pub(crate) fn retire(&mut self, index: u64) -> Result<()> {
        if self.options.preallocation == Preallocation::Recycled {
            self.retired.push_back(index);
            return Ok(());
        }
        let name = name::of_index(index);
        match self.storage.remove(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("remove", name)(error))
            }
            _ => Ok(()),
        }
    }

    /// It cannot be used; its index is not used again.
    pub(crate) fn discard(&self, index: u64) {
        // If it stays it is a file that was never used, which recovery knows.
        let _ = self.storage.remove(&name::of_index(index));
    }

    pub(crate) fn make(&mut self) -> Result<Made<S::File>> {
        let index = self.next_index;
        let made = self.make_index(index);
        match &made {
            Ok(_) => self.next_index += 1,
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => {
                // What is half made must not stand in the way of the next try.
                let _ = self.storage.remove(&name::of_index(index));
            }
        }
        if let Some(heater) = &self.heater {
            heater.heat(index);
        }
        made
    }

    fn make_index(&mut self, index: u64) -> Result<Made<S::File>> {
        let recycled = self.reuse(index)?;
        let mut file = self.open(index, recycled)?;
        if !recycled {
            self.extend(&mut file, index)?;
        }
        self.map(&mut file, index)?;
        if self.options.sync != Sync::None {
            self.storage.sync_directory().map_err(Error::io("sync", self.storage.describe()))?;
        }
        Ok(Made { file, index, recycled })
    }

    /// Renames a retired file of the right length; the wrong ones are removed.
    fn reuse(&mut self, index: u64) -> Result<bool> {
        while let Some(old) = self.retired.pop_front() {
            let (from, to) = (name::of_index(old), name::of_index(index));
            let length = self.storage.open(&from, Open::Read).and_then(|file| file.length_bytes());
            match length {
                Ok(length_bytes) if length_bytes == self.options.file_bytes => {
                    self.storage.rename(&from, &to).map_err(Error::io("rename", from))?;
                    return Ok(true);
                }
                Ok(_) => self.storage.remove(&from).map_err(Error::io("remove", from))?,
                Err(error) => return Err(Error::io("open", from)(error)),
            }
        }
        Ok(false)
    }

    fn open(&self, index: u64, existing: bool) -> Result<S::File> {
        let spec = WriterSpec::from(&self.options);
        let how = if existing { Open::Existing(spec) } else { Open::New(spec) };
        let way = (spec.write_path == WritePath::Direct).then_some(Way::Direct);
        let name = name::of_index(index);
        self.storage.open(&name, how).map_err(judge(way, "create", name))
    }

    fn map(&self, file: &mut S::File, index: u64) -> Result<()> {
        let mapped = file.map(self.options.file_bytes);
        mapped.map_err(judge(Some(Way::Mmap), "map", name::of_index(index)))
    }

    fn extend(&mut self, file: &mut S::File, index: u64) -> Result<()> {
        let file_bytes = self.options.file_bytes;
        let keep_length = self.options.write_path == WritePath::Append;
        let name = name::of_index(index);
        match self.options.preallocation {
            Preallocation::None | Preallocation::Precreated => Ok(()),
            Preallocation::Sparse => {
                file.set_length(file_bytes).map_err(judge(Some(Way::Ftruncate), "extend", name))
            }
            Preallocation::Fallocate => {
                let allocated = file.allocate(file_bytes, keep_length);
                allocated.map_err(judge(Some(Way::Fallocate), "allocate", name))
            }
            Preallocation::ZeroFilled | Preallocation::ZeroFilledHot | Preallocation::Recycled => {
                self.fill(file).map_err(judge(None, "fill", name))
            }
        }
    }

    /// Writes zeros over the whole length and syncs, so that the blocks are allocated and written before
    /// the first record and their write-back does not meet it.
    fn fill(&mut self, file: &mut S::File) -> io::Result<()> {
        let zeros = self.zeros.get_or_insert_with(|| Aligned::zeroed(ZEROS_BYTES));
        let mut offset_bytes = 0;
        while offset_bytes < self.options.file_bytes {
            let rest = (self.options.file_bytes - offset_bytes).min(ZEROS_BYTES as u64);
            let written = file.write_at(offset_bytes, &zeros.bytes()[..rest as usize])?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            offset_bytes += written as u64;
        }
        file.sync_all()
    }
}

/// Turns a system error into a refusal where it means that `way` is not there.
pub(crate) fn judge(
    way: Option<Way>,
    verb: &'static str,
    file: String,
) -> impl FnOnce(io::Error) -> Error {
    move |source| match way {
        Some(way) if way.is_refused_by(&source) => Error::Refused { way, source },
        _ => Error::Io { verb, file, source },
    }
}
