//! What a program says last beside its answers, kept while it runs: it tells why one ended that owed an answer.

use std::{
    io::Read,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const BYTES_MAX: usize = 600;
const LOOK_EACH: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub struct LastWords {
    kept: Arc<Mutex<Vec<u8>>>,
    reading: Option<JoinHandle<()>>,
}

impl LastWords {
    /// Of a stream that may outlive its program: a child of it may hold it.
    pub fn of(stream: Option<impl Read + Send + 'static>) -> LastWords {
        let kept = Arc::<Mutex<Vec<u8>>>::default();
        let reading = stream.map(|stream| {
            let kept = Arc::clone(&kept);
            thread::spawn(move || keep_last(stream, &kept))
        });
        LastWords { kept, reading }
    }

    /// How it ended, and behind that its words; waits so long for the end of their stream.
    pub fn behind(&self, how: &str, patience: Duration) -> String {
        let began = Instant::now();
        let is_read = || self.reading.as_ref().is_none_or(JoinHandle::is_finished);
        while !is_read() && began.elapsed() < patience {
            thread::sleep(LOOK_EACH);
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let words = String::from_utf8_lossy(&kept);
        match words.split_whitespace().collect::<Vec<_>>().join(" ") {
            words if words.is_empty() => how.into(),
            words => format!("{how}: {words}"),
        }
    }
}

fn keep_last(mut stream: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut chunk = [0; BYTES_MAX];
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&chunk[..count]);
        let surplus = kept.len().saturating_sub(BYTES_MAX);
        kept.drain(..surplus);
    }
}
