//! Reading: each message in order, once, whole.
//!
//! A tailer waits for nobody and holds up nobody. Where it meets the claim of a dead appender it takes the
//! claim over, so that everybody can pass; read-only, it passes for itself alone.

use std::sync::Arc;

use super::appender::last_begun;
use super::clock::Tick;
use super::control::{Control, Seat};
use super::error::{DamageKind, Error, Result};
use super::layout::TIME_BYTES;
use super::options::Advice;
use super::segment::Segment;
use super::segment::{Place, ReadBy};
use super::word::{self, Holder, Slot};
use crate::map::Access;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    pub sequence: u64,
    /// Since 1970.
    pub time_ns: u64,
    /// A copy in the tailer's buffer.
    pub payload: &'a [u8],
}

/// Polls that find nothing, or the same claim, before a look at why: some hundred microseconds of spinning.
const PATIENCE: u32 = 4096;
/// Looks at a claim before it is asked whether its appender lives, each after a PAUSE of up to some 140 cycles: longer
/// than a short message takes to be stored.
const STORING: u32 = 8;
/// Empty polls before a look whether the next segment is begun, which would be damage.
const DOUBT: u32 = 1 << 16;

/// Any number may read, in any process.
#[derive(Debug)]
#[repr(align(128))]
pub struct Tailer {
    control: Arc<Control>,
    seat: Option<Seat>,
    is_named: bool,
    by: ReadBy,
    advice: Advice,
    segment: Segment,
    first_sequence: u64,
    place: Place,
    buffer: Vec<u8>,
    empty_polls: u32,
    /// The number of the claim that was met last.
    claim_met: u64,
    looked: Tick,
}

impl Tailer {
    pub(crate) fn new(
        control: Arc<Control>,
        seat: Option<Seat>,
        is_named: bool,
        advice: Advice,
    ) -> Result<Self> {
        let segment = oldest(&control)?;
        let first_sequence = segment.begun()?.unwrap_or(1);
        segment.advise(advice);
        Ok(Self {
            place: Place::start(&segment, first_sequence),
            control,
            seat,
            is_named,
            by: ReadBy::Mapping,
            advice,
            segment,
            first_sequence,
            buffer: vec![0; 4096],
            empty_polls: 0,
            claim_met: 0,
            looked: Tick::default(),
        })
    }

    /// The default is [`ReadBy::Mapping`].
    #[must_use]
    pub fn by(mut self, by: ReadBy) -> Self {
        self.by = by;
        self
    }

