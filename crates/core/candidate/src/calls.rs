//! The named calls of step lists: what no program does for us.
//!
//! | call | arguments | does |
//! | --- | --- | --- |
//! | check-interlock | device | asks again whether the device may be touched |
//! | clear-ends | device | zeros the first and the last mebibyte |
//! | format | file system, device, `size=BYTES` | makes it by our own formatter |
//! | flush-device | device | writes its pages out of the page cache |
//! | repair-image-extents | | writes what is unwritten or missing in the image |
//! | wait-device-free | device | waits until no other process has it open |
//! | private-folder, drop-private-folder | folder | a small tmpfs over it, and away again |
//! | start-daemon | program, socket, arguments | starts, waits for the socket |
//! | stop-daemon | program | asks it to end, and waits |
//! | link-device, unlink-device | folder, device | a folder with one link in it |
//! | make-trial-folder, remove-trial-folder | folder | in an existing directory |
//! | note-undo, forget-undo | kind, name | an undo record for what outlives us |

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pickfs_sys::block::BlockDevice;
use pickfs_sys::device_users::{self, DeviceUser};
use pickfs_sys::mount::{self, MountRequest};
use pickfs_sys::proc_root::ProcRoot;

use crate::carry_out::{self, Calls};
use crate::daemon::Daemon;
use crate::error::TargetError;
use crate::named_device::{NamedDevice, open_exclusively};
use crate::own_format;
use crate::scratch::{Base, Scratch};
use crate::undo::{Note, Undo, UndoLog};

/// Old signatures lie in the first and the last mebibyte (ZFS: two labels of 256 KiB at each end).
const END_BYTES: u64 = 1 << 20;
const FREE_LIMIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
pub(crate) struct Helpers {
    daemons: Vec<Daemon>,
    private_folders: Vec<OwnFolder>,
    link_folders: Vec<PathBuf>,
    mount_point: Option<PathBuf>,
    notes: Vec<(String, Note)>,
}

#[derive(Debug)]
struct OwnFolder {
    path: PathBuf,
    made_by_us: bool,
}

impl Helpers {
    /// Made if it is not there, to be taken away with the rest.
    pub(crate) fn make_mount_point(&mut self, at: &Path) -> Result<(), TargetError> {
        if make_folder(at)? {
            self.mount_point = Some(at.to_owned());
        }
        Ok(())
    }

    /// Without a report: daemons first, then what they used.
    pub(crate) fn clear(&mut self) {
        self.daemons.clear();
        for folder in self.link_folders.drain(..) {
            let _ = drop_link_folder(&folder);
        }
        while let Some(folder) = self.private_folders.pop() {
            let _ = folder.take_away();
        }
        if let Some(at) = self.mount_point.take() {
            let _ = fs::remove_dir(at);
        }
    }

    fn start_daemon(&mut self, args: &[String]) -> Result<(), TargetError> {
        let [program, socket, rest @ ..] = args else {
            return Err(TargetError::unknown_call("start-daemon", args));
        };
        self.daemons.push(Daemon::start(program, Path::new(socket), rest)?);
        Ok(())
    }

    fn stop_daemon(&mut self, program: &str) -> Result<String, TargetError> {
        match self.daemons.iter().position(|daemon| daemon.program() == program) {
            Some(at) => self.daemons.remove(at).stop().map(|()| String::new()),
            None => Ok("was not running".into()),
        }
    }

    fn private_folder(&mut self, path: &Path) -> Result<(), TargetError> {
        let made_by_us = make_folder(path)?;
        let request = MountRequest::new("pickfs", path, "tmpfs").options("size=16m,mode=0755");
        let folder = OwnFolder { path: path.to_owned(), made_by_us };
        if let Err(error) = mount::mount(&request) {
            folder.remove_if_ours();
            return Err(error.into());
        }
        self.private_folders.push(folder);
        Ok(())
    }

