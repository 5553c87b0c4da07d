//! The control file and its directory: which queue this is, who takes part, and the lock under which files come
//! and go.
//!
//! One word is stored through the mapping, the news; all else goes by pwrite(2), which tells a full disk by an
//! error. The lock is flock(2) on the directory, and the kernel takes it away from a dead process.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};

use super::error::{DamageKind, Error, Result};
use super::layout::{
    CONTROL_BYTES, ControlHeader, NAME_BYTES_MAX, NEWS_OFFSET, PAGE_BYTES, SEAT_BYTES, SEATS,
};
use super::seat_lock;
use super::segment::do_not_copy_on_write;
use super::word::Holder;
use crate::map::{Access, Map};

const CONTROL_NAME: &str = "queue.control";
const SUFFIX: &str = ".segment";
/// Files that are being made end like this; under the lock, one that is found is litter.
const NEW_SUFFIX: &str = ".new";

/// Seats `0..APPENDER_SEATS` are for appenders, the rest for tailers.
pub(crate) const APPENDER_SEATS: usize = SEATS / 2;

const NEXT_OFFSET: u64 = 8;
const STATE_OFFSET: u64 = 16;
const NAME_LENGTH_OFFSET: u64 = 24;
const NAME_OFFSET: u64 = 32;
/// State of a tailer's seat that keeps its place when nobody sits there.
const NAMED: u64 = 1;

#[derive(Debug)]
pub(crate) struct Control {
    dir: PathBuf,
    dir_file: File,
    threads: Mutex<()>,
    file: File,
    map: Map,
    pub(crate) header: ControlHeader,
    pub(crate) access: Access,
}

pub(crate) struct Locked<'a> {
    dir_file: &'a File,
    /// flock(2) is of the open file, which the threads of this process share.
    _thread: Option<MutexGuard<'a, ()>>,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = flock(self.dir_file, FlockOperation::Unlock);
    }
}

