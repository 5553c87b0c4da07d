//! The image: one file per run behind a loop device, with the same extents for
//! every candidate. It has no name (kill -9 leaves nothing), every byte of it
//! was written, and what mkfs un-writes is written again.
//!
//! ```text
//! candidate   ext4, xfs, ...
//! /dev/loopN  direct I/O, detaches with its last user
//! image       unlinked file, no holes, no unwritten extents
//! host        the file system of the run's folder, or a tmpfs of our own
//! ```

use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pickfs_record::{BackingKind, record::ImageRecord};
use pickfs_sys::extents;
use pickfs_sys::loop_device::LoopDevice;
use pickfs_sys::mount::{MountRequest, Mounted};
use rustix::fs::{FallocateFlags, OFlags, fallocate};

use crate::error::TargetError;
use crate::fs::HostKind;
use crate::host_folder::HostFolder;
use crate::incompressible::{Incompressible, PIECE_BYTES};
use crate::memory;
use crate::scratch::Progress;

/// Every image and every size that is made on one is a multiple of this.
const BLOCK_BYTES: u64 = 4096;
const TMPFS_SPARE_BYTES: u64 = 4 << 20;

#[derive(Debug)]
pub(crate) struct Image {
    // Dropped in this order: device, file, tmpfs.
    device: LoopDevice,
    file: File,
    memory: Option<PrivateTmpfs>,
    kind: BackingKind,
    size_bytes: u64,
    host: HostFolder,
}

