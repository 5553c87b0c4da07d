use std::sync::OnceLock;

use pickfs_record::{CallsRecord, StallRecord};

#[derive(Debug, Clone, Copy)]
pub struct Watching {
    /// Calls above this are explained, in nanoseconds; none where nothing is.
    pub stalls_above_ns: Option<u64>,
}

#[derive(Debug)]
pub struct Seen {
    pub calls: CallsRecord,
    pub stalls: Option<StallRecord>,
}

/// Begins to watch the calls on files of what this thread starts from now on, and gives what ends it: an extra.
pub type Watch = fn(Watching) -> Result<Ending, String>;
pub type Ending = Box<dyn FnOnce() -> Seen>;

static WATCH: OnceLock<Watch> = OnceLock::new();

/// From now on calls are watched by this.
pub fn add(watch: Watch) {
    let _ = WATCH.set(watch);
}

pub(super) fn watch(watching: Watching) -> Result<Ending, String> {
    let watch = WATCH.get().ok_or("calls not watched: build pickfs with its feature explain")?;
    watch(watching)
}
