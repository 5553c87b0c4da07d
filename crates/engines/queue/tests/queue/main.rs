//! The queue without root. Tests that start processes are programs of their own: a child holds the locks of
//! all threads for a moment, between fork and exec.
#![allow(clippy::unwrap_used)]

mod damage;
mod round_trip;
mod takeover;

use pickfs_queue::{Options, Prepare};

/// Of 8 to 8 + `spread` bytes, by its number.
fn payload(sequence: u64, spread: u64) -> Vec<u8> {
    let length = 8 + (sequence * 131 % spread) as usize;
    sequence.to_le_bytes().into_iter().cycle().take(length).collect()
}

fn small() -> Options {
    Options {
        segment_bytes: 64 << 10,
        chunk_bytes: 16 << 10,
        prepare: Prepare::Inline,
        ..Options::default()
    }
}
