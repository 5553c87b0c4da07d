//! Where the next file of a roll comes from: made on the spot, or taken from a background thread that
//! keeps one or two ready and also closes, removes and recycles the old ones.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::axes::{Preallocation, Roll};
use crate::error::{Error, Result};
use crate::maker::{Made, Maker};
use crate::storage::Storage;

const THREAD_NAME: &str = "journal-ahead";
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

pub(crate) enum Supply<S: Storage> {
    Inline(Box<Maker<S>>),
    Ahead(Ahead<S>),
}

impl<S: Storage> Supply<S> {
    pub(crate) fn start(mut maker: Maker<S>) -> Result<Self> {
        maker.prepare_at_start()?;
        match maker.options().roll {
            Roll::Inline => Ok(Self::Inline(Box::new(maker))),
            Roll::Ahead => Ahead::start(maker).map(Self::Ahead),
        }
    }

    pub(crate) fn take(&mut self) -> Result<Made<S::File>> {
        match self {
            Self::Inline(maker) => take_inline(maker),
            Self::Ahead(ahead) => ahead.take(),
        }
    }

    pub(crate) fn close(&mut self, file: S::File) {
        match self {
            Self::Inline(_) => drop(file),
            Self::Ahead(ahead) => ahead.tell(|state| state.closing.push(file)),
        }
    }

    pub(crate) fn retire(&mut self, index: u64) -> Result<()> {
        match self {
            Self::Inline(maker) => maker.retire(index),
            Self::Ahead(ahead) => {
                ahead.tell(|state| state.retired.push(index));
                Ok(())
            }
        }
    }

    /// Rolls that had to wait for the background thread.
    pub(crate) fn waits(&self) -> u64 {
        match self {
            Self::Inline(_) => 0,
            Self::Ahead(ahead) => ahead.waits,
        }
    }
}

fn take_inline<S: Storage>(maker: &mut Maker<S>) -> Result<Made<S::File>> {
    let made = maker.next()?;
    maker.put_to_use(made.index);
    if maker.options().preallocation == Preallocation::ZeroFilledHot {
        maker.top_up()?;
    }
    Ok(made)
}

struct State<F> {
    ready: VecDeque<Made<F>>,
    retired: Vec<u64>,
    closing: Vec<F>,
    taken: Vec<u64>,
    failed: Option<Error>,
    stop: bool,
}

struct Shared<F> {
    state: Mutex<State<F>>,
    changed: Condvar,
}

impl<F> Shared<F> {
    fn lock(&self) -> MutexGuard<'_, State<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Ahead<S: Storage> {
    shared: Arc<Shared<S::File>>,
    thread: Option<JoinHandle<()>>,
    /// Rolls that found no file ready.
    waits: u64,
}

impl<S: Storage> Ahead<S> {
    fn start(mut maker: Maker<S>) -> Result<Self> {
        let state = State {
            ready: VecDeque::new(),
            retired: Vec::new(),
            closing: Vec::new(),
            taken: Vec::new(),
            failed: None,
            stop: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name(THREAD_NAME.to_owned())
            .spawn(move || run(&mut maker, &theirs))
            .map_err(Error::io("start thread", THREAD_NAME))?;
        Ok(Self { shared, thread: Some(thread), waits: 0 })
    }

    fn tell(&self, change: impl FnOnce(&mut State<S::File>)) {
        change(&mut self.shared.lock());
        self.shared.changed.notify_all();
    }

    fn take(&mut self) -> Result<Made<S::File>> {
        let mut state = self.shared.lock();
        let mut waited = false;
        loop {
            if let Some(made) = state.ready.pop_front() {
                state.taken.push(made.index);
                self.shared.changed.notify_all();
                self.waits += u64::from(waited);
                return Ok(made);
            }
            if let Some(error) = state.failed.take() {
                return Err(error);
            }
            if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
                return Err(ended());
            }
            waited = true;
            let woken = self.shared.changed.wait_timeout(state, LOOK_AGAIN_AFTER);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn ended() -> Error {
    let reason = "it failed earlier or panicked; its message is on standard error".to_owned();
    Error::Thread { name: THREAD_NAME, reason }
}

impl<S: Storage> Drop for Ahead<S> {
    fn drop(&mut self) {
        self.tell(|state| state.stop = true);
        if let Some(thread) = self.thread.take() {
            // A panic in the thread has been printed already, and the files on disk are as recovery
            // expects them at any time.
            let _ = thread.join();
        }
    }
}

fn run<S: Storage>(maker: &mut Maker<S>, shared: &Shared<S::File>) {
    let files_ahead = match maker.options().preallocation {
        Preallocation::ZeroFilledHot => 2,
        _ => 1,
    };
    let mut state = shared.lock();
    loop {
        if state.stop {
            return;
        }
        let closing = std::mem::take(&mut state.closing);
        let retired = std::mem::take(&mut state.retired);
        let taken = std::mem::take(&mut state.taken);
        let make = state.ready.len() < files_ahead;
        let idle = closing.is_empty() && retired.is_empty() && taken.is_empty() && !make;
        if idle {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        drop(state);
        drop(closing);
        taken.into_iter().for_each(|index| maker.put_to_use(index));
        let made = work(maker, retired, make);
        state = shared.lock();
        match made {
            Ok(made) => state.ready.extend(made),
            Err(error) => {
                state.failed = Some(error);
                shared.changed.notify_all();
                return;
            }
        }
        shared.changed.notify_all();
    }
}

fn work<S: Storage>(
    maker: &mut Maker<S>,
    retired: Vec<u64>,
    make: bool,
) -> Result<Option<Made<S::File>>> {
    for index in retired {
        maker.retire(index)?;
    }
    if make { maker.next().map(Some) } else { Ok(None) }
}
