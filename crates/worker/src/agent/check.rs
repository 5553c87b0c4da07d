//! Whether a file system of a guest keeps what it is given: five hundred files and sixteen
//! mebibytes are written, the candidate is unmounted and mounted again, and every byte is compared.
//! Names are short, in one case and plain ASCII, which is what the oldest of them can hold.

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
};

use pickfs_guest::message::FromGuest;

use super::candidate::Candidate;

const FILES: u64 = 500;
const FILE_BYTES: usize = 1024;
const LARGE_BYTES: u64 = 16 << 20;
const PIECE_BYTES: usize = 64 << 10;
const LARGE: &str = "large.dat";
const FOLDER: &str = "files";

/// Does it all; what was made is gone afterwards.
pub fn check(candidate: &mut Candidate, anew: bool) -> Result<FromGuest, String> {
    let at = candidate.directory();
    let again = |candidate: &mut Candidate| if anew { candidate.anew() } else { Ok(()) };
    write_all(&at)?;
    again(candidate)?;
    let bytes = compare_all(&at)?;
    remove_all(&at)?;
    again(candidate)?;
    match fs::metadata(at.join(LARGE)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        _ => return Err(format!("{LARGE} was removed and is there after a second mount")),
    }
    Ok(FromGuest::Checked { files: FILES, bytes })
}

fn write_all(at: &Path) -> Result<(), String> {
    let large = at.join(LARGE);
    let mut file = File::create(&large).map_err(failed("create", &large))?;
    let mut piece = vec![0; PIECE_BYTES];
    for number in 0..LARGE_BYTES / PIECE_BYTES as u64 {
        pattern(&mut piece, number);
        file.write_all(&piece).map_err(failed("write", &large))?;
    }
    file.sync_all().map_err(failed("sync", &large))?;
    let folder = at.join(FOLDER);
    fs::create_dir(&folder).map_err(failed("create", &folder))?;
    for number in 0..FILES {
        let path = small(&folder, number);
        pattern(&mut piece[..FILE_BYTES], u64::MAX - number);
        fs::write(&path, &piece[..FILE_BYTES]).map_err(failed("write", &path))?;
    }
    Ok(())
}

fn compare_all(at: &Path) -> Result<u64, String> {
    let large = at.join(LARGE);
    let mut file = File::open(&large).map_err(failed("open", &large))?;
    let (mut found, mut expected) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    for number in 0..LARGE_BYTES / PIECE_BYTES as u64 {
        file.read_exact(&mut found).map_err(failed("read", &large))?;
        pattern(&mut expected, number);
        if found != expected {
            return Err(format!(
                "{LARGE} differs in its piece {number} of 64 KiB after a second mount"
            ));
        }
    }
    let folder = at.join(FOLDER);
    let listed = fs::read_dir(&folder).map_err(failed("list", &folder))?.flatten().count() as u64;
    if listed != FILES {
        return Err(format!(
            "{FILES} files were made and {listed} are listed after a second mount"
        ));
    }
    for number in 0..FILES {
        let path = small(&folder, number);
        let length = fs::metadata(&path).map_err(failed("look at", &path))?.len();
        pattern(&mut expected[..FILE_BYTES], u64::MAX - number);
        let found = fs::read(&path).map_err(failed("read", &path))?;
        if length != FILE_BYTES as u64 || found != expected[..FILE_BYTES] {
            return Err(format!("{} differs after a second mount", path.display()));
        }
    }
    Ok(LARGE_BYTES + FILES * FILE_BYTES as u64)
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

fn small(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("f{number:05}.dat"))
}

/// Bytes that differ from piece to piece and within one; Knuth's multiplicative hash.
fn pattern(piece: &mut [u8], number: u64) {
    for (index, bytes) in piece.chunks_exact_mut(8).enumerate() {
        let word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index as u64;
        bytes.copy_from_slice(&word.to_le_bytes());
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("cannot {what} {path}: {error}")
}
