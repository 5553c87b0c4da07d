//! Appending: find the end, claim, store, commit.
//!
//! No two appenders wait for each other: each takes the next empty slot, and messages become visible in the
//! order of their slots. One that dies leaves a claim of known length, which tailers void and pass.

use std::sync::Arc;

use rustix::mm::MsyncFlags;

use super::clock::{monotonic_ns, realtime_ns};
use super::control::{Control, Seat};
use super::error::{DamageKind, Error, Result};
use super::forerunner::Forerunner;
use super::layout::{
    ALIGN_BYTES, INDEX_BLOCK_BYTES, MESSAGE_HEADER_BYTES, PAGE_BYTES, message_checksum,
    payload_bytes_max, slot_bytes,
};
use super::options::{Allocation, Options, Prepare, Sync, SyncEvery, Touch};
use super::segment::Place;
use super::segment::{IndexEntry, Segment};
use super::word::{self, Slot};
use crate::map::Access;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Rising from 1; one is left out for each appender that died while it wrote.
    pub sequence: u64,
    pub segment: u64,
    pub offset_bytes: u64,
}

/// A message up to this long is told when it is claimed: the news travel to a waiting tailer while it is stored.
const TOLD_EARLY_BYTES: usize = 1024;

/// One that appends; any number of them may, in any process. Made by [`super::Queue::appender`].
///
/// In lines of the cache of its own (two, as processors fetch neighbours): a tailer in the same process writes to
/// itself with every poll.
#[derive(Debug)]
#[repr(align(128))]
pub struct Appender {
    control: Arc<Control>,
    options: Options,
    seat: Seat,
    segment: Arc<Segment>,
    place: Place,
    first_sequence: u64,
    payload_bytes_max: usize,
    /// Stores up to here get no signal.
    ready_bytes: u64,
    touched_bytes: u64,
    roll_at_ns: Option<u64>,
    unsynced: Unsynced,
    forerunner: Option<Forerunner>,
    rolls: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Unsynced {
    messages: u32,
    from_bytes: u64,
    since_ns: u64,
}

impl Appender {
    pub(crate) fn new(control: Arc<Control>, options: Options) -> Result<Self> {
        let seat = control.appender_seat()?;
        let segment = Arc::new(last_begun(&control)?);
        let first_sequence = segment.begun()?.unwrap_or(1);
        let is_wanted =
            matches!(options.touch, Touch::Ahead(_)) || options.prepare == Prepare::Ahead;
        let forerunner = is_wanted.then(|| Forerunner::start(&control, &options)).transpose()?;
        let mut appender = Self {
            payload_bytes_max: payload_bytes_max(control.header.segment_bytes),
            place: Place::start(&segment, first_sequence),
            control,
            options,
            seat,
            segment,
            first_sequence,
            ready_bytes: 0,
            touched_bytes: 0,
            roll_at_ns: None,
            unsynced: Unsynced { since_ns: monotonic_ns(), ..Unsynced::default() },
            forerunner,
            rolls: 0,
        };
        let segment = Arc::clone(&appender.segment);
        appender.enter(segment, first_sequence);
        appender.find_end()?;
        Ok(appender)
    }

    /// Appends a message with the present time.
    ///
    /// On [`Error::Full`] nothing was stored, and the next append may try again.
    #[inline]
    pub fn append(&mut self, payload: &[u8]) -> Result<Appended> {
        // Where only size rolls a segment, the clock is read while the news travel.
        self.put(payload, self.roll_at_ns.map(|_| realtime_ns()))
    }

    /// Appends a message with a time of the caller's, in nanoseconds since 1970. Seeking by time and rolling by
    /// time go by it, so it should not fall.
    #[inline]
    pub fn append_at(&mut self, payload: &[u8], time_ns: u64) -> Result<Appended> {
        self.put(payload, Some(time_ns))
    }