    fn drop_private_folder(&mut self, path: &Path) -> Result<String, TargetError> {
        self.link_folders.retain(|folder| !folder.starts_with(path));
        match self.private_folders.iter().position(|folder| folder.path == path) {
            Some(at) => self.private_folders.remove(at).take_away().map(|()| String::new()),
            None => Ok("was not there".into()),
        }
    }

    fn link_device(&mut self, folder: &Path, device: &Path) -> Result<(), TargetError> {
        fs::create_dir(folder).map_err(TargetError::io("create", folder))?;
        self.link_folders.push(folder.to_owned());
        let link = folder.join("device");
        symlink(device, &link).map_err(TargetError::io("link", link))
    }

    /// Dropping does not forget: only the step that undid the thing does.
    fn note_undo(&mut self, kind: &str, name: &str) -> Result<(), TargetError> {
        if kind != "zpool" {
            return Err(TargetError::unknown_call("note-undo", &[kind.into(), name.into()]));
        }
        let note = UndoLog::open_default().note(&Undo::Zpool { name: name.into() })?;
        self.notes.push((name.into(), note));
        Ok(())
    }

    /// The record stays while the pool is imported: `clean` needs it then.
    fn forget_undo(&mut self, name: &str) -> Result<String, TargetError> {
        let list = ["list", "-H", "-o", "name", name].map(String::from);
        if carry_out::run("zpool", &list).is_ok() {
            return Ok("still imported; the record stays for clean".into());
        }
        if let Some(at) = self.notes.iter().position(|(noted, _)| noted == name) {
            UndoLog::open_default().forget(&self.notes.remove(at).1)?;
        }
        Ok(String::new())
    }

    fn unlink_device(&mut self, folder: &Path) -> Result<(), TargetError> {
        self.link_folders.retain(|one| one != folder);
        drop_link_folder(folder).map_err(TargetError::io("remove", folder))
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        self.clear();
    }
}

impl OwnFolder {
    fn take_away(self) -> Result<(), TargetError> {
        mount::unmount(&self.path)?;
        self.remove_if_ours();
        Ok(())
    }

    /// Only an empty folder goes; somebody may have begun to use it.
    fn remove_if_ours(&self) {
        if self.made_by_us {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn drop_link_folder(folder: &Path) -> std::io::Result<()> {
    fs::remove_file(folder.join("device"))?;
    fs::remove_dir(folder)
}

fn make_folder(path: &Path) -> Result<bool, TargetError> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(cause) => Err(TargetError::Io { what: "create", path: path.to_owned(), cause }),
    }
}

impl Calls for Scratch {
    fn call(&mut self, name: &str, args: &[String]) -> Result<String, TargetError> {
        let paths: Vec<&Path> = args.iter().map(Path::new).collect();
        let done = match (name, paths.as_slice()) {
            ("check-interlock", [device]) => return self.check_interlock(device),
            ("clear-ends", [device]) => self.clear_ends(device),
            ("format", [_, device, ..]) => return own_format::format(&args[0], device, &args[2..]),
            ("flush-device", [device]) => flush_device(device),
            ("wait-device-free", [device]) => wait_device_free(device),
            ("repair-image-extents", []) => return self.repair_image(),
            ("private-folder", [folder]) => self.helpers.private_folder(folder),
            ("drop-private-folder", [folder]) => return self.helpers.drop_private_folder(folder),
            ("start-daemon", _) => self.helpers.start_daemon(args),
            ("stop-daemon", [_]) => return self.helpers.stop_daemon(&args[0]),
            ("link-device", [folder, device]) => self.helpers.link_device(folder, device),
            ("unlink-device", [folder]) => self.helpers.unlink_device(folder),
            ("note-undo", [_, _]) => self.helpers.note_undo(&args[0], &args[1]),
            ("forget-undo", [_, _]) => return self.helpers.forget_undo(&args[1]),
            ("make-trial-folder", [folder]) => self.with_directory(name, args, |d| d.make(folder)),
            ("remove-trial-folder", [_]) => self.with_directory(name, args, |d| d.clear()),
            _ => Err(TargetError::unknown_call(name, args)),
        };
        done.map(|()| String::new())
    }
}

impl Scratch {
    fn check_interlock(&mut self, device: &Path) -> Result<String, TargetError> {
        match self.named(device) {
            Some(device) => device.check().map(|()| "nothing against it".into()),
            None => {
                Err(TargetError::unknown_call("check-interlock", &[device.display().to_string()]))
            }
        }
    }

