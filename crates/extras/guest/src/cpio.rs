//! The archive that a kernel unpacks as its first file system: cpio in its `newc` form, not
//! compressed, as the kernel then has nothing to decompress.
//!
//! Source: `Documentation/driver-api/early-userspace/buffer-format.rst`, cpio(5).

use std::collections::BTreeSet;

const FOLDER: u32 = 0o040_000;
const CHARACTER: u32 = 0o020_000;
const REGULAR: u32 = 0o100_000;

#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    folders: BTreeSet<String>,
}

/// What the header says besides name and size.
struct Kind {
    mode: u32,
    links: u32,
    device: (u32, u32),
}

impl Archive {
    /// With those above it; one that is there already is left.
    pub fn folder(&mut self, path: &str) {
        let path = path.trim_matches('/');
        if path.is_empty() || self.folders.contains(path) {
            return;
        }
        if let Some((above, _)) = path.rsplit_once('/') {
            self.folder(above);
        }
        self.folders.insert(path.to_owned());
        self.entry(path, &Kind { mode: FOLDER | 0o755, links: 2, device: (0, 0) }, &[]);
    }

    /// And the folders above it.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.folder_of(path);
        self.entry(path, &Kind { mode: REGULAR | mode, links: 1, device: (0, 0) }, content);
    }

    /// Root may use it; the folders above it are made.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.folder_of(path);
        let kind = Kind { mode: CHARACTER | 0o600, links: 1, device: (major, minor) };
        self.entry(path, &kind, &[]);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", &Kind { mode: 0, links: 1, device: (0, 0) }, &[]);
        self.bytes
    }

    fn folder_of(&mut self, path: &str) {
        if let Some((above, _)) = path.trim_start_matches('/').rsplit_once('/') {
            self.folder(above);
        }
    }

    fn entry(&mut self, path: &str, kind: &Kind, content: &[u8]) {
        let name = path.trim_start_matches('/');
        let inode = self.entries;
        self.entries += 1;
        let fields = [
            inode,
            kind.mode,
            0,
            0,
            kind.links,
            0,
            content.len() as u32,
            0,
            0,
            kind.device.0,
            kind.device.1,
            name.len() as u32 + 1,
            0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(bytes: &[u8]) -> Vec<(String, u32, usize)> {
        let (mut at, mut entries) = (0, Vec::new());
        loop {
            let field = |n: usize| {
                let text = std::str::from_utf8(&bytes[at + 6 + 8 * n..at + 14 + 8 * n]).unwrap();
                u32::from_str_radix(text, 16).unwrap() as usize
            };
            assert_eq!(&bytes[at..at + 6], b"070701");
            let (mode, size, name_size) = (field(1), field(6), field(11));
            let name =
                String::from_utf8(bytes[at + 110..at + 110 + name_size - 1].to_vec()).unwrap();
            at = (at + 110 + name_size).next_multiple_of(4);
            at = (at + size).next_multiple_of(4);
            if name == "TRAILER!!!" {
                assert_eq!(at, bytes.len());
                return entries;
            }
            entries.push((name, mode as u32, size));
        }
    }

    #[test]
    fn folders_stand_before_what_is_in_them_and_once() {
        let mut archive = Archive::default();
        archive.file("/lib/x86/libc.so.6", 0o755, b"12345");
        archive.file("lib/x86/libm.so.6", 0o644, b"");
        archive.device("dev/console", 5, 1);
        let names: Vec<_> = list(&archive.finish());
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
