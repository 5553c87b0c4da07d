//! Where `unsafe` may stand; that each says why is for clippy.

use crate::code::{blanked, line_of, word_offsets};

const ALLOWED: &[&str] = &[
    "crates/core/sys/",
    "crates/extras/explain/",
    "crates/extras/features/src/kernel/",
    // Mapped memory and the submission queue.
    "crates/core/journal/src/map.rs",
    "crates/core/journal/src/ring.rs",
    "crates/engines/queue/src/map.rs",
    // A library that is found when the program runs, and memory that it writes.
    "crates/extras/ranks/src/library.rs",
    // Exception: instructions of the processor.
    "crates/engines/queue/src/crc.rs",
    // Exception: F_OFD_SETLK of fcntl(2), which rustix lacks.
    "crates/engines/queue/src/seat_lock.rs",
    // Exception: sync_file_range(2), which rustix lacks, in a crate that others link without sys.
    "crates/core/journal/src/range_sync.rs",
    // Exception: a cell of the model checker is read and written through pointers.
    "crates/engines/queue/tests/model.rs",
    // Exception: tests count allocations; GlobalAlloc is an unsafe trait.
    "crates/dev/testkit/src/counting.rs",
    // Exception: what a test starts gets default signals between fork and exec.
    "crates/dev/testkit/src/signals.rs",
];

pub fn breaches(path: &str, source: &str) -> Vec<String> {
    if ALLOWED.iter().any(|allowed| path.starts_with(allowed)) {
        return Vec::new();
    }
    let text = blanked(source);
    let places = ALLOWED.join(", ");
    let found = word_offsets(&text, "unsafe").map(|at| line_of(&text, at));
    found.map(|line| format!("line {line}: unsafe may stand only in {places}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_outside_its_places_is_found() {
        let source = "// SAFETY: never.\nunsafe { f() }\n";
        assert!(breaches("crates/core/sys/src/ioctl.rs", source).is_empty());
        assert_eq!(breaches("crates/core/lab/src/trial.rs", source).len(), 1);
        let named = "#![allow(unsafe_code)] // unsafe\n";
        assert!(breaches("crates/core/lab/src/trial.rs", named).is_empty());
    }
}
