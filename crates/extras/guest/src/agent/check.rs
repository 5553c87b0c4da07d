//! Names are short, in one case and plain ASCII, which is what the oldest of them can hold.

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
};

use crate::message::FromGuest;

use super::candidate::Candidate;

const FILES: usize = 500;
const FILE_BYTES: usize = 1024;
const PIECES: usize = 256;
const PIECE_BYTES: usize = 64 << 10;
const LARGE: &str = "large.dat";
const FOLDER: &str = "files";

pub fn check(candidate: &mut Candidate, anew: bool) -> Result<FromGuest, String> {
    let (at, content) = (candidate.directory(), Content::new());
    let again = |candidate: &mut Candidate| if anew { candidate.anew() } else { Ok(()) };
    write_all(&at, &content)?;
    again(candidate)?;
    let bytes = compare_all(&at, &content)?;
    remove_all(&at)?;
    again(candidate)?;
    match fs::metadata(at.join(LARGE)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        _ => return Err(format!("{LARGE} was removed and is there after a second mount")),
    }
    Ok(FromGuest::Checked { files: FILES as u64, bytes })
}

fn write_all(at: &Path, content: &Content) -> Result<(), String> {
    let large = at.join(LARGE);
    let mut file = File::create(&large).map_err(failed("create", &large))?;
    for piece in 0..PIECES {
        file.write_all(content.piece(piece)).map_err(failed("write", &large))?;
    }
    file.sync_all().map_err(failed("sync", &large))?;
    let folder = at.join(FOLDER);
    fs::create_dir(&folder).map_err(failed("create", &folder))?;
    for number in 0..FILES {
        let path = small(&folder, number);
        fs::write(&path, content.file(number)).map_err(failed("write", &path))?;
    }
    Ok(())
}

fn compare_all(at: &Path, content: &Content) -> Result<u64, String> {
    let large = at.join(LARGE);
    let mut file = File::open(&large).map_err(failed("open", &large))?;
    let mut found = vec![0; PIECE_BYTES];
    for piece in 0..PIECES {
        file.read_exact(&mut found).map_err(failed("read", &large))?;
        if found != content.piece(piece) {
            return Err(format!(
                "{LARGE} differs in its piece {piece} of 64 KiB after a second mount"
            ));
        }
    }
    let folder = at.join(FOLDER);
    let listed = fs::read_dir(&folder).map_err(failed("list", &folder))?.flatten().count();
    if listed != FILES {
        return Err(format!(
            "{FILES} files were made and {listed} are listed after a second mount"
        ));
    }
    for number in 0..FILES {
        let path = small(&folder, number);
        let length = fs::metadata(&path).map_err(failed("look at", &path))?.len();
        let found = fs::read(&path).map_err(failed("read", &path))?;
        if length != FILE_BYTES as u64 || found != content.file(number) {
            return Err(format!("{} differs after a second mount", path.display()));
        }
    }
    Ok((PIECES * PIECE_BYTES + FILES * FILE_BYTES) as u64)
}

fn remove_all(at: &Path) -> Result<(), String> {
    let folder = at.join(FOLDER);
    for number in 0..FILES {
        let path = small(&folder, number);
        fs::remove_file(&path).map_err(failed("remove", &path))?;
    }
    fs::remove_dir(&folder).map_err(failed("remove", &folder))?;
    let large = at.join(LARGE);
    fs::remove_file(&large).map_err(failed("remove", &large))
}

fn small(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("f{number:05}.dat"))
}

/// What is written: windows into one stretch of noise, each begun a byte later than the one before. No two blocks
/// of a disk are alike then, as fewer than 512 windows of a kind begin in it, and nothing is computed for each.
struct Content(Vec<u8>);

impl Content {
    fn new() -> Content {
        let mut random = fastrand::Rng::with_seed(1);
        let mut noise = vec![0; PIECES + PIECE_BYTES + FILES + FILE_BYTES];
        random.fill(&mut noise);
        Content(noise)
    }

    fn piece(&self, number: usize) -> &[u8] {
        &self.0[number..number + PIECE_BYTES]
    }

    fn file(&self, number: usize) -> &[u8] {
        let from = PIECES + PIECE_BYTES + number;
        &self.0[from..from + FILE_BYTES]
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("cannot {what} {path}: {error}")
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
}
