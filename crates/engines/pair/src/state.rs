//! What a node knows beside its messages: which pair it belongs to, its number, the highest epoch that it has
//! promised to follow, and when each epoch began.
//!
//! ```text
//! pickfs-pair 1
//! identity 9f0c2e6a11d04b7e
//! node 2
//! epoch 2.2.1            term, node and start
//! began 1.1.1 1          this epoch began with message 1
//! began 2.2.1 1042
//! crc32c 5b1e0c77        of all lines above
//! ```
//!
//! The file is written anew beside itself, synced, and renamed, so a crash leaves the old or the new one. A new
//! epoch is in it, on the disk, before anything is done in its name.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::epoch::{Begin, Epoch};
use crate::error::{Error, Result};

const STATE: &str = "pair.state";
const LOCK: &str = "pair.lock";
const FIRST_LINE: &str = "pickfs-pair 1";
/// Epochs that are remembered; a node that is further behind is not known any more.
const BEGINS_MAX: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Of the pair; 0 before the node has met a primary.
    pub identity: u64,
    pub node: u8,
    /// Highest one that it has promised to follow.
    pub epoch: Epoch,
    pub history: Vec<Begin>,
}

/// Locked against other processes while this lives.
#[derive(Debug)]
pub(crate) struct NodeDir {
    dir: PathBuf,
    _lock: File,
    pub(crate) state: State,
}

impl NodeDir {
    pub(crate) fn open(dir: &Path, node: u8) -> Result<NodeDir> {
        if node == 0 {
            return Err(Error::Option { option: "node", value: 0, allowed: "1 to 255" });
        }
        fs::create_dir_all(dir).map_err(Error::io("create", dir.display()))?;
        let lock = lock(dir)?;
        let state = match read(dir)? {
            Some(state) if state.node == node => state,
            Some(state) => {
                let reason = format!("it is of node {}, and node {node} was asked", state.node);
                return Err(Error::State { path: dir.join(STATE), reason });
            }
            None => State { identity: 0, node, epoch: Epoch::NONE, history: Vec::new() },
        };
        let mut opened = NodeDir { dir: dir.to_path_buf(), _lock: lock, state: state.clone() };
        opened.keep(state)?;
        Ok(opened)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn store_dir(&self) -> PathBuf {
        store_dir(&self.dir)
    }

    /// On the disk when this returns.
    pub(crate) fn keep(&mut self, mut state: State) -> Result<()> {
        let surplus = state.history.len().saturating_sub(BEGINS_MAX);
        state.history.drain(..surplus);
        let path = self.dir.join(STATE);
        write(&self.dir, &state).map_err(Error::io("write", path.display()))?;
        self.state = state;
        Ok(())
    }
}

pub(crate) fn store_dir(dir: &Path) -> PathBuf {
    dir.join("store")
}

fn lock(dir: &Path) -> Result<File> {
    let path = dir.join(LOCK);
    let failed = || Error::io("lock", path.display());
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(failed())?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::Busy { dir: dir.to_path_buf() }),
        Err(error) => Err(failed()(error.into())),
    }
}

pub(crate) fn is_open(dir: &Path) -> bool {
    matches!(lock(dir), Err(Error::Busy { .. }))
}

/// `None` where there is none.
pub fn read(dir: &Path) -> Result<Option<State>> {
    let path = dir.join(STATE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", path.display())(error)),
    };
    parse(&text).map(Some).map_err(|reason| Error::State { path, reason })
}

fn write(dir: &Path, state: &State) -> io::Result<()> {
    let fresh = dir.join(format!("{STATE}.new"));
    let mut file = File::create(&fresh)?;
    file.write_all(text(state).as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, dir.join(STATE))?;
    File::open(dir)?.sync_all()
}

fn text(state: &State) -> String {
    let mut text = format!(
        "{FIRST_LINE}\nidentity {:016x}\nnode {}\nepoch {}\n",
        state.identity, state.node, state.epoch
    );
    for begin in &state.history {
        text.push_str(&format!("began {} {}\n", begin.epoch, begin.first_sequence));
    }
    let checksum = crc32c::crc32c(text.as_bytes());
    text.push_str(&format!("crc32c {checksum:08x}\n"));
    text
}

