//! A column that the application packs as it writes it, and unpacks as it reads it, as kdb+ can: in blocks of 2^17
//! bytes, each for itself, by LZ4.
//!
//! ```text
//! 0         8                                                        - 8 n - 8           - 8
//! | magic   | block 0 | block 1 | ... block n - 1                    | end of each block | bytes unpacked |
//! ```
//!
//! All numbers are 64 bits, little-endian. A block that would not become smaller stands as it is, as long as unpacked.
//! Packing stands inside the write row and unpacking inside the read rows: both are what such a database waits for.

use std::path::Path;

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use pickfs_sys::huge_pages;

use super::{
    files::Of,
    get::read1,
    lane::{Counted, Lane, keeping},
    layout::wrong,
    set::{SetHow, Setting},
};
use crate::{fault::Fault, phase::Done};

pub(super) const PACKED: &str = "packedLarge";
pub(super) const WRITE: &str = "write packed float large";
pub(super) const SYNC: &str = "sync packed float large";
pub(super) const READ: &str = "sequential read packed float large";
pub(super) const REREAD: &str = "sequential reread packed float large";

const MAGIC: &[u8; 8] = b"pickpack";
const BLOCK_BYTES: usize = 1 << 17;

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    let (path, list) = (lane.files.at(PACKED), lane.data.list(Of::Large));
    let (data, how) = (list.whole(), lane.settings.set);
    let (work, mut real_bytes) = (8 * list.count, 0);
    lane.write_row(WRITE, work, |bench| {
        real_bytes = set_packed(&path, &data, how, &mut keeping(bench))?;
        Ok(Done { work: work as f64, real_bytes })
    })?;
    // Whoever reads has the file and what is unpacked in memory, and no more.
    drop(data);
    lane.sync_row(SYNC, &[&path], list.count, Done::bytes(real_bytes))?;
    lane.make_cold(std::slice::from_ref(&path))?;
    for phase in [READ, REREAD] {
        let counted = Counted { work, real_bytes, is_whole: true };
        let mut unpacked = None;
        lane.read_row(phase, std::slice::from_ref(&path), counted, |_| {
            let file = read1(&path)?;
            unpacked = Some(unpack(&file, work as usize).map_err(|error| wrong(&path, error))?);
            Ok(())
        })?;
        let is_other = |unpacked: Vec<u8>| {
            let mut elements = (0..).zip(unpacked.chunks_exact(8));
            elements.any(|(index, element)| element != list.element(index).to_le_bytes())
        };
        if unpacked.is_some_and(is_other) {
            return Err(wrong(&path, "holds other elements than were packed"));
        }
    }
    lane.checked += 1;
    Ok(())
}

/// Each write call is an operation (begin, end, offset). Gives the bytes of the file.
fn set_packed(
    path: &Path,
    data: &[u8],
    how: SetHow,
    operation: &mut impl FnMut(u64, u64, u64),
) -> Result<u64, Fault> {
    let mut setting = Setting::begin(path, how, data.len() as u64)?;
    let (mut bytes, mut ends, mut end) = (MAGIC.to_vec(), Vec::new(), MAGIC.len() as u64);
    let mut block = vec![0; get_maximum_output_size(BLOCK_BYTES)];
    for raw in data.chunks(BLOCK_BYTES) {
        let length = compress_into(raw, &mut block).expect("there is room for the longest block");
        let stored = if length < raw.len() { &block[..length] } else { raw };
        bytes.extend_from_slice(stored);
        end += stored.len() as u64;
        ends.extend_from_slice(&end.to_le_bytes());
        if bytes.len() >= how.chunk_bytes {
            let whole = bytes.len() - bytes.len() % how.chunk_bytes;
            setting.write(&[], &bytes[..whole], operation)?;
            bytes.drain(..whole);
        }
    }
    bytes.extend_from_slice(&ends);
    bytes.extend_from_slice(&(data.len() as u64).to_le_bytes());
    setting.write(&[], &bytes, operation)?;
    setting.finish()
}

fn unpack(file: &[u8], length: usize) -> Result<Vec<u8>, String> {
    let ends_at = file.len().checked_sub(8 * length.div_ceil(BLOCK_BYTES) + 8);
    let is_whole = file.starts_with(MAGIC) && file.ends_with(&(length as u64).to_le_bytes());
    let parts = ends_at.filter(|_| is_whole).map(|at| file.split_at(at));
    let (packed, ends) = parts.ok_or_else(|| format!("is no packed column of {length} bytes"))?;
    let mut unpacked = vec![0; length];
    huge_pages::ask_for(&mut unpacked);
    let mut from = MAGIC.len();
    let parts = unpacked.chunks_mut(BLOCK_BYTES).zip(ends.chunks_exact(8));
    for (number, (into, end)) in parts.enumerate() {
        let end = u64::from_le_bytes(end.try_into().expect("eight bytes")) as usize;
        let block = packed.get(from..end).ok_or_else(|| format!("block {number} ends at {end}"))?;
        from = end;
        if block.len() == into.len() {
            into.copy_from_slice(block);
            continue;
        }
        match decompress_into(block, into) {
            Ok(bytes) if bytes == into.len() => {}
            Ok(bytes) => return Err(format!("block {number} holds {bytes} bytes")),
            Err(error) => return Err(format!("block {number}: {error}")),
        }
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::set::unkept, *};

    fn packed(data: &[u8]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("column");
        let bytes = set_packed(&path, data, SetHow::chunks(4096), &mut unkept).unwrap();
        let file = std::fs::read(path).unwrap();
        assert_eq!(file.len() as u64, bytes);
        file
    }

    #[test]
    fn what_was_packed_is_unpacked_and_what_does_not_shrink_stands_as_it_is() {
        let mixed =
            |count: u64| (0..count).flat_map(|n| crate::journal::scrambled(1, n).to_le_bytes());
        let random: Vec<u8> = mixed(40_000).collect();
        let even = vec![7; 3 * BLOCK_BYTES + 1];
        assert_eq!(packed(&random).len(), random.len() + 8 * 3 + 16);
        assert!(packed(&even).len() < even.len() / 100);
        for data in [random, even, Vec::new()] {
            assert_eq!(unpack(&packed(&data), data.len()), Ok(data));
        }
    }

    #[test]
    fn damage_is_told() {
        let good = packed(&[5; 300_000]);
        assert!(unpack(b"pickpac", 0).is_err() && unpack(&good, 300_001).is_err());
        let error = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            unpack(&bytes, 300_000).unwrap_err()
        };
        let no_column = "is no packed column of 300000 bytes";
        assert_eq!(error(good.len() - 3, 1), no_column);
        assert!(error(good.len() - 9, 1).starts_with("block 2 ends at"));
        assert_eq!(error(0, 0), no_column);
    }

    proptest! {
        #[test]
        fn no_file_makes_it_panic(at in 0usize..4000, byte: u8, cut in 0usize..4000) {
            let mut bytes = packed(&[9; 200_000]);
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(length - cut % length);
            let _ = unpack(&bytes, 200_000);
        }
    }
}
