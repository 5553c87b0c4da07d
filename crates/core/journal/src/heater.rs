//! A thread that keeps the next two prepared files in the page cache by reading them: the reader thread
//! of the journalling articles. It reads when a file is added, and again every second.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::name;
use crate::storage::{Open, Storage, StorageFile};

const FILES_HOT: usize = 2;
const AGAIN_AFTER: Duration = Duration::from_secs(1);
const CHUNK_BYTES: usize = 1 << 20;

#[derive(Default)]
struct State {
    waiting: BTreeSet<u64>,
    stop: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// Its thread ends with it. Files are named by their index.
pub(crate) struct Heater {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heater {
    pub(crate) fn start<S: Storage>(storage: S) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("journal-heater".to_owned())
            .spawn(move || run(&storage, &theirs))
            .map_err(Error::io("start thread", "journal-heater"))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    pub(crate) fn heat(&self, index: u64) {
        self.shared.lock().waiting.insert(index);
        self.shared.changed.notify_all();
    }

    pub(crate) fn cool(&self, index: u64) {
        self.shared.lock().waiting.remove(&index);
        self.shared.changed.notify_all();
    }
}

impl Drop for Heater {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic in the thread has been printed already, and nothing depends on it.
            let _ = thread.join();
        }
    }
}

fn run<S: Storage>(storage: &S, shared: &Shared) {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut state = shared.lock();
    while !state.stop {
        let next: Vec<u64> = state.waiting.iter().copied().take(FILES_HOT).collect();
        drop(state);
        for index in next {
            read_through(storage, &name::of_index(index), &mut chunk);
        }
        let waited = shared.changed.wait_timeout(shared.lock(), AGAIN_AFTER);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Errors only leave the file cold, so they end the reading and nothing else.
fn read_through<S: Storage>(storage: &S, name: &str, chunk: &mut [u8]) {
    let Ok(file) = storage.open(name, Open::Read) else {
        return;
    };
    let mut offset_bytes = 0;
    while let Ok(read @ 1..) = file.read_at(offset_bytes, chunk) {
        offset_bytes += read as u64;
    }
}
