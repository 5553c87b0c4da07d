//! Torn reads: a read that mixes old and new bytes of a write beside it. POSIX
//! wants reads and writes of a file to be atomic to each other; few Linux file
//! systems promise more than a page.
//!
//! A writer rewrites one block with a new byte each time, a reader reads it. A
//! read that holds two different bytes is torn. None seen is no proof.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::answers::{Answer, Verdict};

use crate::figures::share_text;
use crate::probe::Probe;
use crate::refusal::{Asking, CallResult};
use crate::room::Room;

pub const PROBES: &[Probe] = &[
    Probe::new("torn-4k", |room| torn(room, 4 << 10)),
    Probe::new("torn-64k", |room| torn(room, 64 << 10)),
];

/// Reads that must have seen new bytes; until then the time is stretched up to fivefold.
const CHANGES_MIN: u64 = 10;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    reads: u64,
    torn: u64,
    /// Reads that saw another byte than the read before: the writer had been there.
    changes: u64,
    writes: u64,
    elapsed: Duration,
}

fn torn(room: &Room, block_bytes: usize) -> Asking {
    let file = room.filled("file", &vec![0; block_bytes])?;
    let reader = File::open(room.path("file")).needed("open")?;
    let is_over = AtomicBool::new(false);
    let (read, written) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| rewrite(&file, block_bytes, &is_over));
        let read = reread(&reader, block_bytes, room.torn_time);
        is_over.store(true, Ordering::Relaxed);
        (read, writer.join().expect("the writer does not panic"))
    });
    let counts = Counts { writes: written?, ..read? };
    Ok(torn_answer(counts))
}

fn rewrite(file: &File, block_bytes: usize, is_over: &AtomicBool) -> Asking<u64> {
    let mut block = vec![0_u8; block_bytes];
    let mut writes = 0;
    while !is_over.load(Ordering::Relaxed) {
        writes += 1;
        block.fill(writes as u8);
        file.write_all_at(&block, 0).needed("write")?;
    }
    Ok(writes)
}

fn reread(file: &File, block_bytes: usize, time: Duration) -> Asking<Counts> {
    let mut block = vec![0_u8; block_bytes];
    let mut counts = Counts::default();
    let (began, mut last) = (Instant::now(), 0);
    while began.elapsed() < time || (counts.changes < CHANGES_MIN && began.elapsed() < time * 5) {
        file.read_exact_at(&mut block, 0).needed("read")?;
        counts.reads += 1;
        counts.torn += u64::from(is_torn(&block));
        counts.changes += u64::from(block[0] != last);
        last = block[0];
    }
    counts.elapsed = began.elapsed();
    Ok(counts)
}

fn is_torn(block: &[u8]) -> bool {
    block.iter().any(|byte| *byte != block[0])
}

fn torn_answer(counts: Counts) -> Answer {
    let Counts { reads, torn, changes, writes, elapsed } = counts;
    let words = format!(
        "{torn} of {reads} reads in {:.1} s beside {writes} writes; {changes} reads saw new bytes",
        elapsed.as_secs_f64()
    );
    match changes {
        0..CHANGES_MIN => {
            Answer::new(Verdict::NotAsked, format!("too few writes fell between reads: {words}"))
        }
        _ => Answer::measured(share_text(torn, reads), words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_two_bytes_is_torn() {
        assert!(!is_torn(&[3; 4096]));
        let mut block = [3; 4096];
        block[4095] = 4;
        assert!(is_torn(&block));
    }

    #[test]
    fn the_answer_tells_n_of_m_and_doubts_a_writer_that_did_not_run() {
        let elapsed = Duration::from_secs(1);
        let counts = Counts { reads: 1000, torn: 31, changes: 400, writes: 900, elapsed };
        let answer = torn_answer(counts);
        assert_eq!(answer.cell(), "3.1 %");
        assert!(answer.words.starts_with("31 of 1000 reads in 1.0 s beside 900 writes"));
        let idle = Counts { changes: 1, ..counts };
        assert_eq!(torn_answer(idle).verdict, Verdict::NotAsked);
    }
}
