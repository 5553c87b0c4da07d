//! One page of memory that a worker and the lab share, so that the lab can show how it goes while
//! the worker measures: storing a number there costs the worker no system call. Not a channel: only
//! the latest values are there, and nothing that a result depends on.
//!
//! ```no_run
//! use pickfs_sys::live_page::{LiveCounter, LivePage};
//! // the lab
//! let page = LivePage::create()?;
//! let mut worker = std::process::Command::new("pickfs-worker");
//! page.hand_to(&mut worker);
//! println!("{} laps", page.get(LiveCounter::LapsDone));
//! // the worker
//! let page = LivePage::inherited()?.expect("the lab hands one to every worker");
//! page.set(LiveCounter::LapsDone, 1000);
//! page.raise(LiveCounter::LatencyNsMax, 250_000);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Layout: 64-bit numbers of the machine's byte order, in the order of [`LiveCounter`].
//! Source: memfd_create(2).
#![allow(unsafe_code)]

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const LIVE_PAGE_FD: &str = "PICKFS_LIVE_PAGE_FD";
const PAGE_BYTES: usize = 4096;

/// The numbers on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveCounter {
    /// Laps finished in this phase.
    LapsDone = 0,
    /// The worst latency since somebody took it.
    LatencyNsMax = 1,
    /// Where the worker is; the worker's own numbering.
    Phase = 2,
    /// Turns that began late because the machine was not there.
    LateTurns = 3,
    /// Bytes written.
    BytesDone = 4,
    /// Operations that failed.
    Errors = 5,
    /// Time of the last store, on CLOCK_MONOTONIC: tells a slow worker from a dead one.
    SeenAtNs = 6,
}

const COUNTERS: usize = 7;

/// The page, on either side.
#[derive(Debug)]
pub struct LivePage {
    memory: OwnedFd,
    counters: NonNull<[AtomicU64; COUNTERS]>,
}

// SAFETY: all access goes through atomics, and the mapping lives as long as the value.
unsafe impl Send for LivePage {}
// SAFETY: as above.
unsafe impl Sync for LivePage {}

impl LivePage {
    /// A new page of zeros.
    pub fn create() -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let memory = memfd_create("pickfs-live", flags)?;
        ftruncate(&memory, PAGE_BYTES as u64)?;
        // With its size sealed, no program that has it can make us meet a SIGBUS.
        fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(memory)
    }

    /// The page that the parent handed to this program, if it did. Call it once: it takes over the
    /// descriptor.
    ///
    /// # Errors
    /// When the descriptor is not a page of this kind.
    pub fn inherited() -> io::Result<Option<Self>> {
        let Some(value) = std::env::var_os(LIVE_PAGE_FD) else { return Ok(None) };
        let wrong = || {
            let text = format!("{LIVE_PAGE_FD}={} names no live page", value.display());
            io::Error::new(io::ErrorKind::InvalidInput, text)
        };
        let number: i32 = value.to_str().and_then(|v| v.parse().ok()).ok_or_else(wrong)?;
        // SAFETY: the descriptor is borrowed for this call; one that is not open gives an error.
        let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(number.max(0)) };
        let memory = borrowed.try_clone_to_owned().map_err(|_| wrong())?;
        let seals = rustix::fs::fcntl_get_seals(&memory).map_err(|_| wrong())?;
        let size_bytes = rustix::fs::fstat(&memory)?.st_size;
        if !seals.contains(SealFlags::SHRINK) || size_bytes != PAGE_BYTES as i64 {
            return Err(wrong());
        }
        // SAFETY: the number is the page that was made for us, and nobody else here uses it.
        unsafe { libc::close(number) };
        Self::map(memory).map(Some)
    }

    fn map(memory: OwnedFd) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let (anywhere, sharing) = (std::ptr::null_mut(), MapFlags::SHARED);
        // SAFETY: a fresh mapping at a place of the kernel's choice, of a page whose size is sealed.
        let address = unsafe { mmap(anywhere, PAGE_BYTES, access, sharing, &memory, 0) }?;
        let counters = NonNull::new(address.cast()).expect("mmap does not map page zero unasked");
        Ok(Self { memory, counters })
    }

    /// Lets a child inherit the page. The page must live until the child is spawned.
    pub fn hand_to(&self, command: &mut Command) {
        let number = self.memory.as_raw_fd();
        command.env(LIVE_PAGE_FD, number.to_string());
        let keep_open = move || {
            // SAFETY: fcntl with a number; async-signal-safe. In the child it makes the descriptor
            // survive the exec.
            match unsafe { libc::fcntl(number, libc::F_SETFD, 0) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        // SAFETY: the closure makes one system call and does not allocate on success.
        unsafe { command.pre_exec(keep_open) };
    }

    /// The latest value.
    pub fn get(&self, counter: LiveCounter) -> u64 {
        self.cell(counter).load(Ordering::Relaxed)
    }

    /// Stores a value.
    pub fn set(&self, counter: LiveCounter, value: u64) {
        self.cell(counter).store(value, Ordering::Relaxed);
    }

    /// Stores a value if it is greater than the one there.
    pub fn raise(&self, counter: LiveCounter, value: u64) {
        self.cell(counter).fetch_max(value, Ordering::Relaxed);
    }

    /// The latest value, leaving zero: for a maximum since the last look.
    pub fn take(&self, counter: LiveCounter) -> u64 {
        self.cell(counter).swap(0, Ordering::Relaxed)
    }

    fn cell(&self, counter: LiveCounter) -> &AtomicU64 {
        // SAFETY: the mapping is a whole page, aligned, holds only atomics, and lives as long as
        // `self`; any bytes are a valid AtomicU64.
        let counters = unsafe { self.counters.as_ref() };
        &counters[counter as usize]
    }
}

impl AsFd for LivePage {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.memory.as_fd()
    }
}

impl Drop for LivePage {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and nobody can use it after this.
        let _ = unsafe { munmap(self.counters.as_ptr().cast(), PAGE_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_is_raised_and_taken() {
        let page = LivePage::create().unwrap();
        page.raise(LiveCounter::LatencyNsMax, 70);
        page.raise(LiveCounter::LatencyNsMax, 50);
        assert_eq!(page.take(LiveCounter::LatencyNsMax), 70);
        assert_eq!(page.get(LiveCounter::LatencyNsMax), 0);
        page.set(LiveCounter::Phase, 3);
        assert_eq!((page.get(LiveCounter::Phase), page.get(LiveCounter::LapsDone)), (3, 0));
    }

    #[test]
    fn a_program_without_a_page_gets_none() {
        assert!(LivePage::inherited().unwrap().is_none());
    }
}