impl Image {
    /// A folder in memory gives a RAM image.
    pub(crate) fn on_disk(
        directory: &Path,
        size_bytes: u64,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self, TargetError> {
        let (host, kind) = HostFolder::of_image(directory, size_bytes, BackingKind::LoopImage)?;
        let file = nameless_file(directory)?;
        forbid_copy_on_write(&file, directory, &host)?;
        Self::finish(file, None, kind, size_bytes, host, progress)
    }

    pub(crate) fn in_memory(
        run_dir: &Path,
        size_bytes: u64,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self, TargetError> {
        check_size(size_bytes)?;
        memory::check("a RAM image", size_bytes)?;
        let tmpfs = PrivateTmpfs::mount(run_dir, size_bytes + TMPFS_SPARE_BYTES)?;
        let host = HostFolder::at(&tmpfs.folder)?;
        let file = nameless_file(&tmpfs.folder)?;
        Self::finish(file, Some(tmpfs), BackingKind::RamImage, size_bytes, host, progress)
    }

    fn finish(
        file: File,
        memory: Option<PrivateTmpfs>,
        kind: BackingKind,
        size_bytes: u64,
        host: HostFolder,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self, TargetError> {
        fill(&file, size_bytes, progress)?;
        extents::rewrite_unwritten(&file)?;
        let device = LoopDevice::attach(&file)?;
        Ok(Self { device, file, memory, kind, size_bytes, host })
    }

    pub(crate) fn device_path(&self) -> &Path {
        self.device.path()
    }

    pub(crate) fn kind(&self) -> BackingKind {
        self.kind
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    pub(crate) fn host(&self) -> &HostFolder {
        &self.host
    }

    /// In place. Nothing may be mounted on the image.
    pub(crate) fn repair(&self) -> Result<u64, TargetError> {
        Ok(extents::rewrite_unwritten(&self.file)?.total_bytes())
    }

    pub(crate) fn state(&self) -> Result<ImageRecord, TargetError> {
        Ok(ImageRecord { direct_io: self.device.status()?.direct_io, ..state_of(&self.file)? })
    }

    pub(crate) fn remove(self) -> Result<(), TargetError> {
        self.device.detach()?;
        drop(self.file);
        self.memory.map_or(Ok(()), PrivateTmpfs::unmount)
    }
}

/// As it is now.
pub(crate) fn state_of(image: &File) -> Result<ImageRecord, TargetError> {
    let found = extents::summary(image)?;
    let (holes_before_bytes, extents_before) = (found.holes_bytes(), found.extent_count as u64);
    Ok(ImageRecord { holes_before_bytes, extents_before, ..ImageRecord::default() })
}

pub(crate) fn check_size(size_bytes: u64) -> Result<(), TargetError> {
    if size_bytes == 0 || size_bytes % BLOCK_BYTES != 0 {
        return Err(TargetError::Other(format!(
            "size of {size_bytes} bytes is not a positive multiple of 4096; round it"
        )));
    }
    Ok(())
}

/// A file without a name; where the host cannot make one, its name is taken away at once.
fn nameless_file(directory: &Path) -> Result<File, TargetError> {
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    let nameless = OFlags::TMPFILE.bits() as i32;
    if let Ok(file) = options.clone().custom_flags(nameless).open(directory) {
        return Ok(file);
    }
    let name = format!("pickfs-image-{:016x}", fastrand::u64(..));
    let path = directory.join(name);
    let file = options.create_new(true).open(&path);
    let file = file.map_err(TargetError::io("create the image", &path))?;
    fs::remove_file(&path).map_err(TargetError::io("unlink the image", &path))?;
    Ok(file)
}

/// Copy on write would give every candidate other extents, so it is switched off or refused.
pub(crate) fn forbid_copy_on_write(
    file: &File,
    directory: &Path,
    host: &HostFolder,
) -> Result<(), TargetError> {
    let obeyed = match host.kind {
        HostKind::InPlace | HostKind::Memory => true,
        HostKind::CopyOnWriteAlways => false,
        HostKind::CopyOnWrite => {
            extents::set_no_copy_on_write(file, true).is_ok()
                && extents::is_no_copy_on_write(file).unwrap_or(false)
        }
    };
    if obeyed {
        return Ok(());
    }
    let (directory, fs_type) = (directory.display(), &host.fs_type);
    Err(TargetError::Other(format!(
        "{directory} is on {fs_type}, which copies on write and keeps doing so; name a folder on ext4 or xfs for \
         the image"
    )))
}

/// Reserves the whole file (for few extents) and writes every byte of it.
pub(crate) fn fill(
    file: &File,
    size_bytes: u64,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), TargetError> {
    // Not every host can reserve; writing does it then.
    let _ = fallocate(file, FallocateFlags::empty(), 0, size_bytes);
    write_noise(file, Path::new("the image"), size_bytes, progress)
}

/// By direct I/O where it works.
pub(crate) fn write_noise(
    file: &File,
    name: &Path,
    size_bytes: u64,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), TargetError> {
    let direct = extents::reopen_direct(file);
    let mut source = Incompressible::new();
    let mut done_bytes = 0;
    while done_bytes < size_bytes {
        let length = (size_bytes - done_bytes).min(PIECE_BYTES as u64);
        let piece = &source.next_piece()[..length as usize];
        let direct_failed = match &direct {
            Some(direct) => direct.write_all_at(piece, done_bytes).is_err(),
            None => true,
        };
        if direct_failed {
            file.write_all_at(piece, done_bytes).map_err(TargetError::io("fill", name))?;
        }
        done_bytes += length;
        let stop = Cell::new(false);
        let (what, total_bytes) = ("filling the scratch", size_bytes);
        progress(Progress { what, done_bytes, total_bytes, stop: &stop });
        if stop.get() {
            return Err(TargetError::Interrupted { what });
        }
    }
    file.sync_all().map_err(TargetError::io("sync", name))
}

#[derive(Debug)]
struct PrivateTmpfs {
    mounted: Option<Mounted>,
    folder: PathBuf,
}

impl PrivateTmpfs {
    fn mount(run_dir: &Path, size_bytes: u64) -> Result<Self, TargetError> {
        let name = format!("pickfs-ram-{:016x}", fastrand::u64(..));
        let folder = run_dir.join(name);
        fs::create_dir(&folder).map_err(TargetError::io("create", &folder))?;
        let options = format!("size={size_bytes},mode=0700");
        let request = MountRequest::new("pickfs", &folder, "tmpfs").options(options);
        match Mounted::mount(&request) {
            Ok(mounted) => Ok(Self { mounted: Some(mounted), folder }),
            Err(error) => {
                let _ = fs::remove_dir(&folder);
                Err(error.into())
            }
        }
    }

    fn unmount(mut self) -> Result<(), TargetError> {
        if let Some(mounted) = self.mounted.take() {
            mounted.unmount()?;
        }
        fs::remove_dir(&self.folder).map_err(TargetError::io("remove", &self.folder))
    }
}

impl Drop for PrivateTmpfs {
    fn drop(&mut self) {
        if let Some(mounted) = self.mounted.take() {
            drop(mounted);
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filling_ends_when_it_is_asked_to() {
        let file = tempfile::tempfile().unwrap();
        let mut pieces = 0;
        let mut stop_at_two = |progress: Progress<'_>| {
            pieces += 1;
            progress.stop.set(pieces == 2);
        };
        let size_bytes = 4 * PIECE_BYTES as u64;
        let error = write_noise(&file, Path::new("the image"), size_bytes, &mut stop_at_two);
        assert!(matches!(error, Err(TargetError::Interrupted { .. })), "{error:?}");
        assert_eq!(file.metadata().unwrap().len(), 2 * PIECE_BYTES as u64);
    }
}
