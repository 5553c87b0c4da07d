//! The archive that a kernel unpacks as its first file system: cpio in its `newc` form, not
//! compressed, as the kernel then has nothing to decompress.
//!
//! Source: `Documentation/driver-api/early-userspace/buffer-format.rst`, cpio(5).

use std::{collections::BTreeSet, io};

use cpio::newc::{Builder, trailer};

const FOLDER: u32 = 0o040_000;
const CHARACTER: u32 = 0o020_000;
const REGULAR: u32 = 0o100_000;

#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    folders: BTreeSet<String>,
}

impl Archive {
    /// With those above it; one that is there already is left.
    pub fn folder(&mut self, path: &str) -> io::Result<()> {
        let path = path.trim_matches('/');
        if path.is_empty() || self.folders.contains(path) {
            return Ok(());
        }
        self.folder_of(path)?;
        self.folders.insert(path.to_owned());
        self.entry(path, FOLDER | 0o755, (0, 0), &[])
    }

    /// And the folders above it.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        self.folder_of(path)?;
        self.entry(path, REGULAR | mode, (0, 0), content)
    }

    /// Root may use it; the folders above it are made.
    pub fn device(&mut self, path: &str, number: (u32, u32)) -> io::Result<()> {
        self.folder_of(path)?;
        self.entry(path, CHARACTER | 0o600, number, &[])
    }

    pub fn finish(self) -> io::Result<Vec<u8>> {
        trailer(self.bytes)
    }

    fn folder_of(&mut self, path: &str) -> io::Result<()> {
        let above = path.trim_start_matches('/').rsplit_once('/');
        above.map_or(Ok(()), |(above, _)| self.folder(above))
    }

    fn entry(
        &mut self,
        path: &str,
        mode: u32,
        (major, minor): (u32, u32),
        content: &[u8],
    ) -> io::Result<()> {
        let header = Builder::new(path.trim_start_matches('/')).ino(self.entries).mode(mode);
        self.entries += 1;
        let header = header.nlink(1).rdev_major(major).rdev_minor(minor);
        let mut entry = header.write(&mut self.bytes, content.len() as u32);
        io::Write::write_all(&mut entry, content)?;
        entry.finish().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(mut bytes: &[u8]) -> Vec<(String, u32, u32)> {
        let mut entries = Vec::new();
        loop {
            let reader = cpio::newc::Reader::new(bytes).unwrap();
            let entry = reader.entry();
            if entry.is_trailer() {
                return entries;
            }
            entries.push((entry.name().to_owned(), entry.mode(), entry.file_size()));
            bytes = reader.finish().unwrap();
        }
    }

    #[test]
    fn folders_stand_before_what_is_in_them_and_once() {
        let mut archive = Archive::default();
        archive.file("/lib/x86/libc.so.6", 0o755, b"12345").unwrap();
        archive.file("lib/x86/libm.so.6", 0o644, b"").unwrap();
        archive.device("dev/console", (5, 1)).unwrap();
        let names: Vec<_> = list(&archive.finish().unwrap());
        let expected = [
            ("lib", 0o040_755, 0),
            ("lib/x86", 0o040_755, 0),
            ("lib/x86/libc.so.6", 0o100_755, 5),
            ("lib/x86/libm.so.6", 0o100_644, 0),
            ("dev", 0o040_755, 0),
            ("dev/console", 0o020_600, 0),
        ];
        assert_eq!(names, expected.map(|(name, mode, size)| (name.to_owned(), mode, size)));
    }
}
