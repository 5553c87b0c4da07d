//! A block that is written again and again, in the file that records are appended to, so that reads
//! can be told which mix old and new bytes.
//!
//! The first 4 KiB of a journal file hold a header of 64 bytes; nobody reads the rest. Each write
//! fills that rest with one number, and a read that holds two numbers was not atomic against it.
//!
//! ```text
//! file   0       64      128                          4096
//!        | head  | n n n | n n n | ... 63 times n x 8 | records ...
//! ```

use std::{fs::File, os::unix::fs::FileExt, path::PathBuf};

use pickfs_record::Clock;

use crate::fault::Fault;

pub(super) const FIRST_BYTE: usize = 64;
pub(super) const END_BYTE: usize = 4096;

pub(super) struct Stamper {
    directory: PathBuf,
    every: u64,
    generation: u64,
    open: Option<(u64, File)>,
    block: Vec<u8>,
}

impl Stamper {
    pub(super) fn new(directory: PathBuf, every: u64) -> Self {
        let block = vec![0; END_BYTE - FIRST_BYTE];
        Stamper { directory, every, generation: 0, open: None, block }
    }

    #[inline]
    pub(super) fn is_due(&self, record: u64) -> bool {
        record % self.every == 0
    }

    /// Writes the block with the next number; gives the two clock readings around the write.
    pub(super) fn stamp<C: Clock>(
        &mut self,
        clock: &C,
        file_index: u64,
    ) -> Result<(u64, u64), Fault> {
        self.generation += 1;
        for cell in self.block.chunks_exact_mut(8) {
            cell.copy_from_slice(&self.generation.to_le_bytes());
        }
        let path = || file_path(&self.directory, file_index);
        if self.open.as_ref().is_none_or(|(open, _)| *open != file_index) {
            let file =
                File::options().write(true).open(path()).map_err(Fault::io("open", path()))?;
            self.open = Some((file_index, file));
        }
        let start_ns = clock.now_ns();
        if let Some((_, file)) = &self.open {
            file.write_all_at(&self.block, FIRST_BYTE as u64)
                .map_err(Fault::io("rewrite the first block of", path()))?;
        }
        Ok((start_ns, clock.now_ns()))
    }
}

pub(super) fn file_path(directory: &std::path::Path, file_index: u64) -> PathBuf {
    directory.join(format!("{file_index:010}.journal"))
}

pub(super) fn is_mixed(block: &[u8]) -> bool {
    let Some(stamped) = block.get(FIRST_BYTE..END_BYTE.min(block.len())) else { return false };
    let mut cells = stamped.chunks_exact(8);
    let first = cells.next();
    cells.any(|cell| Some(cell) != first)
}

/// Whether bytes that lie before the writer's position hold a run that was never written: 64 zeros
/// in a row, which no record holds.
pub(super) fn is_stale(bytes: &[u8]) -> bool {
    bytes.chunks_exact(64).any(|cell| cell.iter().all(|byte| *byte == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(generation: u64) -> Vec<u8> {
        let mut block = vec![0xAA; FIRST_BYTE];
        block.extend(generation.to_le_bytes().repeat((END_BYTE - FIRST_BYTE) / 8));
        block
    }

    #[test]
    fn a_torn_block_is_mixed_wherever_it_was_torn() {
        assert!(!is_mixed(&block(7)));
        for torn_at in (FIRST_BYTE + 8..END_BYTE).step_by(8) {
            let mut torn = block(8);
            torn[torn_at..].copy_from_slice(&block(7)[torn_at..]);
            assert!(is_mixed(&torn), "{torn_at}");
        }
        assert!(!is_mixed(&[0; END_BYTE]));
        assert!(!is_mixed(&[1; 10]));
    }

    #[test]
    fn a_hole_in_what_was_written_is_stale() {
        let mut bytes = vec![9; 4096];
        assert!(!is_stale(&bytes));
        bytes[1024..1088].fill(0);
        assert!(is_stale(&bytes));
    }
}
