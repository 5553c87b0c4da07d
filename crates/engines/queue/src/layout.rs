//! The bytes of a queue on disk: written by appenders, read by tailers, both from this picture.
//! All numbers are little-endian; every message starts at a multiple of 8.
//!
//! ```text
//! directory   queue.control               who takes part: seats of appenders and tailers
//!             0000000001.segment          messages, in order
//!             0000000002.segment          the next ones, or prepared and not begun
//!
//! control   0        8      12     16      24       32      40      48       64    2048   4096          20480
//!           | magic  |format|crc32c| queue | segment| roll  | chunk | boot   | 0 ..| news | 128 seats   |
//!           |        |      |      | id    | bytes  | ns    | bytes | id     |     |      | of 128 bytes|
//!
//! seat      0            8        16      24    32                  96     128
//!           | generation | next   | state | name| name, UTF-8, 0 .. | 0 .. |
//!           |            |sequence|       |bytes|                   |      |
//!
//! segment   0        4096            data start                                   segment bytes
//!           | header | index         | message | message | ... | end | zeros .... |
//!
//! header    0        8      12     16      24      32        40        48      56
//!           | magic  |format|crc32c| queue | number| segment | begun   | first |
//!           |        |      |      | id    |       | bytes   | sequence| time  |
//!
//! index     one entry for each 65,536 bytes of the segment: the first message that starts there
//!           0               8         16
//!           | place         | time    |      place = offset / 8 << 32 | messages before it here
//!
//! message   0        8       16
//!           | commit | time  | payload ... | zeros to 8 |
//!           | word   | ns    |
//!
//! commit    63     61 60                 32 31                     0
//! word      | kind   | payload bytes       | what the kind needs   |
//!           | 0      | 0                   | 0                     |  nothing here yet
//!           | 1      | payload bytes       | seat, generation      |  claimed: being written
//!           | 2      | payload bytes       | crc32c                |  a message
//!           | 3      | payload bytes       | 0                     |  void: its appender died
//!           | 4      | 0                   | 0                     |  end: go to the next segment
//! ```
//!
//! - A segment is zeros before its first byte is used, and bytes are never used twice. So the word behind
//!   the last claim is 0, whatever its appender had written when it died.
//! - The CRC32C covers time and payload. It starts from the queue, the segment, the sequence and the length,
//!   so that a message at another place, in another queue, or cut short does not check out.
//! - A void slot has a sequence too: numbers rise, and one is left out for each appender that died in a claim.
//! - `begun sequence` is 0 in a segment that was prepared and not begun. Its low 16 bits check the other 48.
//! - `news` is the sequence of the message that was claimed or committed last, as far as its appender lived to say
//!   so. It is a hint: a tailer that has read that message leaves the next slot's lines of the cache to the appender.
//! - Words that change while others look (seats, index, `begun`, commit words) stand at multiples of 8 and are
//!   written as a whole.

use crate::crc::crc32c_append;

pub const CONTROL_MAGIC: [u8; 8] = *b"pickqctl";
pub const SEGMENT_MAGIC: [u8; 8] = *b"pickqseg";
pub const FORMAT: u32 = 1;
pub const PAGE_BYTES: u64 = 4096;
pub const HEADER_USED_BYTES: usize = 64;
pub const MESSAGE_HEADER_BYTES: u64 = 16;
pub const ALIGN_BYTES: u64 = 8;
/// Of a message's time, which stands right before its payload.
pub(crate) const TIME_BYTES: usize = 8;
/// Bytes of a segment for which the index has one entry.
pub const INDEX_BLOCK_BYTES: u64 = 65_536;
pub const INDEX_ENTRY_BYTES: u64 = 16;
pub const PAYLOAD_BYTES_MAX: usize = (1 << 29) - 1;
/// Places for processes: the first half for appenders, the second for tailers.
pub const SEATS: usize = 128;
pub const SEAT_BYTES: u64 = 128;
pub const CONTROL_BYTES: u64 = PAGE_BYTES + SEATS as u64 * SEAT_BYTES;
/// Where in the control file the news stand: a word in lines of the cache of its own.
pub const NEWS_OFFSET: u64 = 2048;
pub const NAME_BYTES_MAX: usize = 64;
pub const BEGUN_OFFSET: u64 = 40;
pub const FIRST_TIME_OFFSET: u64 = 48;

