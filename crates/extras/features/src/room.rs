use std::fs::{self, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pickfs_sys::block::BlockDevice;
use pickfs_sys::mount;

use crate::refusal::{Asking, CallResult};

pub const TORN_TIME: Duration = Duration::from_secs(1);

/// Longest name of a POSIX system with Linux's limits: `NAME_MAX` of linux/limits.h.
pub const NAME_MAX: usize = 255;

#[derive(Debug, Clone)]
pub struct Room {
    folder: PathBuf,
    device: Option<BlockDevice>,
    /// Asked as root: a refused permission then speaks of the file system.
    pub is_root: bool,
    pub torn_time: Duration,
    /// The file system was made for the asking; what may break one is asked there only.
    pub is_scratch: bool,
}

impl Room {
    /// It is ours; `device` is the one under it.
    pub fn new(folder: &Path, device: Option<&Path>) -> Self {
        Self {
            folder: folder.to_owned(),
            device: device.and_then(|path| BlockDevice::at(path).ok()),
            is_root: rustix::process::geteuid().is_root(),
            torn_time: TORN_TIME,
            is_scratch: false,
        }
    }

    /// Made now.
    pub fn inner(&self, name: &str) -> Asking<Self> {
        let inner = self.within(name);
        fs::create_dir(&inner.folder).needed("mkdir")?;
        Ok(inner)
    }

    /// In a folder that is there already.
    pub fn within(&self, name: &str) -> Self {
        Self { folder: self.folder.join(name), ..self.clone() }
    }

    /// Longest name that may be tried. Drivers are known that break a folder by a name that is too
    /// long (fuse2fs 1.47.0 by one of 256 bytes), so on what is not ours it is [`NAME_MAX`].
    pub fn name_bytes_max(&self) -> usize {
        if self.is_scratch { usize::MAX } else { NAME_MAX }
    }

    pub fn is_fuse(&self) -> bool {
        mount::mount_of(&self.folder).is_ok_and(|entry| entry.fs_type.starts_with("fuse"))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn device(&self) -> Option<&BlockDevice> {
        self.device.as_ref()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn open_folder(&self) -> Asking<OwnedFd> {
        File::open(&self.folder).map(OwnedFd::from).needed("open")
    }

    pub fn file(&self, name: &str) -> Asking<File> {
        let path = self.path(name);
        File::options().read(true).write(true).create_new(true).open(path).needed("open")
    }

    pub fn filled(&self, name: &str, bytes: &[u8]) -> Asking<File> {
        let mut file = self.file(name)?;
        file.write_all(bytes).needed("write")?;
        Ok(file)
    }

    pub fn read(&self, name: &str) -> Asking<Vec<u8>> {
        fs::read(self.path(name)).needed("read")
    }

    /// In no order.
    pub fn names(&self) -> Asking<Vec<std::ffi::OsString>> {
        let entries = fs::read_dir(&self.folder).needed("readdir")?;
        entries.map(|entry| Ok(entry.needed("readdir")?.file_name())).collect()
    }
}
