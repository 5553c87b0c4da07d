//! io_uring with one registered buffer and one registered file: each write or sync is submitted and
//! waited for in the same io_uring_enter(2).
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::{IoUring, opcode, squeue, types};

const FILE_SLOT: types::Fixed = types::Fixed(0);
const BUFFER_SLOT: u16 = 0;

pub(crate) struct Ring {
    ring: IoUring,
    region: std::ops::Range<usize>,
    file_registered: bool,
}

impl Ring {
    /// `region` must stay where it is while the ring lives.
    pub(crate) fn new(region: &[u8]) -> io::Result<Self> {
        let ring = IoUring::new(4)?;
        let start = region.as_ptr() as usize;
        let vector = libc::iovec { iov_base: start as *mut libc::c_void, iov_len: region.len() };
        // SAFETY: the region is the journal's encode buffer, whose memory is never moved, and which the
        // journal drops after the ring.
        unsafe { ring.submitter().register_buffers(&[vector])? };
        Ok(Self { ring, region: start..start + region.len(), file_registered: false })
    }

    pub(crate) fn register(&mut self, file: BorrowedFd<'_>) -> io::Result<()> {
        let files = [file.as_raw_fd()];
        if self.file_registered {
            self.ring.submitter().register_files_update(0, &files)?;
        } else {
            self.ring.submitter().register_files(&files)?;
            self.file_registered = true;
        }
        Ok(())
    }

    /// `bytes` lie in the registered region.
    pub(crate) fn write(
        &mut self,
        offset_bytes: u64,
        bytes: &[u8],
        flags: i32,
    ) -> io::Result<usize> {
        let start = bytes.as_ptr() as usize;
        let registered = start >= self.region.start && start + bytes.len() <= self.region.end;
        if !registered {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let entry =
            opcode::WriteFixed::new(FILE_SLOT, bytes.as_ptr(), bytes.len() as u32, BUFFER_SLOT)
                .offset(offset_bytes)
                .rw_flags(flags)
                .build();
        self.run(&entry)
    }

    pub(crate) fn sync(&mut self, data_only: bool) -> io::Result<()> {
        let flags = match data_only {
            true => types::FsyncFlags::DATASYNC,
            false => types::FsyncFlags::empty(),
        };
        self.run(&opcode::Fsync::new(FILE_SLOT).flags(flags).build())?;
        Ok(())
    }

    fn run(&mut self, entry: &squeue::Entry) -> io::Result<usize> {
        // SAFETY: the bytes behind the entry lie in the registered region (checked by `write`; `sync`
        // has none), and this function returns only when the kernel is done with them.
        unsafe { self.ring.submission().push(entry) }.map_err(|_| io::ErrorKind::WouldBlock)?;
        loop {
            let entered = self.ring.submit_and_wait(1);
            if let Some(done) = self.ring.completion().next() {
                let result = done.result();
                return usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
            }
            match entered {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    }
}
