//! What a program says last beside its answers, kept while it runs: it tells why one ended that owed an answer.

use std::{
    io::Read,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const BYTES_MAX: usize = 4 << 10;
const LINES_TOLD: usize = 4;
const LINE_CHARS_MAX: usize = 300;
const LOOK_EACH: Duration = Duration::from_millis(10);
/// Begins what pickfs complains of.
const OURS: &str = "pickfs: ";

#[derive(Debug, Default)]
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

    /// A line that came another way.
    pub fn add(&self, line: &str) {
        let line: String = line.chars().take(LINE_CHARS_MAX).collect();
        keep(format!("\n{line}\n").as_bytes(), &self.kept);
    }

    /// How it ended, and behind that its words, joined by `joint`; waits so long for the end of their stream.
    pub fn behind(&self, how: &str, joint: &str, patience: Duration) -> String {
        let began = Instant::now();
        let is_read = || self.reading.as_ref().is_none_or(JoinHandle::is_finished);
        while !is_read() && began.elapsed() < patience {
            thread::sleep(LOOK_EACH);
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match told(&String::from_utf8_lossy(&kept)) {
            words if words.is_empty() => how.into(),
            words => format!("{how}{joint}{words}"),
        }
    }
}

fn keep_last(mut stream: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut chunk = [0; BYTES_MAX];
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        keep(&chunk[..count], kept);
    }
}

fn keep(bytes: &[u8], kept: &Mutex<Vec<u8>>) {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    kept.extend(bytes);
    let surplus = kept.len().saturating_sub(BYTES_MAX);
    kept.drain(..surplus);
}

/// The last lines, but the first of ours where there are any: launchers have much to say of a rank that gave its reason.
/// One without letters is of a frame.
fn told(text: &str) -> String {
    let short = |line: &str| -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.join(" ").chars().take(LINE_CHARS_MAX).collect()
    };
    let lines = text.lines().map(short).filter(|line| line.contains(char::is_alphabetic));
    let lines: Vec<String> = lines.collect();
    let ours: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| line.contains(OURS)).collect();
    match ours.is_empty() {
        true => lines[lines.len().saturating_sub(LINES_TOLD)..].join(" | "),
        false => ours[..ours.len().min(LINES_TOLD)].join(" | "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ours_are_told_before_all_others_and_frames_not_at_all() {
        let last_words = LastWords::of(Some(&b"-----\none\ntwo \t words\n\n3\n 4th\nfif"[..]));
        let read = |how| last_words.behind(how, ": ", Duration::from_secs(60));
        assert_eq!(read("it ended"), "it ended: one | two words | 4th | fif");
        last_words.add(&format!("{}\nlost", "x".repeat(BYTES_MAX)));
        let long = "x".repeat(LINE_CHARS_MAX);
        assert_eq!(read("it ended"), format!("it ended: two words | 4th | fif | {long}"));
        for line in ["[1] pickfs: h2: no room", "rank 2 aborted", "pickfs: h3: h2 is gone"] {
            last_words.add(line);
        }
        assert_eq!(read("a"), "a: [1] pickfs: h2: no room | pickfs: h3: h2 is gone");
        assert_eq!(LastWords::default().behind("a", ": ", Duration::ZERO), "a");
    }
}
