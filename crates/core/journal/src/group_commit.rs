//! Group commit: many threads hand over records, one thread writes them, and one sync covers all that
//! arrived during the sync before.
//!
//! ```
//! use pickfs_journal::{GroupCommit, Journal, Options, SyncEvery};
//!
//! let dir = tempfile::tempdir()?;
//! let options = Options { sync_every: SyncEvery::GroupCommit, ..Options::default() };
//! let group = GroupCommit::start(Journal::create(dir.path(), options)?, 1 << 20, |_| {})?;
//! std::thread::scope(|scope| {
//!     for _ in 0..4 {
//!         scope.spawn(|| group.append(b"an order").expect("durable when it returns"));
//!     }
//! });
//! assert_eq!(group.close()?.written_sequence(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program with one thread gets the same by calling [`Journal::encode`] and [`Journal::write_encoded`]

use std::ops::RangeInclusive;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::directory::Directory;
use crate::error::{Error, Latch, Result};
use crate::journal::Journal;
use crate::storage::Storage;

const THREAD_NAME: &str = "journal-group";

#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
}

struct State {
    queue: Queue,
    next_sequence: u64,
    committed: u64,
    failed: Option<Latch>,
    ended: bool,
    stop: bool,
}

struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
    committed: Condvar,
    queue_bytes: usize,
    payload_bytes_max: usize,
}

/// Share it by reference or in an [`Arc`].
pub struct GroupCommit<S: Storage = Directory> {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Journal<S>>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Storage> GroupCommit<S> {
    /// Starts the writer thread. `queue_bytes` bounds what waits for it; a thread that hands over more is
    /// held up. `on_commit` is called by the writer thread after each sync, with the sequences it covered:
    /// keep it short, it stands between two commits.
    pub fn start(
        journal: Journal<S>,
        queue_bytes: usize,
        on_commit: impl FnMut(RangeInclusive<u64>) + Send + 'static,
    ) -> Result<Self> {
        let state = State {
            queue: Queue::with_capacity(queue_bytes),
            next_sequence: journal.written_sequence() + 1,
            committed: journal.written_sequence(),
            failed: None,
            ended: false,
            stop: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            arrived: Condvar::new(),
            committed: Condvar::new(),
            queue_bytes,
            payload_bytes_max: journal.payload_bytes_max().min(queue_bytes),
        });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name(THREAD_NAME.to_owned())
            .spawn(move || run(journal, &theirs, on_commit))
            .map_err(Error::io("start thread", THREAD_NAME))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Hands over a record and returns its sequence at once; it is neither written nor durable yet. Waits
    /// only where the queue is full.
    pub fn submit(&self, payload: &[u8]) -> Result<u64> {
        let limit_bytes = self.shared.payload_bytes_max;
        if payload.len() > limit_bytes {
            return Err(Error::TooLarge { payload_bytes: payload.len(), limit_bytes });
        }
        let mut state = self.shared.lock();
        while state.queue.bytes.len() + payload.len() > self.shared.queue_bytes {
            state.check()?;
            state = self.shared.committed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.check()?;
        state.queue.bytes.extend_from_slice(payload);
        state.queue.lengths.push(payload.len() as u32);
        let sequence = state.next_sequence;
        state.next_sequence += 1;
        drop(state);
        self.shared.arrived.notify_one();
        Ok(sequence)
    }

    /// Waits until the record has what the journal's policy promises.
    pub fn wait(&self, sequence: u64) -> Result<()> {
        let mut state = self.shared.lock();
        while state.committed < sequence {
            state.check()?;
            state = self.shared.committed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    pub fn append(&self, payload: &[u8]) -> Result<u64> {
        let sequence = self.submit(payload)?;
        self.wait(sequence)?;
        Ok(sequence)
    }

    pub fn committed_sequence(&self) -> u64 {
        self.shared.lock().committed
    }

    /// Commits what was handed over, ends the thread and gives the journal back.
    pub fn close(mut self) -> Result<Journal<S>> {
        let journal = self.end().ok_or_else(ended)?;
        match journal.latch() {
            Some(latch) => Err(Error::Latched(latch.clone())),
            None => Ok(journal),
        }
    }

    fn end(&mut self) -> Option<Journal<S>> {
        self.shared.lock().stop = true;
        self.shared.arrived.notify_all();
        self.thread.take()?.join().ok()
    }
}

impl<S: Storage> Drop for GroupCommit<S> {
    fn drop(&mut self) {
        // What was handed over is committed; whoever needs to know uses `wait` or `close`.
        let _ = self.end();
    }
}

fn ended() -> Error {
    let reason = "it panicked; its message is on standard error".to_owned();
    Error::Thread { name: THREAD_NAME, reason }
}

impl State {
    fn check(&self) -> Result<()> {
        match &self.failed {
            Some(latch) => Err(Error::Latched(latch.clone())),
            None if self.ended => Err(ended()),
            None => Ok(()),
        }
    }
}

impl Queue {
    fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), lengths: Vec::with_capacity(bytes / 64) }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }

    fn payloads(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        self.lengths.iter().map(move |length| {
            let (payload, behind) = rest.split_at(*length as usize);
            rest = behind;
            payload
        })
    }
}

/// Tells everyone who waits when the thread ends, in whatever way.
struct EndNotice<'a>(&'a Shared);

impl Drop for EndNotice<'_> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.committed.notify_all();
    }
}

fn run<S: Storage>(
    mut journal: Journal<S>,
    shared: &Shared,
    mut on_commit: impl FnMut(RangeInclusive<u64>),
) -> Journal<S> {
    let _notice = EndNotice(shared);
    let mut batch = Queue::with_capacity(shared.queue_bytes);
    while next_batch(shared, &mut batch) {
        let first = journal.written_sequence() + 1;
        if let Err(error) = commit(&mut journal, &batch) {
            shared.lock().failed = Some(latch(&journal, &error));
            return journal;
        }
        let last = journal.written_sequence();
        shared.lock().committed = last;
        shared.committed.notify_all();
        on_commit(first..=last);
        batch.clear();
    }
    journal
}

/// False when there is nothing left and the handle is closed.
fn next_batch(shared: &Shared, batch: &mut Queue) -> bool {
    let mut state = shared.lock();
    while state.queue.lengths.is_empty() {
        if state.stop {
            return false;
        }
        state = shared.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    std::mem::swap(&mut state.queue, batch);
    drop(state);
    // The queue is empty again, so whoever waited for room may go on during the sync.
    shared.committed.notify_all();
    true
}

fn commit<S: Storage>(journal: &mut Journal<S>, batch: &Queue) -> Result<()> {
    for payload in batch.payloads() {
        match journal.encode(payload) {
            Err(Error::BufferFull { .. }) => {
                journal.write_with_roll()?;
                journal.encode(payload)?;
            }
            other => other?,
        }
    }
    journal.write_with_roll()?;
    journal.sync()
}

fn latch<S: Storage>(journal: &Journal<S>, error: &Error) -> Latch {
    journal.latch().cloned().unwrap_or_else(|| Latch {
        verb: "commit",
        file: journal.file_name(),
        source: Arc::new(std::io::Error::other(error.to_string())),
    })
}
