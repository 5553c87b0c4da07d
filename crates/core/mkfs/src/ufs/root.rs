use super::layout::{Form, Layout};
use super::{FRAGMENT_BYTES, SECTOR_BYTES};
use crate::kind::MADE_S;
use crate::record::Record;

const ROOT: u32 = 2;
const DIRECTORY: u8 = 4;
/// `drwxr-xr-x`.
const MODE: u16 = 0o040_755;
/// A directory grows by as much, and no name crosses a border of it.
const CHUNK_BYTES: u16 = 512;

/// The first fragment of inodes: all zero but the root's.
pub(super) fn inodes(layout: &Layout) -> Record {
    let mut table = Record::little(FRAGMENT_BYTES as usize);
    let at = ROOT as usize * layout.form.inode_bytes() as usize;
    table.set_u16(at, MODE).set_u16(at + 2, 2);
    match layout.form {
        Form::One => set_inode_one(&mut table, at, layout),
        Form::Two => set_inode_two(&mut table, at, layout),
    }
    table
}

/// `struct ufs1_dinode`: size, three times, the first direct block, sectors held.
fn set_inode_one(table: &mut Record, at: usize, layout: &Layout) {
    table.set_u64(at + 8, CHUNK_BYTES.into());
    for time in [16, 24, 32] {
        table.set_u32(at + time, MADE_S as u32);
    }
    table.set_u32(at + 40, layout.root_directory() as u32);
    table.set_u32(at + 104, (FRAGMENT_BYTES / SECTOR_BYTES) as u32);
}

/// `struct ufs2_dinode`: the same with 64 bits, and the time of birth.
fn set_inode_two(table: &mut Record, at: usize, layout: &Layout) {
    table.set_u64(at + 16, CHUNK_BYTES.into());
    table.set_u64(at + 24, FRAGMENT_BYTES / SECTOR_BYTES);
    for time in [32, 40, 48, 56] {
        table.set_u64(at + time, MADE_S);
    }
    table.set_u64(at + 112, layout.root_directory());
}

/// `struct direct`: inode, length of the entry, type, length of the name, name. The last entry takes
/// what is left of its chunk; the rest of the fragment is zero.
pub(super) fn directory() -> Record {
    const FIRST: u16 = 12;
    let mut chunk = Record::little(FRAGMENT_BYTES as usize);
    set_entry(&mut chunk, 0, FIRST, ".");
    set_entry(&mut chunk, FIRST.into(), CHUNK_BYTES - FIRST, "..");
    chunk
}

fn set_entry(chunk: &mut Record, at: usize, length: u16, name: &str) {
    chunk.set_u32(at, ROOT).set_u16(at + 4, length).set_u8(at + 6, DIRECTORY);
    chunk.set_u8(at + 7, name.len() as u8).set(at + 8, name.as_bytes());
}
