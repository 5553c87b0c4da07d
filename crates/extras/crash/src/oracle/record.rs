//! Records whose bytes are known, and bytes that are nobody's.

use std::{fs, io, ops::ControlFlow, path::Path};

use crate::check::{Found, Loss};
use crate::explore::mix;

/// The disk is full of it before mkfs.
pub const FOREIGN_BYTE: u8 = 0xA5;
/// As an order or a trade: 300 bytes.
pub const RECORD_BYTES: usize = 300;
/// So many of them in a row are no accident.
const RUN_BYTES: usize = 32;

/// Never [`FOREIGN_BYTE`], never zero.
pub(crate) fn record(number: u64) -> Vec<u8> {
    let byte = |at: u64| match (mix(number ^ mix(at)) as u8) | 1 {
        FOREIGN_BYTE => 0xA7,
        byte => byte,
    };
    (0..RECORD_BYTES as u64).map(byte).collect()
}

/// Counts records as they are read: in order, each with its bytes.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) survived: u64,
    foreign: Option<Loss>,
}

impl Reading {
    pub(crate) fn take(&mut self, number: u64, bytes: &[u8]) -> ControlFlow<()> {
        let expected = self.survived + 1;
        if number != expected {
            return ControlFlow::Break(());
        }
        if bytes != record(number) {
            let words = format!("record {number} has other bytes than were written");
            self.foreign = Some(Loss::Foreign(words));
            return ControlFlow::Break(());
        }
        self.survived = expected;
        ControlFlow::Continue(())
    }

    /// Beside what recovery said.
    pub(crate) fn end(self, mut found: Found) -> Found {
        found.survived = self.survived;
        found.losses.extend(self.foreign);
        found
    }
}

/// Deeper, or longer, is nothing that a writer made.
const DEPTH_MAX: usize = 8;
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Bytes of the disk before mkfs that files now show, where anybody may read them, and what cannot be read at all: a
/// mapping of that would end the process.
pub(crate) fn foreign_bytes(dir: &Path, depth: usize) -> Found {
    let mut found = Found::default();
    let mut names: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().collect();
    names.sort_by_key(fs::DirEntry::file_name);
    for entry in names {
        let name = entry.file_name().to_string_lossy().into_owned();
        let look = || -> io::Result<Vec<Loss>> {
            let facts = entry.metadata()?;
            if facts.is_dir() && depth < DEPTH_MAX {
                return Ok(foreign_bytes(&entry.path(), depth + 1).losses);
            }
            if facts.len() > FILE_BYTES_MAX || !facts.is_file() {
                return Err(io::Error::other("too long or too deep, or no file"));
            }
            let words = format!("{name} shows what the disk held before, at byte ");
            let at = run(&fs::read(entry.path())?).map(|at| Loss::Foreign(format!("{words}{at}")));
            Ok(at.into_iter().collect())
        };
        let unread = |error: io::Error| vec![Loss::Damaged(format!("{name}: {error}"))];
        found.losses.extend(look().unwrap_or_else(unread));
    }
    found
}

fn run(bytes: &[u8]) -> Option<usize> {
    let is_all = |chunk: &[u8]| chunk.iter().all(|byte| *byte == FOREIGN_BYTE);
    // Half as long and aligned is in each run of full length.
    let chunk = RUN_BYTES / 2;
    bytes.chunks_exact(chunk).position(is_all).map(|at| at * chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_ends_at_the_first_that_is_wrong() {
        let mut reading = Reading::default();
        assert!(reading.take(1, &record(1)).is_continue());
        assert!(reading.take(3, &record(3)).is_break());
        let found = reading.end(Found::default());
        assert_eq!((found.survived, found.losses.len()), (1, 0));
        let mut reading = Reading::default();
        assert!(reading.take(1, &[FOREIGN_BYTE; RECORD_BYTES]).is_break());
        assert!(matches!(reading.end(Found::default()).losses[..], [Loss::Foreign(_)]));
    }

    #[test]
    fn what_the_disk_held_before_is_found_in_folders_too() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("inner")).unwrap();
        fs::write(dir.path().join("a"), record(1)).unwrap();
        assert_eq!(foreign_bytes(dir.path(), 0), Found::default());
        let bytes = [record(1), vec![FOREIGN_BYTE; RUN_BYTES]].concat();
        fs::write(dir.path().join("inner").join("b"), bytes).unwrap();
        let found = foreign_bytes(dir.path(), 0);
        let words = "b shows what the disk held before, at byte 304".into();
        assert_eq!(found.losses, [Loss::Foreign(words)]);
    }
}
