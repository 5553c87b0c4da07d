//! Waiting in tests: for a state, never for a time.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Longest time for one step of a test: far more than it takes on a busy machine, and less than the silence
/// after which `test-watch` ends the whole program.
pub const PATIENCE: Duration = Duration::from_secs(180);
const LOOK_EACH: Duration = Duration::from_millis(2);

/// Panics when the step takes longer than [`PATIENCE`]: it is named.
#[track_caller]
pub fn until<T>(step: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited {} s in vain for: {step}", PATIENCE.as_secs());
        thread::sleep(LOOK_EACH);
    }
}
