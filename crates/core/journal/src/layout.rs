//! The bytes on disk: written by the journal, read by recovery and replay, both from this picture.
//! All numbers are little-endian; every record starts at a multiple of 8.
//!
//! ```text
//! file      0         4096                                             file_bytes
//!           | header  | record | record | ... | not written: zeros or an old life |
//!
//! header    0        8        12       16       24       32       40       48       56    60    64
//! (rest 0)  | magic  | format | crc32c | journal| file   | first  | durable| file   |flags|epoch|
//!           |pickjrnl| 1      |        | id     | index  |sequence| through| bytes  |     |     |
//!
//! record    0        4        8          16               24
//!           | length | crc32c | sequence | durable through | payload ... | zeros to 8 |
//! ```
//!
//! - The CRC32C of a record covers header (without the field itself) and payload, and starts from the
//!   file's *salt*: epoch xor file index. CRC is a bijection of its start value, so a record of the former
//!   life of a recycled file, which has another salt, can never check out. The epoch is drawn at random each
//!   time that the journal is opened: after a power cut an index may come back into use whose first use was
//!   forgotten, and its records are still there.
//! - `durable through` is the highest sequence that the writer had synced when it wrote this record. It
//!   lets recovery tell a hole in unsynced data (a power cut) from the loss of acknowledged data (damage).

use crate::little_endian::{get_u32, get_u64, put_u32, put_u64};

pub const MAGIC: [u8; 8] = *b"pickjrnl";
/// Version of the layout. A reader refuses any other.
pub const FORMAT: u32 = 1;
/// Bytes in front of the first record: one block, so that direct writes stay aligned.
pub const FILE_HEADER_BYTES: u64 = 4096;
pub const FILE_HEADER_USED_BYTES: usize = 64;
pub const RECORD_HEADER_BYTES: usize = 24;
pub const RECORD_ALIGN_BYTES: usize = 8;
/// Unit of direct writes; a file's length is a multiple of it.
pub const BLOCK_BYTES: usize = 4096;

