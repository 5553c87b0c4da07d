//! Pages that a program can write.

use std::{env, fs, path::PathBuf};

/// A file of the repository by its path from the top.
pub fn file(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../..")).join(path)
}

/// Writes the page where `PICKFS_UPDATE_DOCS` is set, and says whether it is.
pub fn update(path: &str, text: &str) -> bool {
    let is_asked = env::var_os("PICKFS_UPDATE_DOCS").is_some();
    if is_asked {
        fs::write(file(path), text).expect("write");
    }
    is_asked
}

/// Panics where the page has another text and is not to be written: `cargo test` with the words `test` writes it.
#[track_caller]
pub fn keep(path: &str, text: &str, test: &str) {
    let old = fs::read_to_string(file(path)).unwrap_or_default();
    if old == text || update(path, text) {
        return;
    }
    let mut lines = (1..).zip(old.lines().zip(text.lines()));
    let (line, (was, is)) = lines.find(|(_, two)| two.0 != two.1).unwrap_or_default();
    panic!(
        "{path}, line {line}: not what the code says; run PICKFS_UPDATE_DOCS=1 cargo test \
         {test}\n  there: {was:.300}\n  code:  {is:.300}"
    );
}