    fn named(&mut self, node: &Path) -> Option<&mut NamedDevice> {
        let Base::Device { device, log } = &mut self.base else { return None };
        [Some(device), log.as_deref_mut()]
            .into_iter()
            .flatten()
            .find(|device| device.path() == node)
    }

    fn clear_ends(&mut self, path: &Path) -> Result<(), TargetError> {
        clear_ends(&open_exclusively(path)?, path, size_of(path)?)?;
        if let Some(device) = self.named(path) {
            device.contents_are_ours();
        }
        Ok(())
    }

    fn repair_image(&mut self) -> Result<String, TargetError> {
        let Base::Image(image) = &self.base else {
            return Err(TargetError::unknown_call("repair-image-extents", &[]));
        };
        self.repaired_bytes = image.repair()?;
        Ok(format!("{} bytes rewritten", self.repaired_bytes))
    }

    fn with_directory(
        &mut self,
        name: &str,
        args: &[String],
        work: impl FnOnce(&mut crate::directory::Directory) -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        match &mut self.base {
            Base::Directory(directory) => work(directory.here_mut()),
            _ => Err(TargetError::unknown_call(name, args)),
        }
    }
}

pub(crate) fn clear_ends(file: &File, path: &Path, size_bytes: u64) -> Result<(), TargetError> {
    let zeros = vec![0; END_BYTES.min(size_bytes) as usize];
    for offset in [0, size_bytes - zeros.len() as u64] {
        file.write_all_at(&zeros, offset).map_err(TargetError::io("clear", path))?;
    }
    file.sync_all().map_err(TargetError::io("sync", path))
}

fn flush_device(device: &Path) -> Result<(), TargetError> {
    let file = File::open(device).map_err(TargetError::io("open", device))?;
    file.sync_all().map_err(TargetError::io("sync", device))?;
    block(device)?.flush_buffers().map_err(block_error("flush", device))
}

/// A FUSE program lets go of its device a moment after the unmount.
fn wait_device_free(device: &Path) -> Result<(), TargetError> {
    let number = block(device)?.device_number();
    let began = Instant::now();
    loop {
        let users = other_users(number);
        if users.is_empty() {
            return Ok(());
        }
        if began.elapsed() > FREE_LIMIT {
            return Err(TargetError::Other(format!(
                "{} did not let go of the device within {} s; {} has pid {}",
                users[0].name,
                FREE_LIMIT.as_secs(),
                device.display(),
                users[0].process_id
            )));
        }
        std::thread::sleep(POLL);
    }
}

/// In our own pid namespace, besides us.
fn other_users(number: (u32, u32)) -> Vec<DeviceUser> {
    let users = device_users::users_of(number, &ProcRoot::own()).unwrap_or_default().users;
    users.into_iter().filter(|user| user.process_id != std::process::id()).collect()
}

pub(crate) fn block(device: &Path) -> Result<BlockDevice, TargetError> {
    BlockDevice::at(device).map_err(block_error("look at", device))
}

pub(crate) fn size_of(device: &Path) -> Result<u64, TargetError> {
    block(device)?.size_bytes().map_err(block_error("ask the size of", device))
}

fn block_error(
    what: &'static str,
    device: &Path,
) -> impl FnOnce(pickfs_sys::refused::Refused) -> TargetError {
    let path = device.to_owned();
    move |error| TargetError::Io { what, path, cause: std::io::Error::other(error) }
}