fn parse(text: &str) -> std::result::Result<State, String> {
    let (lines, checksum) =
        text.rsplit_once("crc32c ").ok_or("its last line is no checksum: it was cut")?;
    let expected = format!("{:08x}\n", crc32c::crc32c(lines.as_bytes()));
    if checksum != expected {
        return Err("its checksum is wrong".into());
    }
    let mut lines = lines.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Err(format!("its first line is not `{FIRST_LINE}`: another format"));
    }
    let mut state = State { identity: 0, node: 0, epoch: Epoch::NONE, history: Vec::new() };
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        take(&mut state, &words).ok_or_else(|| format!("line `{line}` is not understood"))?;
    }
    Ok(state)
}

fn take(state: &mut State, words: &[&str]) -> Option<()> {
    match words {
        ["identity", word] => state.identity = u64::from_str_radix(word, 16).ok()?,
        ["node", word] => state.node = word.parse().ok()?,
        ["epoch", word] => state.epoch = Epoch::parse(word)?,
        ["began", word, first] => {
            let begin = Begin { epoch: Epoch::parse(word)?, first_sequence: first.parse().ok()? };
            state.history.push(begin);
        }
        _ => return None,
    }
    Some(())
}

// The promotion of a node that runs, asked for by another process of its host: a file in its directory. Whoever may
// write there may promote; nobody can over the network.

const LOOK_EACH: Duration = Duration::from_millis(5);

fn wish(dir: &Path) -> PathBuf {
    dir.join("pair.promote")
}

pub(crate) fn is_asked(dir: &Path) -> bool {
    wish(dir).exists()
}

pub(crate) fn promotion_is_done(dir: &Path) {
    // One that stays would promote a node that is promoted already.
    let _ = fs::remove_file(wish(dir));
}

/// A secondary that runs there is asked, one that does not run goes by [`crate::promote`]. Gives
/// the epoch that it then has; [`Error::Busy`] when that was not done in time.
/// Nobody else is asked. Promote the node with the latest epoch and, among those, the most
/// messages (`pickfs-pair status`), and only when the old primary is gone or must go.
pub fn request_promotion(dir: &Path, timeout: Duration) -> Result<Epoch> {
    let before = epoch(dir)?;
    if !is_open(dir) {
        return crate::promote(dir);
    }
    let path = wish(dir);
    fs::write(&path, b"").map_err(Error::io("write", path.display()))?;
    let began = Instant::now();
    while began.elapsed() < timeout {
        let now = epoch(dir)?;
        if now > before && !path.exists() {
            return Ok(now);
        }
        thread::sleep(LOOK_EACH);
    }
    promotion_is_done(dir);
    Err(Error::Busy { dir: dir.to_path_buf() })
}

fn epoch(dir: &Path) -> Result<Epoch> {
    match read(dir)? {
        Some(state) => Ok(state.epoch),
        None => {
            Err(Error::State { path: dir.to_path_buf(), reason: "there is no node here".into() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let (one, two) = (Epoch::NONE.promoted(1), Epoch::NONE.promoted(1).promoted(2));
        let begin = |epoch, first_sequence| Begin { epoch, first_sequence };
        let history = vec![begin(one, 1), begin(two, 1042)];
        State { identity: 0x9f0c_2e6a_11d0_4b7e, node: 2, epoch: two, history }
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        assert_eq!(parse(&text(&state())), Ok(state()));
    }

    #[test]
    fn any_changed_or_missing_byte_is_refused() {
        let text = text(&state());
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert!(parse(&String::from_utf8_lossy(&bytes)).is_err(), "byte {at}");
            assert!(parse(&text[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_node_has_one_process_and_keeps_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let mut open = NodeDir::open(dir.path(), 2).unwrap();
        assert!(matches!(NodeDir::open(dir.path(), 2), Err(Error::Busy { .. })));
        assert!(is_open(dir.path()));
        open.keep(state()).unwrap();
        drop(open);
        assert!(!is_open(dir.path()));
        assert!(matches!(NodeDir::open(dir.path(), 3), Err(Error::State { .. })));
        assert_eq!(NodeDir::open(dir.path(), 2).unwrap().state, state());
        assert!(matches!(NodeDir::open(dir.path(), 0), Err(Error::Option { .. })));
    }
}
