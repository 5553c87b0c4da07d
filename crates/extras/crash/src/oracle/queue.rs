//! The memory-mapped queue: opened as after a boot, then read by a tailer.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use pickfs_queue::layout::{ControlHeader, HEADER_USED_BYTES};
use pickfs_queue::{Appender, Error, Options, Queue, Sync};

use super::record::{Reading, record};
use super::subject::{SubjectError, Writes};
use crate::check::{Found, Loss};

/// The smallest, so that a recording of some hundred records rolls.
const SEGMENT_BYTES: u64 = 64 << 10;
const CONTROL: &str = "queue.control";

pub(crate) fn options(sync: Sync) -> Options {
    Options { segment_bytes: SEGMENT_BYTES, chunk_bytes: SEGMENT_BYTES, sync, ..Options::default() }
}

impl Writes for Appender {
    fn append(&mut self, number: u64) -> Result<(), SubjectError> {
        Appender::append(self, &record(number))?;
        Ok(())
    }
}

pub(crate) fn begin(dir: &Path, sync: Sync) -> Result<Appender, SubjectError> {
    Ok(Queue::create(dir, options(sync))?.appender()?)
}

/// The kernel has not booted since, and recovery looks whether it has. A file that is no control file stays.
pub(crate) fn boot(dir: &Path) -> io::Result<()> {
    let file = File::options().read(true).write(true).open(dir.join(CONTROL))?;
    let mut bytes = [0; HEADER_USED_BYTES];
    file.read_exact_at(&mut bytes, 0)?;
    if let Ok(header) = ControlHeader::decode(&bytes) {
        let header = ControlHeader { boot_id: header.boot_id ^ 1, ..header };
        file.write_all_at(&header.encode(), 0)?;
    }
    Ok(())
}

pub(crate) fn look(dir: &Path, sync: Sync, mut found: Found) -> Found {
    // What cannot be read is for the queue to refuse.
    let _ = boot(dir);
    let mut reading = Reading::default();
    match read(dir, sync, &mut reading, &mut found.notes) {
        Ok(()) | Err(Error::Absent { .. }) => {}
        Err(error) => found.losses.push(Loss::Refused(error.to_string())),
    }
    reading.end(found)
}

fn read(
    dir: &Path,
    sync: Sync,
    reading: &mut Reading,
    notes: &mut Vec<String>,
) -> pickfs_queue::Result<()> {
    let queue = Queue::open(dir, options(sync))?;
    let cut = queue.recovery().map_or(0, |recovery| recovery.cut_bytes);
    if cut > 0 {
        notes.push(format!("{cut} bytes were put aside"));
    }
    let mut tailer = queue.tailer()?;
    while let Some(message) = tailer.poll()? {
        if reading.take(message.sequence, message.payload).is_break() {
            break;
        }
    }
    Ok(())
}
