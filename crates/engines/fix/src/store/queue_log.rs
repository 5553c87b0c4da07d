//! Records in a memory-mapped queue: a record outlives the process when its append has returned.

use std::ops::ControlFlow;
use std::path::Path;

use pickfs_queue::{Appender, Options, Queue};

use super::{Log, StoreError};

#[derive(Debug)]
pub struct QueueLog {
    queue: Queue,
    appender: Appender,
}

impl QueueLog {
    pub fn open(directory: &Path, options: Options) -> Result<Self, StoreError> {
        let queue = Queue::open_or_create(directory, options)?;
        let appender = queue.appender()?;
        Ok(QueueLog { queue, appender })
    }

    pub fn rolls(&self) -> u64 {
        self.appender.rolls()
    }
}

impl Log for QueueLog {
    #[inline]
    fn append(&mut self, record: &[u8]) -> Result<u64, StoreError> {
        Ok(self.appender.append(record)?.sequence)
    }

    fn read(
        &mut self,
        from: u64,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut tailer = self.queue.tailer()?;
        if from > 1 {
            tailer.seek_sequence(from)?;
        }
        while let Some(message) = tailer.poll()? {
            if each(message.sequence, message.payload).is_break() {
                break;
            }
        }
        Ok(())
    }

    #[inline]
    fn idle(&mut self) -> Result<(), StoreError> {
        self.appender.idle()?;
        Ok(())
    }
}
