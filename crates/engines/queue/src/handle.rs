use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;

use super::appender::{Appender, last_begun};
use super::clock::realtime_ns;
use super::control::{Control, boot_id};
use super::error::{Error, Result};
use super::layout::ControlHeader;
use super::options::{Allocation, Options};
use super::recovery::{self, Recovery, Retired};
use super::segment::Segment;
use super::tailer::{Tailer, oldest};
use crate::map::Access;

/// Appenders and tailers made from it live on when it is dropped.
#[derive(Debug)]
pub struct Queue {
    control: Arc<Control>,
    options: Options,
    recovery: Option<Recovery>,
}

impl Queue {
    /// The directory holds none; it may exist.
    pub fn create(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        options.validate()?;
        let dir = dir.as_ref();
        let header = ControlHeader {
            queue_id: RandomState::new().hash_one(0),
            segment_bytes: options.segment_bytes,
            roll_ns: u64::try_from(options.roll_every.as_nanos()).unwrap_or(0),
            chunk_bytes: options.chunk_bytes,
            boot_id: boot_id(),
        };
        let control = Control::create(dir, &header)?;
        let options = settled(options, &control);
        begin_first(&control, &options)?;
        Ok(Self { control: Arc::new(control), options, recovery: None })
    }

    /// Opens a queue for appending and reading. Segment, chunk and roll are the queue's own, whatever `options`
    /// say. The first to open it after a boot looks what the crash before left, and cuts what is not whole.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        options.validate()?;
        let mut control = Control::open(dir.as_ref(), Access::Write)?;
        let options = settled(options, &control);
        let boot_id = boot_id();
        let mut recovery = None;
        if control.header.boot_id != boot_id || control.segment_numbers()?.is_empty() {
            recovery = recovery::after_boot(&mut control, &options, boot_id)?;
        }
        let options = options.of(&control.header);
        Ok(Self { control: Arc::new(control), options, recovery })
    }

    pub fn open_or_create(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        let dir = dir.as_ref();
        match Self::open(dir, options.clone()) {
            Err(Error::Absent { .. }) => match Self::create(dir, options.clone()) {
                // Somebody else was faster.
                Err(Error::Exists { .. }) => Self::open(dir, options),
                created => created,
            },
            opened => opened,
        }
    }

    /// Opens a queue for reading alone; nothing is written, not even to the control file. Retention does not
    /// know of its tailers.
    pub fn open_read_only(dir: impl AsRef<Path>) -> Result<Self> {
        let control = Control::open(dir.as_ref(), Access::Read)?;
        let options = Options::default().of(&control.header);
        Ok(Self { control: Arc::new(control), options, recovery: None })
    }

    /// How segments get their space: never [`Allocation::Either`] of a queue that is open for writing.
    pub fn allocation(&self) -> Allocation {
        self.options.allocation
    }

    pub fn appender(&self) -> Result<Appender> {
        self.writable("appender")?;
        Appender::new(Arc::clone(&self.control), self.options.clone())
    }

    /// A tailer at the oldest message that is kept. While it lives, retention keeps what it has not read.
    pub fn tailer(&self) -> Result<Tailer> {
        let seat = match self.control.access {
            Access::Read => None,
            Access::Write => {
                let _locked = self.control.lock()?;
                let seat = self.control.tailer_seat()?;
                let first = oldest(&self.control)?.begun()?.unwrap_or(1);
                self.control.remember(&seat, first)?;
                Some(seat)
            }
        };
        Tailer::new(Arc::clone(&self.control), seat, false, self.options.advice)
    }

    /// The tailer of that name, where it [`Tailer::remember`]ed to be; a new one begins at the oldest message.
    /// Retention keeps what it has not read, also while nobody has it open, until [`Queue::forget_tailer`].
    pub fn named_tailer(&self, name: &str) -> Result<Tailer> {
        self.writable("named_tailer")?;
        let locked = self.control.lock()?;
        let (seat, place) = self.control.named_seat(name)?;
        if place.is_none() {
            let first = oldest(&self.control)?.begun()?.unwrap_or(1);
            self.control.remember(&seat, first)?;
        }
        drop(locked);
        let control = Arc::clone(&self.control);
        let mut tailer = Tailer::new(control, Some(seat), true, self.options.advice)?;
        if let Some(next_sequence) = place {
            tailer.seek_sequence(next_sequence)?;
        }
        Ok(tailer)
    }

    /// Each with the next message that it needs.
    pub fn named_tailers(&self) -> Vec<(String, u64)> {
        self.control.named_tailers()
    }

    /// Its place too; `false` if there is none.
    pub fn forget_tailer(&self, name: &str) -> Result<bool> {
        self.writable("forget_tailer")?;
        let _locked = self.control.lock()?;
        self.control.forget(name)
    }

    /// Lets full segments go, as [`Options::retention`] says, the oldest first, and none that a living or a named
    /// tailer needs. It takes as long as the file system needs to remove files.
    pub fn retire(&self) -> Result<Retired> {
        self.writable("retire")?;
        recovery::retire(&self.control, &self.options.retention, realtime_ns())
    }

    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    fn writable(&self, verb: &'static str) -> Result<()> {
        match self.control.access {
            Access::Write => Ok(()),
            Access::Read => Err(Error::ReadOnly { verb }),
        }
    }
}

fn settled(options: Options, control: &Control) -> Options {
    let allocation = match options.allocation {
        Allocation::Either if control.has_fallocate() => Allocation::Fallocate,
        Allocation::Either => Allocation::ZeroFill,
        chosen => chosen,
    };
    Options { allocation, ..options }
}

/// What a creator that died has left is completed.
pub(crate) fn begin_first(control: &Control, options: &Options) -> Result<()> {
    let _locked = control.lock()?;
    if control.segment_numbers()?.is_empty() {
        Segment::make(control, 1, options.allocation)?;
    }
    match Segment::open(control, 1, Access::Write)? {
        Some(first) if first.begun()?.is_none() => first.begin(1, realtime_ns())?,
        _ => drop(last_begun(control)?),
    }
    control.sync_directory()
}
