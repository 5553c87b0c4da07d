//! Files made durable, each by its path: as a database calls fsync, or as the original's shell command.
//!
//! ```text
//! native    open(O_RDONLY) fsync close, path by path
//! command   sh -c "sync PATH PATH": the same inside another process, and what starting one costs
//! ```
//!
//! A path that is a directory makes the directory durable, not the files in it. Source: sync(1) of GNU
//! coreutils, which calls fsync on what it is given.

use std::{
    fs::File,
    path::Path,
    process::{Command, Stdio},
};

use pickfs_record::typed::quoted;

use crate::fault::Fault;

pub fn sync(paths: &[&Path], by_command: bool) -> Result<(), Fault> {
    if !by_command {
        return paths.iter().try_for_each(|path| {
            let file = File::open(path).map_err(Fault::io("open", path))?;
            file.sync_all().map_err(Fault::io("fsync", path))
        });
    }
    let text = command_text(paths);
    let output = Command::new("/bin/sh").arg("-c").arg(&text).stdin(Stdio::null()).output();
    let output = output.map_err(Fault::io("run", "/bin/sh"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Fault::Failed { reason: format!("`{text}` ended with {}: {}", output.status, said.trim()) })
}

/// Its length is a factor of the original's figures for sync rows.
pub fn command_text(paths: &[&Path]) -> String {
    paths
        .iter()
        .fold("sync".into(), |text, path| format!("{text} {}", quoted(&path.to_string_lossy())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_sync_files_and_directories() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it's a column");
        std::fs::write(&path, b"data").unwrap();
        for by in [false, true] {
            sync(&[&path, folder.path()], by).unwrap();
            let missing = folder.path().join("missing");
            let fault = sync(&[&missing], by).unwrap_err().to_string();
            assert!(fault.contains("missing"), "{fault}");
        }
    }

    #[test]
    fn the_command_is_the_originals() {
        let text = command_text(&[Path::new("/mnt/a"), Path::new("/mnt/b c")]);
        assert_eq!(text, "sync /mnt/a '/mnt/b c'");
    }
}