    #[inline]
    fn put(&mut self, payload: &[u8], time_ns: Option<u64>) -> Result<Appended> {
        if payload.len() > self.payload_bytes_max {
            let limit_bytes = self.payload_bytes_max;
            return Err(Error::TooLarge { payload_bytes: payload.len(), limit_bytes });
        }
        let holder = self.seat.holder;
        self.take_slot(payload.len(), time_ns)?;
        let Place { offset_bytes, sequence, .. } = self.place;
        let is_told_early = payload.len() <= TOLD_EARLY_BYTES;
        if is_told_early {
            self.control.tell(sequence);
        }
        let time_ns = time_ns.unwrap_or_else(realtime_ns);
        let map = &self.segment.map;
        map.set_relaxed(offset_bytes + 8, time_ns);
        map.copy_in(offset_bytes + MESSAGE_HEADER_BYTES, payload);
        let checksum = message_checksum(self.segment.salt, sequence, time_ns, payload);
        if word::commit(map.word(offset_bytes), payload.len(), holder, checksum).is_err() {
            return Err(Error::TakenOver { path: self.segment.path.clone(), offset_bytes });
        }
        if !is_told_early {
            self.control.tell(sequence);
        }
        self.note(time_ns);
        self.place.pass(payload.len());
        if let Some(forerunner) = &self.forerunner {
            forerunner.reached(self.place.offset_bytes);
        }
        let appended = Appended { sequence, segment: self.segment.number, offset_bytes };
        if self.options.sync != Sync::None {
            self.sync_if_due()?;
        }
        Ok(appended)
    }

    /// Goes past what others have appended.
    #[inline]
    fn take_slot(&mut self, payload_bytes: usize, time_ns: Option<u64>) -> Result<()> {
        let bytes = slot_bytes(payload_bytes);
        loop {
            // The word behind the slot belongs to it: an end must always find room, and so must a reader.
            let end = self.place.offset_bytes + bytes + ALIGN_BYTES;
            let is_late = self.roll_at_ns.zip(time_ns).is_some_and(|(at, time)| time >= at);
            if end > self.segment.segment_bytes || is_late {
                self.roll(time_ns)?;
                continue;
            }
            if end > self.ready_bytes {
                self.make_ready(end)?;
            }
            let word = self.segment.map.word(self.place.offset_bytes);
            match word::claim(word, payload_bytes, self.seat.holder) {
                Ok(()) => return Ok(()),
                Err(slot) => self.go_past(slot, time_ns)?,
            }
        }
    }

    #[cold]
    fn go_past(&mut self, slot: Slot, time_ns: Option<u64>) -> Result<()> {
        let offset_bytes = self.place.offset_bytes;
        match slot {
            Slot::Claimed { payload_bytes, .. }
            | Slot::Message { payload_bytes, .. }
            | Slot::Void { payload_bytes } => {
                self.segment.check_end(offset_bytes, slot)?;
                self.place.pass(payload_bytes);
                self.leap();
                Ok(())
            }
            Slot::End => self.go_on(time_ns),
            Slot::Unknown(word) => {
                Err(Error::damage(&self.segment.path, offset_bytes, DamageKind::Word(word)))
            }
            Slot::Empty => Ok(()),
        }
    }

    /// Goes to the last block that others have begun, when that is ahead.
    fn leap(&mut self) {
        let next = (self.place.offset_bytes / INDEX_BLOCK_BYTES) + 1;
        if next >= self.segment.index_len() || self.segment.entry(next).is_none() {
            return;
        }
        let mut buffer = Vec::new();
        let landing = self.segment.landing(self.first_sequence, |_| true, &mut buffer);
        if let Some(entry) = landing.filter(|entry| entry.offset_bytes > self.place.offset_bytes) {
            self.place = Place::at(entry, self.first_sequence);
        }
    }

    /// Unless others have appended meanwhile; goes to the next.
    #[cold]
    fn roll(&mut self, time_ns: Option<u64>) -> Result<()> {
        let word = self.segment.map.word(self.place.offset_bytes);
        match word::end(word) {
            Ok(()) => self.go_on(time_ns),
            Err(slot) => self.go_past(slot, time_ns),
        }
    }

    /// The next segment is made and begun if nobody has.
    fn go_on(&mut self, time_ns: Option<u64>) -> Result<()> {
        if self.options.sync != Sync::None {
            self.sync()?;
        }
        let number = self.segment.number + 1;
        let next = match Segment::open(&self.control, number, Access::Write)? {
            Some(next) => next,
            None => match self.make_next(number)? {
                Some(next) => next,
                None => return self.start_again(),
            },
        };
        next.begin(self.place.sequence, time_ns.unwrap_or_else(realtime_ns))?;
        let first_sequence = self.place.sequence;
        self.enter(Arc::new(next), first_sequence);
        self.rolls += 1;
        Ok(())
    }

