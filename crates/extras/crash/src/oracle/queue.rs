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

/// The smallest: the records of a recording fill more than one.
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

/// The kernel has not booted since, and recovery looks whether it has. A file that is no control file stays.
///
/// # Errors
/// The file system takes no writes: one to a mapping of it would end the process.
pub(crate) fn boot(dir: &Path) -> io::Result<()> {
    let mut bytes = [0; HEADER_USED_BYTES];
    let file = match File::options().read(true).write(true).open(dir.join(CONTROL)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    // What is no header is for the queue to refuse.
    let read = file.read_exact_at(&mut bytes, 0).ok();
    if let Some(header) = read.and_then(|()| ControlHeader::decode(&bytes).ok()) {
        let header = ControlHeader { boot_id: header.boot_id ^ 1, ..header };
        file.write_all_at(&header.encode(), 0)?;
    }
    Ok(rustix::fs::syncfs(file)?)
}

pub(crate) fn look(dir: &Path, sync: Sync, mut found: Found) -> Found {
    let mut reading = Reading::default();
    match read(dir, sync, &mut reading) {
        Ok(()) | Err(Error::Absent { .. }) => {}
        Err(error) => found.losses.push(Loss::Refused(error.to_string())),
    }
    reading.end(found)
}

fn read(dir: &Path, sync: Sync, reading: &mut Reading) -> pickfs_queue::Result<()> {
    let mut tailer = Queue::open(dir, options(sync))?.tailer()?;
    while let Some(message) = tailer.poll()? {
        if reading.take(message.sequence, message.payload).is_break() {
            break;
        }
    }
    Ok(())
}