fn lock<'a>(dir_file: &'a File, thread: Option<MutexGuard<'a, ()>>) -> io::Result<Locked<'a>> {
    loop {
        match flock(dir_file, FlockOperation::LockExclusive) {
            Ok(()) => return Ok(Locked { dir_file, _thread: thread }),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

impl Control {
    /// The directory may exist.
    pub(crate) fn create(dir: &Path, header: &ControlHeader) -> Result<Self> {
        fs::create_dir_all(dir).map_err(full_or("create", dir))?;
        let dir_file = File::open(dir).map_err(Error::io("open", dir))?;
        {
            let _locked = lock(&dir_file, None).map_err(Error::io("lock", dir))?;
            let path = dir.join(CONTROL_NAME);
            if path.exists() || !segment_numbers(dir)?.is_empty() {
                return Err(Error::Exists { dir: dir.into() });
            }
            let new = dir.join(format!("{CONTROL_NAME}{NEW_SUFFIX}"));
            write_control(&new, header)
                .and_then(|()| fs::rename(&new, &path))
                .map_err(full_or("write", &path))?;
        }
        Self::open(dir, Access::Write)
    }

    pub(crate) fn open(dir: &Path, access: Access) -> Result<Self> {
        let path = dir.join(CONTROL_NAME);
        let file = File::options().read(true).write(access == Access::Write).open(&path);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::Absent { dir: dir.into() },
            _ => Error::io("open", &path)(error),
        })?;
        let dir_file = File::open(dir).map_err(Error::io("open", dir))?;
        let mut bytes = [0; 64];
        let read = read_up_to(&file, &mut bytes).map_err(Error::io("read", &path))?;
        let header = ControlHeader::decode(&bytes[..read]).map_err(Error::flaw(&path))?;
        let length_bytes = file.metadata().map_err(Error::io("look at", &path))?.len();
        if length_bytes < CONTROL_BYTES {
            return Err(Error::damage(&path, length_bytes, DamageKind::Cut { length_bytes }));
        }
        let map = Map::new(file.as_fd(), CONTROL_BYTES, access);
        let map = map.map_err(Error::io("map", &path))?;
        Ok(Self { dir: dir.into(), dir_file, threads: Mutex::default(), file, map, header, access })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The lock under which files are made and removed.
    pub(crate) fn lock(&self) -> Result<Locked<'_>> {
        // It guards no data of ours, so one that panicked under it leaves nothing wrong.
        let thread = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        lock(&self.dir_file, Some(thread)).map_err(Error::io("lock", &self.dir))
    }

    pub(crate) fn sync_directory(&self) -> Result<()> {
        self.dir_file.sync_all().map_err(Error::io("sync", &self.dir))
    }

    pub(crate) fn set_boot_id(&mut self, boot_id: u128) -> Result<()> {
        self.header.boot_id = boot_id;
        let path = self.dir.join(CONTROL_NAME);
        let written = self.file.write_all_at(&self.header.encode(), 0);
        written.and_then(|()| self.file.sync_all()).map_err(full_or("write", &path))
    }

    /// Asked over bytes of this file, which have their space.
    pub(crate) fn has_fallocate(&self) -> bool {
        fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, PAGE_BYTES).is_ok()
    }

    pub(crate) fn segment_path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:010}{SUFFIX}"))
    }

    pub(crate) fn new_segment_path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:010}{SUFFIX}{NEW_SUFFIX}"))
    }

    /// Rising.
    pub(crate) fn segment_numbers(&self) -> Result<Vec<u64>> {
        segment_numbers(&self.dir)
    }

    /// Says that this message is claimed or committed: tailers that wait look for it. Lost news delay them by a tick of
    /// the clock.
    #[inline]
    pub(crate) fn tell(&self, sequence: u64) {
        self.map.set(NEWS_OFFSET, sequence);
    }

    #[inline]
    pub(crate) fn news(&self) -> u64 {
        self.map.look(NEWS_OFFSET)
    }

    /// Whether the appender that holds a claim is still there; never `false` for a living one.
    pub(crate) fn is_alive(&self, holder: Holder) -> Result<bool> {
        let generation = self.map.look(seat_offset(holder.seat)) as u32 & 0xFF_FFFF;
        Ok(generation == holder.generation && self.is_taken(holder.seat)?)
    }

    fn is_taken(&self, seat: u8) -> Result<bool> {
        let path = || self.dir.join(CONTROL_NAME);
        seat_lock::is_taken(self.file.as_fd(), seat).map_err(|e| Error::io("ask", path())(e))
    }

    fn put(&self, offset_bytes: u64, value: u64) -> Result<()> {
        let written = self.file.write_all_at(&value.to_le_bytes(), offset_bytes);
        written.map_err(|error| full_or("write", &self.dir.join(CONTROL_NAME))(error))
    }

    /// Sits down on the first free seat of a range that `is_wanted`.
    fn sit(
        &self,
        seats: std::ops::Range<usize>,
        is_wanted: impl Fn(u8) -> bool,
    ) -> Result<Option<Seat>> {
        let path = self.dir.join(CONTROL_NAME);
        // A file of its own: the lock belongs to the open file, and goes with it.
        let file = File::options().read(true).write(true).open(&path);
        let file = file.map_err(Error::io("open", &path))?;
        for seat in seats {
            let seat = seat as u8;
            if is_wanted(seat)
                && seat_lock::take(file.as_fd(), seat).map_err(Error::io("lock", &path))?
            {
                let generation = self.map.look(seat_offset(seat)).wrapping_add(1);
                self.put(seat_offset(seat), generation)?;
                let holder = Holder { seat, generation: generation as u32 & 0xFF_FFFF };
                return Ok(Some(Seat { _file: file, holder }));
            }
        }
        Ok(None)
    }

    pub(crate) fn appender_seat(&self) -> Result<Seat> {
        let seat = self.sit(0..APPENDER_SEATS, |_| true)?;
        seat.ok_or(Error::Seats { role: "appenders", count: APPENDER_SEATS })
    }

    /// Without a name; under the lock.
    pub(crate) fn tailer_seat(&self) -> Result<Seat> {
        let seat = self.sit(APPENDER_SEATS..SEATS, |seat| self.name(seat).is_none())?;
        seat.ok_or(Error::Seats { role: "tailers", count: SEATS - APPENDER_SEATS })
    }

    /// The seat of a named tailer, with its place if it had one; under the lock.
    pub(crate) fn named_seat(&self, name: &str) -> Result<(Seat, Option<u64>)> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(Error::Name { name: name.into() });
        }
        if let Some(seat) = self.seat_of(name) {
            let range = seat.into()..usize::from(seat) + 1;
            let taken = self.sit(range, |_| true)?;
            let taken = taken.ok_or_else(|| Error::Busy { name: name.into() })?;
            return Ok((taken, self.next_sequence(seat)));
        }
        let seat = self.tailer_seat()?;
        let start = seat_offset(seat.holder.seat);
        self.put(start + NEXT_OFFSET, 0)?;
        let mut bytes = [0; NAME_BYTES_MAX];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        let written = self.file.write_all_at(&bytes, start + NAME_OFFSET);
        written.map_err(full_or("write", &self.dir.join(CONTROL_NAME)))?;
        self.put(start + NAME_LENGTH_OFFSET, name.len() as u64)?;
        self.put(start + STATE_OFFSET, NAMED)?;
        Ok((seat, None))
    }

    fn seat_of(&self, name: &str) -> Option<u8> {
        (APPENDER_SEATS..SEATS)
            .map(|seat| seat as u8)
            .find(|seat| self.name(*seat).as_deref() == Some(name))
    }

    fn name(&self, seat: u8) -> Option<String> {
        let start = seat_offset(seat);
        if self.map.look(start + STATE_OFFSET) != NAMED {
            return None;
        }
        let length = (self.map.look(start + NAME_LENGTH_OFFSET) as usize).min(NAME_BYTES_MAX);
        let mut bytes = vec![0; length];
        self.map.copy_out(start + NAME_OFFSET, &mut bytes);
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn next_sequence(&self, seat: u8) -> Option<u64> {
        Some(self.map.look(seat_offset(seat) + NEXT_OFFSET)).filter(|next| *next > 0)
    }

    /// Remembers the next message that a tailer needs: one write(2) of eight bytes.
    pub(crate) fn remember(&self, seat: &Seat, next_sequence: u64) -> Result<()> {
        self.put(seat_offset(seat.holder.seat) + NEXT_OFFSET, next_sequence)
    }

    /// Names of tailers with the next message that each needs, in the order of their seats.
    pub(crate) fn named_tailers(&self) -> Vec<(String, u64)> {
        let seats = (APPENDER_SEATS..SEATS).map(|seat| seat as u8);
        seats.filter_map(|s| Some((self.name(s)?, self.next_sequence(s).unwrap_or(1)))).collect()
    }

    /// Forgets a named tailer; `false` if there is none. Under the lock.
    pub(crate) fn forget(&self, name: &str) -> Result<bool> {
        let Some(seat) = self.seat_of(name) else { return Ok(false) };
        if self.is_taken(seat)? {
            return Err(Error::Busy { name: name.into() });
        }
        self.put(seat_offset(seat) + STATE_OFFSET, 0)?;
        Ok(true)
    }

    /// The lowest sequence that a named or a living tailer needs; `None` if nobody needs any.
    pub(crate) fn needed_sequence(&self) -> Result<Option<u64>> {
        let mut lowest = None;
        for seat in (APPENDER_SEATS..SEATS).map(|seat| seat as u8) {
            if self.name(seat).is_some() || self.is_taken(seat)? {
                let needed = self.next_sequence(seat).unwrap_or(0);
                lowest = Some(lowest.map_or(needed, |low: u64| low.min(needed)));
            }
        }
        Ok(lowest)
    }

    /// Removes what was being made by processes that died. Under the lock.
    pub(crate) fn remove_litter(&self) -> Result<()> {
        let entries = fs::read_dir(&self.dir).map_err(Error::io("list", &self.dir))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.ends_with(&format!("{SUFFIX}{NEW_SUFFIX}"))) {
                fs::remove_file(entry.path()).map_err(Error::io("remove", entry.path()))?;
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Seat {
    _file: File,
    pub(crate) holder: Holder,
}

fn seat_offset(seat: u8) -> u64 {
    PAGE_BYTES + u64::from(seat) * SEAT_BYTES
}

fn write_control(path: &Path, header: &ControlHeader) -> io::Result<()> {
    let mut file = File::create(path)?;
    do_not_copy_on_write(&file);
    let mut bytes = vec![0; CONTROL_BYTES as usize];
    bytes[..64].copy_from_slice(&header.encode());
    file.write_all(&bytes)?;
    file.sync_all()
}

fn segment_numbers(dir: &Path) -> Result<Vec<u64>> {
    let entries = fs::read_dir(dir).map_err(Error::io("list", dir))?;
    let mut numbers: Vec<u64> =
        entries.flatten().filter_map(|e| number_of(e.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn number_of(name: &str) -> Option<u64> {
    let number: u64 = name.strip_suffix(SUFFIX)?.parse().ok()?;
    (number > 0 && format!("{number:010}{SUFFIX}") == name).then_some(number)
}

/// From the beginning of the file; fewer where it is shorter.
pub(crate) fn read_up_to(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

/// A full file system gets an error of its own.
pub(crate) fn full_or(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::Full { path, needed_bytes: 0 }
        }
        _ => Error::io(verb, path)(error),
    }
}

/// Drawn by the kernel at each boot; 0 where it cannot be read.
pub(crate) fn boot_id() -> u128 {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    u128::from_str_radix(&text.trim().replace('-', ""), 16).unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn control(dir: &Path) -> Control {
        let header = ControlHeader {
            queue_id: 1,
            segment_bytes: 1 << 20,
            roll_ns: 0,
            chunk_bytes: 1 << 20,
            boot_id: boot_id(),
        };
        Control::create(dir, &header).unwrap()
    }

    #[test]
    fn a_holder_is_alive_until_its_seat_is_left_or_taken_anew() {
        let dir = tempfile::tempdir().unwrap();
        let control = control(dir.path());
        let seat = control.appender_seat().unwrap();
        let holder = seat.holder;
        assert!(control.is_alive(holder).unwrap());
        drop(seat);
        assert!(!control.is_alive(holder).unwrap());
        let again = control.appender_seat().unwrap();
        assert_eq!(again.holder.seat, holder.seat);
        assert!(!control.is_alive(holder).unwrap(), "the seat is taken, and not by it");
    }

    #[test]
    fn a_name_keeps_its_place_and_has_one_reader() {
        let dir = tempfile::tempdir().unwrap();
        let control = control(dir.path());
        let (seat, place) = control.named_seat("risk").unwrap();
        assert_eq!(place, None);
        control.remember(&seat, 42).unwrap();
        assert!(matches!(control.named_seat("risk"), Err(Error::Busy { .. })));
        drop(seat);
        assert_eq!(control.needed_sequence().unwrap(), Some(42));
        assert_eq!(control.named_seat("risk").unwrap().1, Some(42));
        assert!(control.forget("risk").unwrap());
        assert_eq!(control.needed_sequence().unwrap(), None);
        assert!(matches!(control.named_seat(""), Err(Error::Name { .. })));
    }

    #[test]
    fn only_a_name_that_we_would_give_is_a_segment() {
        assert_eq!(number_of("0000000042.segment"), Some(42));
        assert_eq!(number_of("42.segment"), None);
        assert_eq!(number_of("0000000000.segment"), None);
        assert_eq!(number_of("0000000042.segment.new"), None);
    }
}
