use std::io;

use super::{Current, Journal, Sealed};
use crate::aligned::Aligned;
use crate::axes::{Framing, Sync, WritePath};
use crate::error::{Error, Result};
use crate::layout::{self, FileHeader};
use crate::maker::{Made, judge};
use crate::name;
use crate::options::{KeepFiles, Options};
use crate::refusal::Way;
use crate::storage::{Storage, StorageFile, Writer};

impl<S: Storage> Journal<S> {
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
        let header = FileHeader {
            journal_id: self.facts.journal_id,
            epoch: self.facts.epoch,
            file_index: made.index,
            first_sequence: last_sequence + 1,
            durable_through: self.durable_through,
            file_bytes: self.options.file_bytes,
            recycled: made.recycled,
        };
        put_header(&self.options, &mut self.header, &mut made, header)?;
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

    pub(super) fn retire_surplus(&mut self) -> Result<()> {
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
}

pub(super) fn put_header<F: StorageFile>(
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