    /// The next message, or `None` when there is none yet. It waits for nobody, but some hundred nanoseconds for a message
    /// that is being stored.
    ///
    /// After an error the place is the same as before: the same call gives the same error until the file is
    /// mended.
    #[inline]
    pub fn poll(&mut self) -> Result<Option<Message<'_>>> {
        if self.is_told_nothing() {
            self.doubt()?;
            return Ok(None);
        }
        loop {
            let Place { offset_bytes, sequence, .. } = self.place;
            match self.segment.read(self.by, offset_bytes, sequence, &mut self.buffer)? {
                (Slot::Message { payload_bytes, .. }, time_ns) => {
                    self.place.pass(payload_bytes);
                    self.empty_polls = 0;
                    let payload = &self.buffer[TIME_BYTES..TIME_BYTES + payload_bytes];
                    return Ok(Some(Message { sequence, time_ns, payload }));
                }
                (slot, _) => {
                    if !self.settle(slot)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Whether the last message that was told is the one before our place: then the appender keeps the lines of its
    /// next slot to itself. What was told may be lost with an appender that died, or be late, so each
    /// tick of the clock allows a look all the same.
    #[inline]
    fn is_told_nothing(&mut self) -> bool {
        if self.by != ReadBy::Mapping || self.control.news().wrapping_add(1) != self.place.sequence
        {
            return false;
        }
        let tick = Tick::now();
        let is_same = tick == self.looked;
        self.looked = tick;
        is_same
    }

    /// `true` if there may be a message now.
    fn settle(&mut self, slot: Slot) -> Result<bool> {
        match slot {
            Slot::Claimed { payload_bytes, holder } => self.resolve(payload_bytes, holder),
            Slot::Void { payload_bytes } => {
                self.place.pass(payload_bytes);
                Ok(true)
            }
            Slot::End => self.go_on(),
            Slot::Message { .. } => Ok(true),
            Slot::Empty | Slot::Unknown(_) => self.doubt(),
        }
    }

    /// Nothing here: that is how it ends, unless the next segment is begun.
    fn doubt(&mut self) -> Result<bool> {
        self.empty_polls = self.empty_polls.wrapping_add(1);
        if self.empty_polls % DOUBT == 0 {
            self.check_end()?;
        }
        Ok(false)
    }

    /// Refuses when nothing stands at our place although a later segment is begun.
    fn check_end(&mut self) -> Result<()> {
        let next = Segment::open(&self.control, self.segment.number + 1, Access::Read)?;
        let is_begun = match next {
            Some(next) => next.begun()?.is_some(),
            None => false,
        };
        let Place { offset_bytes, sequence, .. } = self.place;
        let still = self.segment.read(self.by, offset_bytes, sequence, &mut self.buffer)?;
        if is_begun && still.0 == Slot::Empty {
            return Err(Error::damage(&self.segment.path, offset_bytes, DamageKind::Blank));
        }
        Ok(())
    }

    /// A claim: its appender is writing, or dead.
    #[cold]
    fn resolve(&mut self, payload_bytes: usize, holder: Holder) -> Result<bool> {
        self.empty_polls = self.empty_polls.wrapping_add(1);
        let is_first_look = self.claim_met != self.place.sequence;
        self.claim_met = self.place.sequence;
        if is_first_look && self.is_stored_soon() {
            return Ok(true);
        }
        if !(is_first_look || self.empty_polls % PATIENCE == 0) || self.control.is_alive(holder)? {
            return Ok(false);
        }
        if self.control.access == Access::Write {
            let word = self.segment.map.word(self.place.offset_bytes);
            word::void(word, payload_bytes, holder);
        } else {
            // Nobody else can commit the claim of a dead holder, but it may have done so before it died.
            let Place { offset_bytes, sequence, .. } = self.place;
            let found = self.segment.read(self.by, offset_bytes, sequence, &mut self.buffer)?;
            if found.0 == (Slot::Claimed { payload_bytes, holder }) {
                self.place.pass(payload_bytes);
            }
        }
        Ok(true)
    }

    /// News may come before their message is whole.
    fn is_stored_soon(&self) -> bool {
        let word = || Slot::decode(self.segment.map.look(self.place.offset_bytes));
        (0..STORING).any(|_| {
            std::hint::spin_loop();
            !matches!(word(), Slot::Claimed { .. })
        })
    }

    fn go_on(&mut self) -> Result<bool> {
        let number = self.segment.number + 1;
        let Some(next) = Segment::open(&self.control, number, self.control.access)? else {
            return self.explain_missing(number);
        };
        let Some(first_sequence) = next.begun()? else { return Ok(false) };
        if first_sequence != self.place.sequence {
            let kind = DamageKind::Begin { expected: self.place.sequence, found: first_sequence };
            return Err(Error::damage(&next.path, 0, kind));
        }
        self.enter(next, first_sequence)?;
        Ok(true)
    }

    fn explain_missing(&self, number: u64) -> Result<bool> {
        let numbers = self.control.segment_numbers()?;
        if numbers.last().is_none_or(|last| *last < number) || numbers.contains(&number) {
            return Ok(false);
        }
        if numbers.first().is_some_and(|first| *first < number) {
            let path = self.control.segment_path(number);
            return Err(Error::damage(path, 0, DamageKind::Missing));
        }
        let oldest = oldest(&self.control)?.begun()?.unwrap_or(1);
        Err(Error::Retired { sequence: self.place.sequence, oldest })
    }

    fn enter(&mut self, segment: Segment, first_sequence: u64) -> Result<()> {
        segment.advise(self.advice);
        self.place = Place::start(&segment, first_sequence);
        self.first_sequence = first_sequence;
        self.segment = segment;
        self.empty_polls = 0;
        match &self.seat {
            Some(seat) if !self.is_named => self.control.remember(seat, first_sequence),
            _ => Ok(()),
        }
    }

    /// Writes down that everything before the next message is done with; needs a name, else it does nothing.
    /// One write(2) of eight bytes; as durable as the page cache.
    pub fn remember(&mut self) -> Result<()> {
        match &self.seat {
            Some(seat) if self.is_named => self.control.remember(seat, self.place.sequence),
            _ => Ok(()),
        }
    }

    pub fn next_sequence(&self) -> u64 {
        self.place.sequence
    }

    /// The oldest message that is kept.
    pub fn seek_start(&mut self) -> Result<()> {
        let segment = oldest(&self.control)?;
        let first_sequence = segment.begun()?.unwrap_or(1);
        self.enter(segment, first_sequence)
    }

    /// Behind the last message that is there now.
    pub fn seek_end(&mut self) -> Result<()> {
        let segment = last_begun(&self.control)?;
        let first_sequence = segment.begun()?.unwrap_or(1);
        self.enter(segment, first_sequence)?;
        self.land(|_| true);
        while self.poll()?.is_some() {}
        Ok(())
    }

    /// Goes to a message by its number: the next poll gives it, or the first one behind it where its number was
    /// left out. A number that is not there yet is waited for by polling; an earlier one than is kept is
    /// [`Error::Retired`].
    pub fn seek_sequence(&mut self, sequence: u64) -> Result<()> {
        let segment =
            self.segment_of(|segment| Ok(segment.begun()?.is_some_and(|first| first <= sequence)))?;
        let Some(segment) = segment else {
            let oldest = oldest(&self.control)?.begun()?.unwrap_or(1);
            return Err(Error::Retired { sequence, oldest });
        };
        let first_sequence = segment.begun()?.unwrap_or(1);
        self.enter(segment, first_sequence)?;
        self.land(|entry| first_sequence + entry.ordinal <= sequence);
        self.walk_while(|next, _| next < sequence)
    }

    /// Goes to the first message with this time or a later one, in nanoseconds since 1970. Times of appenders
    /// that race may be out of order by the length of the race.
    pub fn seek_time(&mut self, time_ns: u64) -> Result<()> {
        let segment = self.segment_of(|segment| {
            Ok(segment.begun()?.is_some() && segment.first_message_time_ns() < time_ns)
        })?;
        let Some(segment) = segment else { return self.seek_start() };
        let first_sequence = segment.begun()?.unwrap_or(1);
        self.enter(segment, first_sequence)?;
        self.land(|entry| entry.time_ns < time_ns);
        self.walk_while(|_, time| time < time_ns)
    }

    fn segment_of(&self, is_before: impl Fn(&Segment) -> Result<bool>) -> Result<Option<Segment>> {
        for number in self.control.segment_numbers()?.into_iter().rev() {
            let opened = Segment::open(&self.control, number, self.control.access)?;
            let Some(segment) = opened else { continue };
            if is_before(&segment)? {
                return Ok(Some(segment));
            }
        }
        Ok(None)
    }

    fn land(&mut self, is_before: impl Fn(&super::segment::IndexEntry) -> bool) {
        let landing = self.segment.landing(self.first_sequence, is_before, &mut self.buffer);
        if let Some(entry) = landing {
            self.place = Place::at(entry, self.first_sequence);
        }
    }

    fn walk_while(&mut self, is_early: impl Fn(u64, u64) -> bool) -> Result<()> {
        loop {
            let Some(message) = self.poll()? else { return Ok(()) };
            if !is_early(message.sequence, message.time_ns) {
                self.place.offset_bytes = self.place.before_bytes;
                self.place.sequence -= 1;
                return Ok(());
            }
        }
    }
}

pub(crate) fn oldest(control: &Control) -> Result<Segment> {
    loop {
        let numbers = control.segment_numbers()?;
        let Some(number) = numbers.first() else {
            return Err(Error::damage(control.segment_path(1), 0, DamageKind::Missing));
        };
        // Retention may take it away in between.
        if let Some(segment) = Segment::open(control, *number, control.access)? {
            return Ok(segment);
        }
    }
}
