//! The thread beside an appender: touches pages ahead of it, and makes the next segment before it is needed.
//!
//! The appender tells it where it is by one store a message, and wakes it never: it looks again each
//! millisecond while there is something to touch, else each ten.

use std::sync::{
    Arc, Mutex,
    atomic::{
        AtomicBool, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::control::Control;
use super::error::{Error, Result};
use super::layout::PAGE_BYTES;
use super::options::{Allocation, Options, Prepare, Sync, Touch};
use super::segment::Segment;

#[derive(Debug, Default)]
struct Shared {
    position_bytes: AtomicU64,
    segment: Mutex<Option<Arc<Segment>>>,
    is_over: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct Forerunner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Forerunner {
    pub(crate) fn start(control: &Arc<Control>, options: &Options) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut work = Work {
            control: Arc::clone(control),
            shared: Arc::clone(&shared),
            options: options.clone(),
            segment: None,
            touched_bytes: 0,
            prepared: 0,
        };
        let thread = thread::Builder::new().name("queue-ahead".into()).spawn(move || work.run());
        let thread = thread.map_err(Error::io("start a thread for", control.dir()))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    #[inline]
    pub(crate) fn reached(&self, offset_bytes: u64) {
        self.shared.position_bytes.store(offset_bytes, Relaxed);
    }

    pub(crate) fn enter(&self, segment: &Arc<Segment>, offset_bytes: u64) {
        if let Ok(mut current) = self.shared.segment.lock() {
            self.shared.position_bytes.store(offset_bytes, Release);
            *current = Some(Arc::clone(segment));
        }
    }
}

impl Drop for Forerunner {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

struct Work {
    control: Arc<Control>,
    shared: Arc<Shared>,
    options: Options,
    segment: Option<Arc<Segment>>,
    touched_bytes: u64,
    prepared: u64,
}

impl Work {
    fn run(&mut self) {
        let pause = match self.options.touch {
            Touch::Ahead(_) => Duration::from_millis(1),
            _ => Duration::from_millis(10),
        };
        while !self.shared.is_over.load(Acquire) {
            self.follow();
            if let Some(segment) = self.segment.clone() {
                let position = self.shared.position_bytes.load(Relaxed);
                // What fails here fails again in the append that needs it, and is told there.
                let _ = self.touch(&segment, position);
                let _ = self.prepare(&segment, position);
            }
            thread::park_timeout(pause);
        }
    }

    fn follow(&mut self) {
        let current = self.shared.segment.lock().ok().and_then(|current| current.clone());
        let is_other = match (&self.segment, &current) {
            (Some(ours), Some(theirs)) => ours.number != theirs.number,
            (None, Some(_)) => true,
            _ => false,
        };
        if is_other {
            self.segment = current;
            self.touched_bytes = 0;
        }
    }

    fn touch(&mut self, segment: &Segment, position_bytes: u64) -> Result<()> {
        let Touch::Ahead(pages) = self.options.touch else { return Ok(()) };
        let page = position_bytes / PAGE_BYTES * PAGE_BYTES;
        let wanted = (page + (1 + u64::from(pages)) * PAGE_BYTES).min(segment.segment_bytes);
        if !segment.reaches(wanted)? && self.options.allocation != Allocation::Sparse {
            segment.grow(&self.control, wanted, self.options.allocation)?;
        }
        let start = self.touched_bytes.max(page);
        let end = wanted.min(segment.known_bytes() / PAGE_BYTES * PAGE_BYTES);
        if end > start {
            segment.map.populate(start, end).map_err(Error::io("populate", &segment.path))?;
            self.touched_bytes = end;
        }
        Ok(())
    }

    fn prepare(&mut self, segment: &Segment, position_bytes: u64) -> Result<()> {
        let next = segment.number + 1;
        let is_early = position_bytes < segment.segment_bytes / 2;
        if self.options.prepare != Prepare::Ahead || self.prepared >= next || is_early {
            return Ok(());
        }
        let _locked = self.control.lock()?;
        if self.control.segment_numbers()?.last().is_some_and(|last| *last <= segment.number) {
            Segment::make(&self.control, next, self.options.allocation)?;
            if self.options.sync != Sync::None {
                self.control.sync_directory()?;
            }
        }
        self.prepared = next;
        Ok(())
    }
}
