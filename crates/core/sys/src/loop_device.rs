//! Loop devices: an open file, which may be unlinked, shown as a block device. With `autoclear`,
//! the default, the kernel detaches it when its last user is gone, so a killed program leaves none
//! behind.
//! Source: loop(4); `include/uapi/linux/loop.h`. `LOOP_CONFIGURE` came with Linux 5.8.
#![allow(unsafe_code)]

use crate::ioctl;
use crate::refused::{Refused, cannot};
use rustix::io::Errno;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LOOP_CLR_FD: u64 = 0x4C01;
const LOOP_GET_STATUS64: u64 = 0x4C05;
const LOOP_CONFIGURE: u64 = 0x4C0A;
const LOOP_CTL_GET_FREE: u64 = 0x4C82;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// How often a free device may be lost to another program before we give up.
const ATTEMPTS_MAX: u32 = 64;
const DETACH_WAIT: Duration = Duration::from_secs(5);
const NEEDS: &str = "CAP_SYS_ADMIN and access to /dev/loop* (run as root)";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopStatus {
    /// Direct I/O is really in force.
    pub direct_io: bool,
    /// Of the file system that holds the backing file.
    pub backing_device: u64,
    pub backing_inode: u64,
    /// Major and minor; `None` where a file is behind it.
    pub backing_node: Option<(u32, u32)>,
    /// It shows a part of what is behind it: an offset or a limit was given.
    pub is_part: bool,
}

/// Dropping it detaches it without a report; [`LoopDevice::detach`] reports.
/// The node is held open for reading only, so that kernels which forbid writers beside a mount
/// (`CONFIG_BLK_DEV_WRITE_MOUNTED=n`) still mount it.
#[derive(Debug)]
pub struct LoopDevice {
    number: u32,
    path: PathBuf,
    disk_sequence: Option<u64>,
    handle: Option<File>,
}

impl LoopDevice {
    /// With direct I/O, which the kernel may refuse, and autoclear. Tries another device when somebody else was
    /// faster.
    pub fn attach(backing: &File) -> Result<Self, Refused> {
        let control_path = Path::new("/dev/loop-control");
        let control = open(control_path, true)?;
        for attempt in 0..ATTEMPTS_MAX {
            let number = free_number(&control)?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            match attach_to(&path, backing) {
                Err(error) if error.is(Errno::BUSY) => {
                    std::thread::sleep(Duration::from_millis(u64::from(attempt)));
                }
                Err(error) => return Err(error),
                Ok(handle) => {
                    let disk_sequence = disk_sequence(number);
                    return Ok(Self { number, path, disk_sequence, handle: Some(handle) });
                }
            }
        }
        let text = format!(
            "{ATTEMPTS_MAX} free loop devices in a row were taken by other programs; try again"
        );
        Err(Refused::new(text, None))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self) -> &File {
        self.handle.as_ref().expect("the handle is taken only by detach, which consumes the device")
    }

    pub fn status(&self) -> Result<LoopStatus, Refused> {
        status_by(self.file(), &self.path)
    }

