//! The promotion of a node that runs, asked for by another process of its host: a file in its directory. Whoever may
//! write there may promote; nobody can over the network.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use crate::epoch::Epoch;
use crate::error::{Error, Result};
use crate::state;

const LOOK_EACH: Duration = Duration::from_millis(5);

fn path(dir: &Path) -> PathBuf {
    dir.join("pair.promote")
}

pub(crate) fn is_asked(dir: &Path) -> bool {
    path(dir).exists()
}

pub(crate) fn done(dir: &Path) {
    // One that stays would promote a node that is promoted already.
    let _ = fs::remove_file(path(dir));
}

/// A secondary that runs there is asked, one that does not run goes by [`crate::promote`]. Gives
/// the epoch that it then has; [`Error::Busy`] when that was not done in time.
/// Nobody else is asked. Promote the node with the latest epoch and, among those, the most
/// messages (`pickfs-pair status`), and only when the old primary is gone or must go.
pub fn request_promotion(dir: &Path, timeout: Duration) -> Result<Epoch> {
    let before = epoch(dir)?;
    if !state::is_open(dir) {
        return crate::promote(dir);
    }
    let path = path(dir);
    fs::write(&path, b"").map_err(Error::io("write", path.display()))?;
    let began = Instant::now();
    while began.elapsed() < timeout {
        let now = epoch(dir)?;
        if now > before && !path.exists() {
            return Ok(now);
        }
        thread::sleep(LOOK_EACH);
    }
    done(dir);
    Err(Error::Busy { dir: dir.to_path_buf() })
}

fn epoch(dir: &Path) -> Result<Epoch> {
    match state::read(dir)? {
        Some(state) => Ok(state.epoch),
        None => {
            Err(Error::State { path: dir.to_path_buf(), reason: "there is no node here".into() })
        }
    }
}