    /// `None` if it was there once and retention has let it go.
    fn make_next(&self, number: u64) -> Result<Option<Segment>> {
        let _locked = self.control.lock()?;
        if self.control.segment_numbers()?.last().is_some_and(|last| *last > number) {
            return Ok(None);
        }
        Segment::make(&self.control, number, self.options.allocation)?;
        if self.options.sync != Sync::None {
            self.control.sync_directory()?;
        }
        Segment::open(&self.control, number, Access::Write)
    }

    /// We slept for so long that our segment is not kept any more.
    fn start_again(&mut self) -> Result<()> {
        let segment = Arc::new(last_begun(&self.control)?);
        let first_sequence = segment.begun()?.unwrap_or(1);
        self.enter(segment, first_sequence);
        self.find_end()
    }

    fn enter(&mut self, segment: Arc<Segment>, first_sequence: u64) {
        segment.advise(self.options.advice);
        self.place = Place::start(&segment, first_sequence);
        self.first_sequence = first_sequence;
        // The multiple behind its first message; of nothing there is none.
        let after = segment.first_time_ns().checked_add(1);
        let roll_ns = self.control.header.roll_ns;
        self.roll_at_ns = after.and_then(|after| after.checked_next_multiple_of(roll_ns));
        self.stand_at(segment.data_start, &segment);
        if let Some(forerunner) = &self.forerunner {
            forerunner.enter(&segment, self.place.offset_bytes);
        }
        self.unsynced.from_bytes = 0;
        self.segment = segment;
    }

    fn stand_at(&mut self, offset_bytes: u64, segment: &Segment) {
        self.touched_bytes = offset_bytes / PAGE_BYTES * PAGE_BYTES;
        self.ready_bytes = match (self.options.allocation, self.options.touch) {
            (Allocation::Sparse, _) | (_, Touch::Populate(_)) => self.touched_bytes,
            _ => segment.known_bytes(),
        };
    }

    /// Goes to the end of what is there, voiding what dead appenders left.
    fn find_end(&mut self) -> Result<()> {
        self.leap();
        loop {
            let segment = Arc::clone(&self.segment);
            let Place { offset_bytes, .. } = self.place;
            if !segment.reaches(offset_bytes + ALIGN_BYTES)? {
                break;
            }
            let word = segment.map.word(offset_bytes);
            match word::look(word) {
                Slot::Empty => break,
                Slot::Claimed { payload_bytes, holder } if !self.control.is_alive(holder)? => {
                    word::void(word, payload_bytes, holder);
                }
                slot => self.go_past(slot, None)?,
            }
        }
        let segment = Arc::clone(&self.segment);
        self.stand_at(self.place.offset_bytes, &segment);
        Ok(())
    }

    /// Makes stores up to `end_bytes` safe: a full disk is told here, before anything is stored.
    #[cold]
    fn make_ready(&mut self, end_bytes: u64) -> Result<()> {
        let allocation = self.options.allocation;
        if !self.segment.reaches(end_bytes)? {
            self.segment.grow(&self.control, end_bytes, allocation)?;
        }
        let pages = match (self.options.touch, allocation) {
            (Touch::Populate(pages), _) => u64::from(pages.max(1)),
            (_, Allocation::Sparse) => 1,
            _ => {
                self.ready_bytes = self.segment.known_bytes();
                return Ok(());
            }
        };
        let end = end_bytes.max(self.touched_bytes + pages * PAGE_BYTES);
        self.touch_to(end.next_multiple_of(PAGE_BYTES))?;
        self.ready_bytes = self.touched_bytes;
        Ok(())
    }