    /// Waits until the kernel has let go of the backing file. Fails when a
    /// mount or an open file holds the device for five seconds; it then detaches with its last
    /// user.
    pub fn detach(mut self) -> Result<(), Refused> {
        self.release()?;
        let deadline = Instant::now() + DETACH_WAIT;
        while self.is_attached() {
            if Instant::now() > deadline {
                let text = format!(
                    "{} is still in use by a program, or by a mount that may lie in another namespace; \
                     it detaches with its last user",
                    self.path.display()
                );
                return Err(Refused::new(text, Some(libc::EBUSY)));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    pub fn is_attached(&self) -> bool {
        let bound = sysfs(self.number).join("loop").exists();
        bound && disk_sequence(self.number) == self.disk_sequence
    }

    /// Asks for the detachment and closes our handle; the kernel does it at the last close.
    fn release(&mut self) -> Result<(), Refused> {
        let Some(handle) = self.handle.take() else { return Ok(()) };
        // SAFETY: LOOP_CLR_FD ignores its argument.
        match unsafe { ioctl::with_value(handle.as_fd(), LOOP_CLR_FD, 0) } {
            Ok(_) => Ok(()),
            Err(cause) if cause.raw_os_error() == Some(libc::ENXIO) => Ok(()),
            Err(cause) => Err(cannot(format!("detach on {}", self.path.display()), NEEDS)(cause)),
        }
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = self.release();
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedLoop {
    pub number: u32,
    /// The backing file as the kernel prints it; ` (deleted)` ends the name of an unlinked one.
    pub backing_file: PathBuf,
}

/// Whoever made it, in order of its number.
pub fn attached() -> Vec<AttachedLoop> {
    let Ok(entries) = fs::read_dir("/sys/block") else { return Vec::new() };
    let mut found: Vec<_> =
        entries.flatten().filter_map(|e| attached_one(e.file_name().to_str()?)).collect();
    found.sort_by_key(|one| one.number);
    found
}

pub fn status_of(number: u32) -> Result<LoopStatus, Refused> {
    let path = PathBuf::from(format!("/dev/loop{number}"));
    status_by(&open(&path, false)?, &path)
}

fn status_by(handle: &File, path: &Path) -> Result<LoopStatus, Refused> {
    let mut info = LoopInfo64::default();
    // SAFETY: LOOP_GET_STATUS64 fills one struct loop_info64.
    unsafe { ioctl::with_pointer(handle.as_fd(), LOOP_GET_STATUS64, &mut info) }
        .map_err(cannot(format!("read the status on {}", path.display()), NEEDS))?;
    let node = (rustix::fs::major(info.rdevice), rustix::fs::minor(info.rdevice));
    Ok(LoopStatus {
        direct_io: info.flags & LO_FLAGS_DIRECT_IO != 0,
        backing_device: info.device,
        backing_inode: info.inode,
        backing_node: Some(node).filter(|&node| node != (0, 0)),
        is_part: info.offset != 0 || info.size_limit != 0,
    })
}

fn attached_one(name: &str) -> Option<AttachedLoop> {
    let number = name.strip_prefix("loop")?.parse().ok()?;
    let text = fs::read_to_string(sysfs(number).join("loop/backing_file")).ok()?;
    Some(AttachedLoop { number, backing_file: text.trim_end_matches('\n').into() })
}

fn sysfs(number: u32) -> PathBuf {
    PathBuf::from(format!("/sys/block/loop{number}"))
}

fn disk_sequence(number: u32) -> Option<u64> {
    fs::read_to_string(sysfs(number).join("diskseq")).ok()?.trim().parse().ok()
}

fn open(path: &Path, write: bool) -> Result<File, Refused> {
    File::options()
        .read(true)
        .write(write)
        .open(path)
        .map_err(cannot(format!("open {}", path.display()), NEEDS))
}

fn free_number(control: &File) -> Result<u32, Refused> {
    // SAFETY: LOOP_CTL_GET_FREE ignores its argument.
    let answer = unsafe { ioctl::with_value(control.as_fd(), LOOP_CTL_GET_FREE, 0) };
    let number = answer.map_err(cannot("find a free loop device", NEEDS))?;
    Ok(u32::try_from(number).expect("a successful ioctl is not negative"))
}

/// Attaches through a writable handle and hands back a read-only one; the second is opened before
/// the first is closed, so autoclear does not strike in between.
fn attach_to(path: &Path, backing: &File) -> Result<File, Refused> {
    let writable = open(path, true)?;
    let mut config = LoopConfig::new(backing);
    // SAFETY: LOOP_CONFIGURE reads one struct loop_config.
    unsafe { ioctl::with_pointer(writable.as_fd(), LOOP_CONFIGURE, &mut config) }
        .map_err(cannot(format!("attach a file to {}", path.display()), NEEDS))?;
    open(path, false)
}

/// `struct loop_info64`: 232 bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: Name,
    crypt_name: Name,
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Name([u8; 64]);

impl Default for Name {
    fn default() -> Self {
        Self([0; 64])
    }
}

/// `struct loop_config`: 304 bytes.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

impl LoopConfig {
    fn new(backing: &File) -> Self {
        let flags = LO_FLAGS_DIRECT_IO | LO_FLAGS_AUTOCLEAR;
        let mut info = LoopInfo64 { flags, ..LoopInfo64::default() };
        let name = name_of(backing);
        let kept = name.len().min(info.file_name.0.len() - 1);
        info.file_name.0[..kept].copy_from_slice(&name[..kept]);
        let fd = u32::try_from(backing.as_raw_fd()).expect("an open descriptor is not negative");
        Self { fd, block_size: 0, info, reserved: [0; 8] }
    }
}

fn name_of(file: &File) -> Vec<u8> {
    use std::os::unix::ffi::OsStringExt;
    let link = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    link.map(|path| path.into_os_string().into_vec()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_kernel_header() {
        assert_eq!(size_of::<LoopInfo64>(), 232);
        assert_eq!(size_of::<LoopConfig>(), 304);
    }
}