const FLAG_RECYCLED: u32 = 1;
/// No journal gets here; a larger number in a header is not ours.
const SEQUENCE_MAX: u64 = 1 << 62;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHeader {
    /// Drawn at random; files of another journal are foreign.
    pub journal_id: u64,
    /// Never used twice in one journal.
    pub file_index: u64,
    pub first_sequence: u64,
    /// Highest sequence that was synced when the file was started, 0 if none.
    pub durable_through: u64,
    pub file_bytes: u64,
    /// The file had a former life, so bytes after the last record may be anything.
    pub recycled: bool,
    /// Drawn at random by the writer that began the file.
    pub epoch: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderFlaw {
    /// Shorter than a header, or all zeros: the file was prepared and never used.
    Blank,
    /// Other bytes stand where the magic should.
    Magic,
    /// The magic is right and the checksum, or a number behind it, is not.
    Checksum,
    /// A whole header of a layout that this version does not read.
    Format(u32),
}

impl FileHeader {
    pub fn salt(&self) -> u32 {
        salt(self.epoch, self.file_index)
    }

    /// `bytes` must hold [`FILE_HEADER_USED_BYTES`].
    pub fn encode(&self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..FILE_HEADER_USED_BYTES];
        bytes.fill(0);
        bytes[..8].copy_from_slice(&MAGIC);
        put_u32(bytes, 8, FORMAT);
        put_u64(bytes, 16, self.journal_id);
        put_u64(bytes, 24, self.file_index);
        put_u64(bytes, 32, self.first_sequence);
        put_u64(bytes, 40, self.durable_through);
        put_u64(bytes, 48, self.file_bytes);
        put_u32(bytes, 56, if self.recycled { FLAG_RECYCLED } else { 0 });
        put_u32(bytes, 60, self.epoch);
        let checksum = header_checksum(bytes);
        put_u32(bytes, 12, checksum);
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderFlaw> {
        let used = &bytes[..bytes.len().min(FILE_HEADER_USED_BYTES)];
        let mark = &used[..used.len().min(MAGIC.len())];
        if used.iter().all(|byte| *byte == 0) {
            return Err(HeaderFlaw::Blank);
        }
        if *mark != MAGIC[..mark.len()] {
            return Err(HeaderFlaw::Magic);
        }
        let Some(bytes) = bytes.get(..FILE_HEADER_USED_BYTES) else {
            return Err(HeaderFlaw::Blank);
        };
        if get_u32(bytes, 12) != header_checksum(bytes) {
            return Err(HeaderFlaw::Checksum);
        }
        if get_u32(bytes, 8) != FORMAT {
            return Err(HeaderFlaw::Format(get_u32(bytes, 8)));
        }
        if !(1..SEQUENCE_MAX).contains(&get_u64(bytes, 32)) {
            return Err(HeaderFlaw::Checksum);
        }
        Ok(Self {
            journal_id: get_u64(bytes, 16),
            file_index: get_u64(bytes, 24),
            first_sequence: get_u64(bytes, 32),
            durable_through: get_u64(bytes, 40),
            file_bytes: get_u64(bytes, 48),
            recycled: get_u32(bytes, 56) & FLAG_RECYCLED != 0,
            epoch: get_u32(bytes, 60),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    pub payload_bytes: u32,
    /// From 1, without gaps over all files.
    pub sequence: u64,
    /// Highest sequence that was synced when this record was written, 0 if none.
    pub durable_through: u64,
}

impl RecordHeader {
    /// Header, payload, padding.
    pub fn record_bytes(&self) -> u64 {
        record_bytes(self.payload_bytes as usize) as u64
    }

    /// Writes the header in front of the payload that already stands at
    /// `record[RECORD_HEADER_BYTES..]`, with the checksum over both.
    pub fn seal(&self, record: &mut [u8], salt: u32) {
        put_u32(record, 0, self.payload_bytes);
        put_u64(record, 8, self.sequence);
        put_u64(record, 16, self.durable_through);
        let checksum = self.checksum(record, salt);
        put_u32(record, 4, checksum);
    }

    /// Judges nothing; `None` if `bytes` is shorter than a header.
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..RECORD_HEADER_BYTES)?;
        Some(Self {
            payload_bytes: get_u32(bytes, 0),
            sequence: get_u64(bytes, 8),
            durable_through: get_u64(bytes, 16),
        })
    }

    pub fn matches(&self, record: &[u8], salt: u32) -> bool {
        record.len() >= RECORD_HEADER_BYTES + self.payload_bytes as usize
            && get_u32(record, 4) == self.checksum(record, salt)
    }

    fn checksum(&self, record: &[u8], salt: u32) -> u32 {
        let covered = RECORD_HEADER_BYTES + self.payload_bytes as usize;
        let head = crc32c::crc32c_append(salt, &record[..4]);
        crc32c::crc32c_append(head, &record[8..covered])
    }
}

/// Start value of the checksums in file `file_index`, begun by the writer with this epoch: different for
/// any two files of one writer (up to 2^32 files).
pub const fn salt(epoch: u32, file_index: u64) -> u32 {
    epoch ^ (file_index as u32)
}

/// Bytes that a payload takes in the file, with header and padding.
pub const fn record_bytes(payload_bytes: usize) -> usize {
    (RECORD_HEADER_BYTES + payload_bytes).next_multiple_of(RECORD_ALIGN_BYTES)
}

fn header_checksum(bytes: &[u8]) -> u32 {
    let head = crc32c::crc32c(&bytes[..12]);
    crc32c::crc32c_append(head, &bytes[16..FILE_HEADER_USED_BYTES])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(payload: &[u8], salt: u32) -> Vec<u8> {
        let mut bytes = vec![0; record_bytes(payload.len())];
        bytes[RECORD_HEADER_BYTES..][..payload.len()].copy_from_slice(payload);
        let header =
            RecordHeader { payload_bytes: payload.len() as u32, sequence: 7, durable_through: 3 };
        header.seal(&mut bytes, salt);
        bytes
    }

    #[test]
    fn a_sealed_record_matches_with_its_salt_and_with_no_other() {
        let bytes = record(b"abcde", 99);
        let header = RecordHeader::peek(&bytes).expect("long enough");
        assert_eq!((header.payload_bytes, header.sequence, header.durable_through), (5, 7, 3));
        assert!(header.matches(&bytes, 99));
        assert!((0..99).all(|salt| !header.matches(&bytes, salt)));
    }

    #[test]
    fn every_flipped_bit_of_header_and_payload_is_noticed() {
        let bytes = record(b"abcde", 1);
        for bit in 0..(RECORD_HEADER_BYTES + 5) * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let header = RecordHeader::peek(&flipped).expect("long enough");
            let plausible = header.payload_bytes as usize <= flipped.len();
            assert!(!plausible || !header.matches(&flipped, 1), "bit {bit}");
        }
    }

    #[test]
    fn a_file_header_reads_back_and_says_what_is_wrong_with_it() {
        let header = FileHeader {
            journal_id: 5,
            file_index: 6,
            first_sequence: 70,
            durable_through: 69,
            file_bytes: 1 << 20,
            recycled: true,
            epoch: 8,
        };
        let mut bytes = [0; FILE_HEADER_USED_BYTES];
        assert_eq!(FileHeader::decode(&bytes), Err(HeaderFlaw::Blank));
        header.encode(&mut bytes);
        assert_eq!(FileHeader::decode(&bytes), Ok(header));
        assert_eq!(FileHeader::decode(&bytes[..63]), Err(HeaderFlaw::Blank));
        bytes[40] ^= 1;
        assert_eq!(FileHeader::decode(&bytes), Err(HeaderFlaw::Checksum));
        bytes[0] ^= 1;
        assert_eq!(FileHeader::decode(&bytes), Err(HeaderFlaw::Magic));
    }
}