    fn touch_to(&mut self, end_bytes: u64) -> Result<()> {
        let end = end_bytes.min(self.segment.known_bytes() / PAGE_BYTES * PAGE_BYTES);
        let start = self.touched_bytes;
        if end <= start {
            return Ok(());
        }
        let path = || self.segment.path.clone();
        self.segment.map.populate(start, end).map_err(|source| match source.raw_os_error() {
            // EFAULT: a store there would have raised SIGBUS (madvise(2)).
            Some(libc::EFAULT | libc::ENOSPC | libc::ENOMEM) => {
                Error::Full { path: path(), needed_bytes: end - start }
            }
            Some(libc::EINVAL) => Error::Refused { way: "madvise populate", path: path(), source },
            _ => Error::io("populate", path())(source),
        })?;
        self.touched_bytes = end;
        Ok(())
    }

    /// For the time between two messages: does a small piece of what the next ones would wait for. `false` when
    /// there is nothing to do but to keep the next slot's lines of the cache, which a tailer's processor may have
    /// fetched ahead; who waits by spinning calls it in each turn of the loop. With [`Touch::NextPage`] it makes the page behind the present one present.
    #[inline]
    pub fn idle(&mut self) -> Result<bool> {
        let Place { offset_bytes, before_bytes, .. } = self.place;
        // The next message may be as long as the last one.
        let length = (offset_bytes - before_bytes)
            .min(PAGE_BYTES)
            .min(self.segment.segment_bytes - offset_bytes);
        self.segment.map.own(offset_bytes, length as usize);
        let wanted = offset_bytes / PAGE_BYTES * PAGE_BYTES + 2 * PAGE_BYTES;
        if self.options.touch != Touch::NextPage || self.touched_bytes >= wanted {
            return Ok(false);
        }
        self.touch_next(wanted)
    }

    #[cold]
    fn touch_next(&mut self, wanted: u64) -> Result<bool> {
        let before = self.touched_bytes;
        self.touched_bytes = before.max(wanted - 2 * PAGE_BYTES);
        self.touch_to(wanted)?;
        Ok(self.touched_bytes > before)
    }

    #[inline]
    fn note(&self, time_ns: u64) {
        let Place { offset_bytes, before_bytes, sequence } = self.place;
        if offset_bytes / INDEX_BLOCK_BYTES != before_bytes / INDEX_BLOCK_BYTES || before_bytes == 0
        {
            let ordinal = sequence - self.first_sequence;
            self.segment.note(IndexEntry { offset_bytes, ordinal, time_ns });
        }
    }

    #[inline]
    fn sync_if_due(&mut self) -> Result<()> {
        self.unsynced.messages += 1;
        let is_due = match self.options.sync_every {
            SyncEvery::Messages(count) => self.unsynced.messages >= count,
            SyncEvery::Time(length) => {
                monotonic_ns() - self.unsynced.since_ns >= length.as_nanos() as u64
            }
        };
        if is_due { self.sync() } else { Ok(()) }
    }

    /// Makes durable what this appender has appended, in the way of [`Options::sync`]; with
    /// [`Sync::None`] by fdatasync.
    pub fn sync(&mut self) -> Result<()> {
        // With the word behind the last message, which may be the end.
        let (start, end) = (self.unsynced.from_bytes, self.place.offset_bytes + ALIGN_BYTES);
        let path = &self.segment.path;
        let synced = match self.options.sync {
            Sync::MsyncAsync => self.segment.map.sync(start, end, MsyncFlags::ASYNC),
            Sync::Msync => self.segment.map.sync(start, end, MsyncFlags::SYNC),
            Sync::Fdatasync | Sync::None => self.segment.file.sync_data(),
        };
        synced.map_err(Error::io("sync", path))?;
        self.unsynced = Unsynced { messages: 0, from_bytes: end, since_ns: monotonic_ns() };
        Ok(())
    }

    pub fn rolls(&self) -> u64 {
        self.rolls
    }

    /// The sequence that the next message gets if nobody else appends before.
    pub fn next_sequence(&self) -> u64 {
        self.place.sequence
    }

    pub fn payload_bytes_max(&self) -> usize {
        self.payload_bytes_max
    }
}

pub(crate) fn last_begun(control: &Control) -> Result<Segment> {
    let numbers = control.segment_numbers()?;
    for number in numbers.into_iter().rev() {
        let Some(segment) = Segment::open(control, number, control.access)? else { continue };
        if segment.begun()?.is_some() {
            return Ok(segment);
        }
    }
    let path = control.segment_path(1);
    Err(Error::damage(path, 0, DamageKind::Missing))
}
