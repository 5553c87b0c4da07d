//! A media driver on a thread of this process.
//!
//! It works in a directory of its own in /dev/shm, which goes with it. A process that was killed leaves its directory
//! behind; the next driver that starts removes it, as its lock is free.

use std::{
    ffi::{CStr, CString},
    fs::{self, File},
    hash::{BuildHasher, RandomState},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rusteron_media_driver::{
    AeronCError, AeronDriver, AeronDriverContext, EmbeddedMediaDriver,
    bindings::aeron_threading_mode_enum::AERON_THREADING_MODE_SHARED,
};
use rustix::{
    fs::{FlockOperation, flock},
    io::retry_on_intr,
};

use super::driver::{c_string, failed};

/// In memory: the logs of all streams are mapped from there.
const HOME: &str = "/dev/shm";
const PREFIX: &str = "pickfs-aeron-";
/// Spins, yields, and the shortest and longest sleep of an idle driver: the default sleeps up to a millisecond.
const IDLE: &CStr = c"100-20-1us-50us";

pub(super) struct Embedded {
    dir: CString,
    guard: Option<EmbeddedMediaDriver>,
    home: PathBuf,
    lock: PathBuf,
    _locked: File,
}

impl Embedded {
    pub(super) fn start() -> io::Result<Embedded> {
        sweep(Path::new(HOME));
        let nonce = RandomState::new().hash_one(0);
        let name = format!("{PREFIX}{}-{nonce:016x}", std::process::id());
        let (home, lock) =
            (Path::new(HOME).join(&name), Path::new(HOME).join(format!("{name}.lock")));
        let locked = locked(&lock)?;
        let dir = c_string(home.as_os_str().as_encoded_bytes())?;
        let guard = launch(&dir).map_err(failed)?;
        match guard.is_finished() {
            true => {
                Err(guard.join().map_or_else(failed, |()| io::Error::other("aeron: no driver")))
            }
            false => Ok(Embedded { dir, guard: Some(guard), home, lock, _locked: locked }),
        }
    }

    pub(super) fn dir(&self) -> &CStr {
        &self.dir
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        drop(self.guard.take());
        // What is left is swept by the next one.
        let _ = fs::remove_dir_all(&self.home);
        let _ = fs::remove_file(&self.lock);
    }
}

fn launch(dir: &CString) -> Result<EmbeddedMediaDriver, AeronCError> {
    let context = AeronDriverContext::new()?;
    context.set_dir(dir)?;
    context.set_dir_delete_on_start(true)?;
    context.set_dir_delete_on_shutdown(true)?;
    context.set_print_configuration(false)?;
    context.set_threading_mode(AERON_THREADING_MODE_SHARED)?;
    if std::env::var_os("AERON_SHARED_IDLE_STRATEGY").is_none() {
        context.set_shared_idle_strategy(c"backoff")?;
        context.set_shared_idle_strategy_init_args(IDLE)?;
    }
    Ok(AeronDriver::launch_embedded_guard(context, false))
}

/// Who sweeps at this moment may hold it, and remove it.
fn locked(path: &Path) -> io::Result<File> {
    loop {
        let lock = File::create(path)?;
        retry_on_intr(|| flock(&lock, FlockOperation::LockExclusive))?;
        if is_at(path, &lock) {
            return Ok(lock);
        }
    }
}

fn is_at(path: &Path, file: &File) -> bool {
    let number = |found: fs::Metadata| found.ino();
    fs::metadata(path).map(number).ok() == file.metadata().map(number).ok()
}

/// Removes what killed processes have left: directories whose lock nobody holds.
fn sweep(home: &Path) {
    let Ok(entries) = fs::read_dir(home) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(of) = name.to_str().and_then(|name| name.strip_suffix(".lock")) else { continue };
        if !of.starts_with(PREFIX) {
            continue;
        }
        let Ok(lock) = File::open(entry.path()) else { continue };
        let is_free = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        if is_free && is_at(&entry.path(), &lock) {
            let _ = fs::remove_dir_all(home.join(of));
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_the_killed_left_is_swept_and_what_is_used_stays() {
        let home = tempfile::tempdir().unwrap();
        for name in ["left", "used"] {
            fs::create_dir(home.path().join(format!("{PREFIX}{name}"))).unwrap();
        }
        let lock = |name: &str| File::create(home.path().join(format!("{PREFIX}{name}.lock")));
        let used = lock("used").unwrap();
        flock(&used, FlockOperation::NonBlockingLockExclusive).unwrap();
        drop(lock("left").unwrap());
        drop(File::create(home.path().join("another.lock")).unwrap());
        sweep(home.path());
        let is_there = |name: &str| home.path().join(format!("{PREFIX}{name}")).exists();
        assert!(is_there("used") && !is_there("left"));
        assert!(home.path().join("another.lock").exists());
    }

    #[test]
    fn a_lock_that_is_swept_meanwhile_is_made_anew() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("lock");
        let swept = locked(&path).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| locked(&path).unwrap());
            fs::remove_file(&path).unwrap();
            drop(swept);
            assert!(is_at(&path, &waiting.join().unwrap()));
        });
    }

    #[test]
    fn a_driver_takes_its_directory_with_it() {
        let driver = Embedded::start().unwrap();
        let (home, lock) = (driver.home.clone(), driver.lock.clone());
        assert!(home.join("cnc.dat").exists() && lock.exists());
        drop(driver);
        assert!(!home.exists() && !lock.exists());
    }
}
