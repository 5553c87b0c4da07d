//! Words of memory that a program and the programs that it starts share, who agree on what stands where. A child
//! inherits the descriptor and finds its number in an environment variable.
#![allow(unsafe_code)]

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// What is shared: the variable that tells a child its descriptor, and how many words of 64 bits it has.
pub trait Kind {
    const VARIABLE: &'static str;
    const WORDS: usize;
}

#[derive(Debug)]
pub struct Shared<K: Kind> {
    memory: OwnedFd,
    words: NonNull<AtomicU64>,
    kind: PhantomData<fn(K)>,
}

// SAFETY: all access goes through atomics, and the mapping lives as long as the value.
unsafe impl<K: Kind> Send for Shared<K> {}
// SAFETY: as above.
unsafe impl<K: Kind> Sync for Shared<K> {}

impl<K: Kind> Shared<K> {
    pub fn zeros() -> io::Result<Self> {
        let memory = memfd_create(K::VARIABLE, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&memory, K::WORDS as u64 * 8)?;
        // With its size sealed, no program that has it can make us meet a SIGBUS.
        fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(memory)
    }

    /// Call it once: it takes over the descriptor. Fails when that is not of this kind and size.
    pub fn inherited() -> io::Result<Option<Self>> {
        let Some(value) = std::env::var_os(K::VARIABLE) else { return Ok(None) };
        let wrong = || {
            let (variable, value) = (K::VARIABLE, value.to_string_lossy());
            let text = format!("{variable}={value} names no shared memory of ours");
            io::Error::new(io::ErrorKind::InvalidInput, text)
        };
        let number: i32 = value.to_str().and_then(|v| v.parse().ok()).ok_or_else(wrong)?;
        // SAFETY: the descriptor is borrowed for this call; one that is not open gives an error.
        let borrowed = unsafe { BorrowedFd::borrow_raw(number.max(0)) };
        let memory = borrowed.try_clone_to_owned().map_err(|_| wrong())?;
        let seals = rustix::fs::fcntl_get_seals(&memory).map_err(|_| wrong())?;
        let size_bytes = rustix::fs::fstat(&memory)?.st_size;
        if !seals.contains(SealFlags::SHRINK) || size_bytes != K::WORDS as i64 * 8 {
            return Err(wrong());
        }
        // SAFETY: the number is the memory that was made for us, and nobody else here uses it.
        unsafe { libc::close(number) };
        Self::map(memory).map(Some)
    }

    fn map(memory: OwnedFd) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let (anywhere, sharing) = (std::ptr::null_mut(), MapFlags::SHARED);
        // SAFETY: a fresh mapping at a place of the kernel's choice, of memory whose size is sealed.
        let address = unsafe { mmap(anywhere, K::WORDS * 8, access, sharing, &memory, 0) }?;
        let words = NonNull::new(address.cast()).expect("mmap does not map page zero unasked");
        Ok(Self { memory, words, kind: PhantomData })
    }

    /// It must live until the child is spawned.
    pub fn hand_to(&self, command: &mut Command) {
        let number = self.memory.as_raw_fd();
        command.env(K::VARIABLE, number.to_string());
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

    #[inline]
    pub fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < K::WORDS, "word {index} of {}", K::WORDS);
        // SAFETY: within the mapping, which is aligned, holds only atomics, and lives as long as
        // `self`; any bytes are a valid AtomicU64.
        unsafe { self.words.add(index).as_ref() }
    }
}

impl<K: Kind> Drop for Shared<K> {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and nobody can use it after this.
        let _ = unsafe { munmap(self.words.as_ptr().cast(), K::WORDS * 8) };
    }
}
