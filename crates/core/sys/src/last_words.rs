//! What a program says last beside its answers, kept while it runs: it tells why one ended that owed an answer.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const LINE_BYTES_MAX: u64 = 4 << 10;
const LINES_TOLD: usize = 4;
const LINE_CHARS_MAX: usize = 300;
const LOOK_EACH: Duration = Duration::from_millis(10);
/// Begins what pickfs complains of.
const OURS: &str = "pickfs: ";

#[derive(Debug, Default)]
pub struct LastWords {
    kept: Arc<Mutex<Kept>>,
    reading: Option<JoinHandle<()>>,
}

/// The first lines of ours are told where there are any: launchers have much to say of a rank that gave its reason, and
/// thousands of ranks of the one that they waited for.
#[derive(Debug, Default)]
struct Kept {
    ours: Vec<String>,
    last: VecDeque<String>,
}

impl LastWords {
    /// Of a stream that may outlive its program: a child of it may hold it.
    pub fn of(stream: Option<impl Read + Send + 'static>) -> LastWords {
        let kept = Arc::<Mutex<Kept>>::default();
        let reading = stream.map(|stream| {
            let kept = Arc::clone(&kept);
            thread::spawn(move || keep_last(stream, &kept))
        });
        LastWords { kept, reading }
    }

    /// A line that came another way.
    pub fn add(&self, line: &str) {
        keep(line, &self.kept);
    }

    /// How it ended, and behind that its words, joined by `joint`; waits so long for the end of their stream.
    pub fn behind(&self, how: &str, joint: &str, patience: Duration) -> String {
        let began = Instant::now();
        let is_read = || self.reading.as_ref().is_none_or(JoinHandle::is_finished);
        while !is_read() && began.elapsed() < patience {
            thread::sleep(LOOK_EACH);
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let told =
            if kept.ours.is_empty() { Vec::from(kept.last.clone()) } else { kept.ours.clone() };
        if told.is_empty() { how.into() } else { format!("{how}{joint}{}", told.join(" | ")) }
    }
}

fn keep_last(stream: impl Read, kept: &Mutex<Kept>) {
    let (mut stream, mut line, mut is_begin) = (BufReader::new(stream), Vec::new(), true);
    while let Ok(1..) = stream.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
        // The rest of a longer one is not kept.
        if is_begin {
            keep(&String::from_utf8_lossy(&line), kept);
        }
        is_begin = line.ends_with(b"\n");
        line.clear();
    }
}

fn keep(line: &str, kept: &Mutex<Kept>) {
    let line: String = line.chars().take(LINE_CHARS_MAX).collect();
    let words: Vec<&str> = line.split_whitespace().collect();
    // One without letters is of a frame.
    if line.contains(char::is_alphabetic) {
        let line = words.join(" ");
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !line.contains(OURS) {
            kept.last.push_back(line);
            if kept.last.len() > LINES_TOLD {
                kept.last.pop_front();
            }
        } else if kept.ours.len() < LINES_TOLD {
            kept.ours.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn lines_of_ours_are_told_before_all_others_and_frames_not_at_all() {
        let long = "x".repeat(LINE_CHARS_MAX);
        let said = format!("-----\none\ntwo \t words\n\n3\n {}\nfif", "x".repeat(1 << 14));
        let last_words = LastWords::of(Some(Cursor::new(said)));
        let read = |how| last_words.behind(how, ": ", Duration::from_secs(60));
        assert_eq!(read("a"), format!("a: one | two words | {} | fif", &long[1..]));
        last_words.add(&format!("{long}\nlost"));
        assert_eq!(read("a"), format!("a: two words | {} | fif | {long}", &long[1..]));
        for line in ["[1] pickfs: h2: no room", "rank 2 aborted", "pickfs: h3: h2 is gone"] {
            last_words.add(line);
        }
        assert_eq!(read("a"), "a: [1] pickfs: h2: no room | pickfs: h3: h2 is gone");
        for rank in 0..100 {
            last_words.add(&format!("rank {rank} aborted"));
            last_words.add(&format!("pickfs: h{rank}: lost"));
        }
        let first = "a: [1] pickfs: h2: no room | pickfs: h3: h2 is gone | pickfs: h0: lost | pickfs: h1: lost";
        assert_eq!(read("a"), first);
        assert_eq!(LastWords::default().behind("a", ": ", Duration::ZERO), "a");
    }
}
