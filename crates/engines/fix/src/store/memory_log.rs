//! Records in memory: what the engine costs without a file. Nothing survives the process.

use std::ops::ControlFlow;

use super::{Log, StoreError};

const CHUNK_BYTES: usize = 16 << 20;

#[derive(Debug, Default)]
pub struct MemoryLog {
    chunks: Vec<Vec<u8>>,
    current: usize,
    records: u64,
}

impl MemoryLog {
    pub fn with_room(bytes: usize) -> Self {
        let chunks = (0..bytes.div_ceil(CHUNK_BYTES)).map(|_| {
            // Written once, so that the first records meet no page faults.
            let mut chunk = vec![1; CHUNK_BYTES];
            chunk.clear();
            chunk
        });
        MemoryLog { chunks: chunks.collect(), ..Self::default() }
    }
}

impl Log for MemoryLog {
    fn append(&mut self, record: &[u8]) -> Result<u64, StoreError> {
        let bytes = 4 + record.len();
        let fits = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() >= bytes;
        while self.chunks.get(self.current).is_some_and(|chunk| !fits(chunk)) {
            self.current += 1;
        }
        if self.current == self.chunks.len() {
            self.chunks.push(Vec::with_capacity(CHUNK_BYTES.max(bytes)));
        }
        let chunk = &mut self.chunks[self.current];
        chunk.extend_from_slice(&(record.len() as u32).to_le_bytes());
        chunk.extend_from_slice(record);
        self.records += 1;
        Ok(self.records)
    }

    fn read(
        &mut self,
        from: u64,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut number = 0;
        for chunk in &self.chunks {
            let mut rest = &chunk[..];
            while let Some((length, behind)) = rest.split_first_chunk::<4>() {
                let (record, next) = behind.split_at(u32::from_le_bytes(*length) as usize);
                rest = next;
                number += 1;
                if number >= from && each(number, record).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
