use pickfs_sys::aligned_buffer::AlignedBuffer;

use super::{
    content::{Data, noise},
    settings::{Settings, Small},
};

/// Noise that small files are cut from; a file begins at a place that its index chooses.
const POOL_BYTES: usize = 1 << 20;
/// Places where files begin are so far apart.
const STEP_BYTES: usize = 64;

pub(super) struct SmallContent {
    pool: AlignedBuffer,
    data: Data,
    sizes: Vec<u32>,
    has_sizes: bool,
}

impl SmallContent {
    pub(super) fn new(settings: &Settings) -> SmallContent {
        let has_sizes = matches!(settings.small, Small::Bytes(sizes) if !sizes.are_zero());
        let length_bytes = POOL_BYTES + settings.file_chunk_bytes.next_multiple_of(8);
        let pool = match (has_sizes, settings.data) {
            (false, _) => AlignedBuffer::zeroed(0),
            (true, Data::Bonnie) => AlignedBuffer::zeroed(length_bytes),
            (true, Data::Random) => noise(length_bytes, u64::from(settings.seed)),
        };
        let room = if has_sizes { settings.spread.files as usize } else { 0 };
        SmallContent { pool, data: settings.data, sizes: Vec::with_capacity(room), has_sizes }
    }

    pub(super) fn none(data: Data) -> SmallContent {
        SmallContent { pool: AlignedBuffer::zeroed(0), data, sizes: Vec::new(), has_sizes: false }
    }

    #[inline]
    pub(super) fn keep_size(&mut self, size_bytes: u32) {
        if self.has_sizes {
            self.sizes.push(size_bytes);
        }
    }

    #[inline]
    pub(super) fn size_of(&self, index: u32) -> u32 {
        self.sizes.get(index as usize).copied().unwrap_or(0)
    }

    /// The pool is longer than any piece beyond its last place.
    #[inline]
    pub(super) fn piece(&self, index: u32, offset_bytes: usize, length_bytes: usize) -> &[u8] {
        let start = match self.data {
            Data::Bonnie => 0,
            Data::Random => (index as usize * STEP_BYTES + offset_bytes) % POOL_BYTES,
        };
        &self.pool[start..start + length_bytes]
    }
}
