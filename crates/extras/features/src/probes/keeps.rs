//! Whether every byte comes back. Names are short, in one case and plain ASCII, which is what the oldest file systems
//! can hold.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};

use crate::answers::{Answer, Verdict};

use crate::probe::Probe;
use crate::refusal::{Asking, CallResult};
use crate::room::Room;

pub const KEEPS: &str = "keeps";
pub const PROBES: &[Probe] = &[Probe::new(KEEPS, given).kept(compared)];

const FILES: usize = 500;
const FILE_BYTES: usize = 1024;
const PIECES: usize = 256;
const PIECE_BYTES: usize = 64 << 10;
const LARGE: &str = "large.dat";
const GONE: &str = "gone.dat";
const FOLDER: &str = "files";

fn given(room: &Room) -> Asking {
    if !room.is_scratch {
        let words = "16 MiB are written where the file system was made for it";
        return Ok(Answer::new(Verdict::NotAsked, words));
    }
    let content = Content::new();
    let mut large = room.file(LARGE)?;
    for piece in 0..PIECES {
        large.write_all(content.piece(piece)).needed("write")?;
    }
    large.sync_all().needed("fsync")?;
    room.filled(GONE, content.piece(0))?.sync_all().needed("fsync")?;
    fs::remove_file(room.path(GONE)).needed("unlink")?;
    let small = room.inner(FOLDER)?;
    for number in 0..FILES {
        small.filled(&name(number), content.file(number))?;
    }
    compared(room)
}

fn compared(room: &Room) -> Asking {
    let lost = |words: String| Ok(Answer::new(Verdict::Failed, words));
    let (content, small) = (Content::new(), room.within(FOLDER));
    let mut large = File::open(room.path(LARGE)).needed("open")?;
    let mut found = vec![0; PIECE_BYTES];
    for piece in 0..PIECES {
        large.read_exact(&mut found).needed("read")?;
        if found != content.piece(piece) {
            return lost(format!("{LARGE} differs in its piece {piece} of 64 KiB"));
        }
    }
    let listed = small.names()?.len();
    if listed != FILES {
        return lost(format!("{FILES} files were made and {listed} are listed"));
    }
    for number in 0..FILES {
        let name = name(number);
        let length = fs::metadata(small.path(&name)).needed("stat")?.len();
        if length != FILE_BYTES as u64 || small.read(&name)? != content.file(number) {
            return lost(format!("{FOLDER}/{name} differs"));
        }
    }
    match fs::metadata(room.path(GONE)) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        _ => return lost(format!("{GONE} was removed and is there")),
    }
    let block_bytes = rustix::fs::statfs(room.folder()).needed("statfs")?.f_bsize;
    let words = format!("{FILES} files and 16 MiB compared, blocks of {block_bytes} bytes");
    Ok(Answer::new(Verdict::Yes, words))
}

fn name(number: usize) -> String {
    format!("f{number:05}.dat")
}

/// What is written: windows into one stretch of noise, each begun a byte later than the one before. No two blocks
/// of a disk are alike then, as fewer than 512 windows of a kind begin in it, and nothing is computed for each.
struct Content(Vec<u8>);

impl Content {
    /// By a linear congruential generator (Knuth, MMIX).
    fn new() -> Content {
        let mut state = 1_u64;
        let noise = (0..PIECES + PIECE_BYTES + FILES + FILE_BYTES).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005);
            state = state.wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        });
        Content(noise.collect())
    }

    fn piece(&self, number: usize) -> &[u8] {
        &self.0[number..number + PIECE_BYTES]
    }

    fn file(&self, number: usize) -> &[u8] {
        let from = PIECES + PIECE_BYTES + number;
        &self.0[from..from + FILE_BYTES]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_blocks_of_a_disk_get_the_same_bytes() {
        let content = Content::new();
        let (pieces, files) =
            ((0..PIECES).map(|n| content.piece(n)), (0..FILES).map(|n| content.file(n)));
        let blocks: Vec<&[u8]> = pieces.chain(files).flat_map(|bytes| bytes.chunks(512)).collect();
        assert_eq!(blocks.iter().collect::<HashSet<_>>().len(), blocks.len());
    }

    #[test]
    fn a_changed_byte_and_a_file_that_came_back_are_told() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut room = Room::new(folder.path(), None);
        assert_eq!(given(&room).unwrap().verdict, Verdict::NotAsked);
        room.is_scratch = true;
        assert_eq!(given(&room).unwrap().verdict, Verdict::Yes);
        room.filled(GONE, b"again").unwrap();
        assert_eq!(compared(&room).unwrap().words, "gone.dat was removed and is there");
        fs::write(room.within(FOLDER).path(&name(7)), b"short").unwrap();
        assert_eq!(compared(&room).unwrap().words, "files/f00007.dat differs");
    }
}