/// Smallest segment: header, index, and room for messages.
pub const SEGMENT_BYTES_MIN: u64 = 16 * PAGE_BYTES;
/// Largest segment: a place of the index has 32 bits for offset / 8.
pub const SEGMENT_BYTES_MAX: u64 = 32 << 30;

/// It never changes, but for the boot id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlHeader {
    /// Drawn at random; files of another queue are foreign.
    pub queue_id: u64,
    pub segment_bytes: u64,
    /// A segment holds messages of one period of this length; 0 rolls by size alone.
    pub roll_ns: u64,
    pub chunk_bytes: u64,
    pub boot_id: u128,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    pub queue_id: u64,
    /// It is in its name too; from 1, without gaps.
    pub number: u64,
    pub segment_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFlaw {
    #[error("it ends within its header")]
    Short,
    #[error("it does not begin as a file of a queue does")]
    Magic,
    #[error("the checksum of its header is wrong")]
    Checksum,
    #[error("its format is {0}, and this version reads 1")]
    Format(u32),
    #[error("its header says {0} bytes, which cannot be")]
    Size(u64),
}

impl ControlHeader {
    pub fn encode(&self) -> [u8; HEADER_USED_BYTES] {
        let mut bytes = [0; HEADER_USED_BYTES];
        put_u64(&mut bytes, 16, self.queue_id);
        put_u64(&mut bytes, 24, self.segment_bytes);
        put_u64(&mut bytes, 32, self.roll_ns);
        put_u64(&mut bytes, 40, self.chunk_bytes);
        bytes[48..64].copy_from_slice(&self.boot_id.to_le_bytes());
        seal(&mut bytes, CONTROL_MAGIC, 64);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderFlaw> {
        let bytes = checked(bytes, CONTROL_MAGIC, 64)?;
        let segment_bytes = possible_size(get_u64(bytes, 24))?;
        let mut boot_id = [0; 16];
        boot_id.copy_from_slice(&bytes[48..64]);
        Ok(Self {
            queue_id: get_u64(bytes, 16),
            segment_bytes,
            roll_ns: get_u64(bytes, 32),
            chunk_bytes: get_u64(bytes, 40),
            boot_id: u128::from_le_bytes(boot_id),
        })
    }
}

impl SegmentHeader {
    pub fn encode(&self) -> [u8; HEADER_USED_BYTES] {
        let mut bytes = [0; HEADER_USED_BYTES];
        put_u64(&mut bytes, 16, self.queue_id);
        put_u64(&mut bytes, 24, self.number);
        put_u64(&mut bytes, 32, self.segment_bytes);
        seal(&mut bytes, SEGMENT_MAGIC, 40);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderFlaw> {
        let bytes = checked(bytes, SEGMENT_MAGIC, 40)?;
        Ok(Self {
            queue_id: get_u64(bytes, 16),
            number: get_u64(bytes, 24),
            segment_bytes: possible_size(get_u64(bytes, 32))?,
        })
    }

    pub fn salt(&self) -> u32 {
        let id = (self.queue_id ^ (self.queue_id >> 32)) as u32;
        id ^ (self.number as u32).rotate_left(8)
    }
}

/// Behind header and index, on a page.
pub const fn data_start(segment_bytes: u64) -> u64 {
    let blocks = segment_bytes.div_ceil(INDEX_BLOCK_BYTES);
    (PAGE_BYTES + blocks * INDEX_ENTRY_BYTES).next_multiple_of(PAGE_BYTES)
}

pub const fn slot_bytes(payload_bytes: usize) -> u64 {
    (MESSAGE_HEADER_BYTES + payload_bytes as u64).next_multiple_of(ALIGN_BYTES)
}

pub const fn payload_bytes_max(segment_bytes: u64) -> usize {
    let room = segment_bytes - data_start(segment_bytes) - MESSAGE_HEADER_BYTES - ALIGN_BYTES;
    if room as usize > PAYLOAD_BYTES_MAX { PAYLOAD_BYTES_MAX } else { room as usize }
}

#[inline]
pub fn message_checksum(salt: u32, sequence: u64, time_ns: u64, payload: &[u8]) -> u32 {
    let start = checksum_start(salt, sequence, payload.len());
    crc32c_append(crc32c_append(start, &time_ns.to_le_bytes()), payload)
}

/// The same, of time and payload as they are stored.
#[inline]
pub(crate) fn stored_checksum(salt: u32, sequence: u64, stored: &[u8]) -> u32 {
    crc32c_append(checksum_start(salt, sequence, stored.len() - TIME_BYTES), stored)
}

#[inline]
fn checksum_start(salt: u32, sequence: u64, payload_bytes: usize) -> u32 {
    let place = (sequence as u32) ^ (sequence >> 32) as u32;
    salt ^ place ^ (payload_bytes as u32).rotate_left(16)
}

/// For a first sequence below 2^48.
pub fn begun_word(first_sequence: u64, salt: u32) -> u64 {
    first_sequence << 16 | u64::from(begun_check(first_sequence, salt))
}

/// `None` when its check is wrong.
pub fn begun_sequence(word: u64, salt: u32) -> Option<u64> {
    let first_sequence = word >> 16;
    let is_right = first_sequence > 0 && begun_check(first_sequence, salt) == word as u16;
    is_right.then_some(first_sequence)
}

fn begun_check(first_sequence: u64, salt: u32) -> u16 {
    crc32c::crc32c_append(salt, &first_sequence.to_le_bytes()) as u16
}

fn possible_size(segment_bytes: u64) -> Result<u64, HeaderFlaw> {
    let fits = (SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&segment_bytes);
    match fits && segment_bytes % PAGE_BYTES == 0 {
        true => Ok(segment_bytes),
        false => Err(HeaderFlaw::Size(segment_bytes)),
    }
}

fn seal(bytes: &mut [u8; HEADER_USED_BYTES], magic: [u8; 8], end: usize) {
    bytes[..8].copy_from_slice(&magic);
    bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    let checksum = header_checksum(bytes, end);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
}

fn checked(bytes: &[u8], magic: [u8; 8], end: usize) -> Result<&[u8], HeaderFlaw> {
    let bytes = bytes.get(..HEADER_USED_BYTES).ok_or(HeaderFlaw::Short)?;
    if bytes[..8] != magic {
        return Err(HeaderFlaw::Magic);
    }
    if get_u32(bytes, 12) != header_checksum(bytes, end) {
        return Err(HeaderFlaw::Checksum);
    }
    match get_u32(bytes, 8) {
        FORMAT => Ok(bytes),
        other => Err(HeaderFlaw::Format(other)),
    }
}

fn header_checksum(bytes: &[u8], end: usize) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..end])
}

