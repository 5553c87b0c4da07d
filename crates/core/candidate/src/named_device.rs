//! A block device that the user named, behind its interlock. It is either filled once with
//! incompressible bytes, or discarded before each make.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pickfs_record::DeviceState;
use pickfs_sys::block::BlockDevice;
use rustix::fs::OFlags;

use crate::error::TargetError;
use crate::identity::Identity;
use crate::image::write_noise;
use crate::interlock::{Interlock, Refusal};
use crate::loops::{Behind, Footing};
use crate::scratch::Progress;

#[derive(Debug)]
pub(crate) struct NamedDevice {
    interlock: Interlock,
    state: DeviceState,
}

impl NamedDevice {
    /// Nothing is written yet.
    pub(crate) fn pin(device: &Path, erase: bool, state: DeviceState) -> Result<Self, TargetError> {
        Ok(Self { interlock: Interlock::pin(device, erase)?, state })
    }

    /// On another disk, for the log of what is made on this one; nothing is written yet.
    pub(crate) fn pin_log(&self, device: &Path, erase: bool) -> Result<Self, TargetError> {
        let interlock = Interlock::pin_log(device, erase)?;
        let (ours, log) = (self.path().to_owned(), interlock.identity().path.clone());
        let disks = disks(&ours);
        match self::disks(&log).into_iter().find(|disk| disks.contains(disk)) {
            None => Ok(Self { interlock, state: self.state }),
            Some(disk) => Err(Refusal::SameDisk { device: log, other: ours, disk }.into()),
        }
    }

    pub(crate) fn prepared(
        mut self,
        limit_bytes: u64,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self, TargetError> {
        if self.state == DeviceState::Filled {
            self.check()?;
            let file = open_exclusively(self.path())?;
            write_noise(&file, self.path(), self.size_bytes().min(limit_bytes), progress)?;
            self.contents_are_ours();
        }
        Ok(self)
    }

    pub(crate) fn check(&self) -> Result<(), TargetError> {
        Ok(self.interlock.check()?)
    }

    /// Asks again; what lies on it is ours then.
    pub(crate) fn claim(&mut self) -> Result<(), TargetError> {
        self.check()?;
        self.contents_are_ours();
        Ok(())
    }

    pub(crate) fn contents_are_ours(&mut self) {
        self.interlock.contents_are_ours();
    }

    pub(crate) fn identity(&self) -> &Identity {
        self.interlock.identity()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.identity().path
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.identity().size_bytes
    }

    pub(crate) fn state(&self) -> DeviceState {
        self.state
    }
}

/// A mount or another holder makes it fail.
pub(crate) fn open_exclusively(device: &Path) -> Result<File, TargetError> {
    let exclusive = OFlags::EXCL.bits() as i32;
    let opened = File::options().read(true).write(true).custom_flags(exclusive).open(device);
    opened.map_err(TargetError::io("open exclusively", device))
}

/// The kernel's names and the world-wide names.
fn disks(device: &Path) -> Vec<String> {
    let Ok(block) = BlockDevice::at(device) else { return Vec::new() };
    let facts = block.facts();
    let mut below: Vec<PathBuf> =
        facts.slaves.iter().map(|slave| Path::new("/dev").join(slave)).collect();
    if let Some(Ok(Footing { behind: Behind::Device(_), path, .. })) = Footing::of(&facts) {
        below.extend(path);
    }
    if below.is_empty() {
        let name = facts.partition_of.unwrap_or(facts.name);
        return [Some(name), facts.wwn].into_iter().flatten().collect();
    }
    below.iter().flat_map(|device| disks(device)).collect()
}
