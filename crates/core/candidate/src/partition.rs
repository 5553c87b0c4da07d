//! A master boot record with one partition, for a tool that is given a whole disk and would label it itself and
//! then wait for a daemon that no guest has. Not the reading of tables: the interlock asks blkid.
//!
//! ```text
//! byte 446   | state | first by head, cylinder | type | last so | first sector u32 | sectors u32 |  x 4
//! byte 510   | 55 aa |
//! ```
//!
//! Source: `block/partitions/msdos.c` and `include/linux/msdos_partition.h` of the kernel.

pub const TABLE_AT: u64 = 446;
/// What stands behind the name of a disk in that of its first partition.
pub const BEHIND: &str = "1";

const SECTOR_BYTES: u64 = 512;
/// A mebibyte stays free before it.
const FIRST_SECTOR: u32 = 2048;
const LINUX: u8 = 0x83;
/// In the place of head and cylinder: the sectors behind count.
const BY_SECTOR: [u8; 3] = [0xfe, 0xff, 0xff];

/// Three of its four entries are empty.
pub fn only_one(size_bytes: u64) -> [u8; 66] {
    let sectors = (size_bytes / SECTOR_BYTES).saturating_sub(u64::from(FIRST_SECTOR));
    let sectors = u32::try_from(sectors).unwrap_or(u32::MAX);
    let mut table = [0; 66];
    table[1..4].copy_from_slice(&BY_SECTOR);
    table[4] = LINUX;
    table[5..8].copy_from_slice(&BY_SECTOR);
    table[8..12].copy_from_slice(&FIRST_SECTOR.to_le_bytes());
    table[12..16].copy_from_slice(&sectors.to_le_bytes());
    table[64..].copy_from_slice(&[0x55, 0xaa]);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partition_is_the_disk_less_its_first_mebibyte() {
        let table = only_one(64 << 20);
        let number = |at: usize| u32::from_le_bytes(table[at..at + 4].try_into().unwrap());
        assert_eq!((table[0], table[4]), (0, 0x83));
        assert_eq!(u64::from(number(8)) * 512, 1 << 20);
        assert_eq!(u64::from(number(12)) * 512, 63 << 20);
        assert!(table[16..64].iter().all(|byte| *byte == 0) && table[64..] == [0x55, 0xaa]);
        assert_eq!(only_one(0)[12..16], [0; 4]);
    }
}