pub(crate) fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

pub(crate) fn get_u32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

pub(crate) fn get_u64(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_and_no_flipped_bit_does() {
        let control = ControlHeader {
            queue_id: 7,
            segment_bytes: 1 << 20,
            roll_ns: 5,
            chunk_bytes: 65_536,
            boot_id: 9,
        };
        let segment = SegmentHeader { queue_id: 7, number: 3, segment_bytes: 1 << 20 };
        assert_eq!(ControlHeader::decode(&control.encode()).unwrap(), control);
        assert_eq!(SegmentHeader::decode(&segment.encode()).unwrap(), segment);
        for bit in 0..40 * 8 {
            let mut bytes = segment.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::decode(&bytes).is_err(), "bit {bit}");
        }
        assert_eq!(SegmentHeader::decode(&segment.encode()[..63]), Err(HeaderFlaw::Short));
    }

    #[test]
    fn a_begun_word_holds_its_sequence_and_its_check() {
        let word = begun_word(123_456, 99);
        assert_eq!(begun_sequence(word, 99), Some(123_456));
        assert_eq!(begun_sequence(word ^ 1, 99), None);
        assert_eq!(begun_sequence(0, 99), None);
    }

    #[test]
    fn a_checksum_is_of_one_place_alone() {
        let right = message_checksum(1, 10, 5, b"hello");
        assert_ne!(right, message_checksum(2, 10, 5, b"hello"));
        assert_ne!(right, message_checksum(1, 11, 5, b"hello"));
        assert_ne!(right, message_checksum(1, 10, 6, b"hello"));
        assert_ne!(right, message_checksum(1, 10, 5, b"hell"));
    }

    #[test]
    fn the_first_message_stands_behind_the_index() {
        assert_eq!(data_start(64 << 20), 4096 + 16_384);
        assert_eq!(data_start(SEGMENT_BYTES_MIN), 8192);
        assert_eq!(slot_bytes(0), 16);
        assert_eq!(slot_bytes(256), 272);
        assert_eq!(slot_bytes(257), 280);
    }
}
