//! What the lab tells rank 0 on the launcher's standard input, and what it answers on its standard output: JSON, one message a
//! line. A launcher and its host may print there too, so that a line of ours begins with a mark.

use std::{
    io::{BufRead, Read, Write},
    path::PathBuf,
    time::Duration,
};

use pickfs_lab::ranks::ReadBack;
use pickfs_record::TrialSpec;
use serde::{Deserialize, Serialize};

use crate::clock::Bounds;

const MARK: &str = "pickfs-rank ";
/// What one lane says of a trial is some megabytes.
const LINE_BYTES_MAX: u64 = 256 << 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub(crate) enum ToRanks {
    /// The first word.
    Order(Order),
    /// Of every lane: each puts in its own number. None where nothing is to be measured.
    Trial {
        spec: Box<TrialSpec>,
    },
    Go,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) patience_s: f64,
    pub(crate) folder: Option<SharedFolder>,
    pub(crate) task: Task,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Task {
    /// So many times all begin together, and nothing else is done.
    Starts(u32),
    /// Each host settles before it, for so long at most.
    Trial { settle_s: f64 },
}

impl Order {
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.patience_s.clamp(1.0, 86_400.0))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SharedFolder {
    pub(crate) path: PathBuf,
    /// Stands in a file there.
    pub(crate) token: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum FromRanks {
    Present {
        mpi: String,
        ranks: Vec<RankFacts>,
    },
    /// How far apart they began, each time.
    Started {
        skews_ns: Vec<u64>,
    },
    Said {
        lane: u32,
        line: String,
    },
    /// By rank: its clock at the end of the trial, together with the bounds of its beginning.
    Clocks {
        bounds: Vec<Bounds>,
    },
    Read(ReadBack),
    /// Nothing follows.
    Ended,
    Failed {
        reason: String,
    },
}

/// What a rank says of itself and of where it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RankFacts {
    /// As rank 0 names it, once it has: two hosts may have one name, and their kernels were booted apart.
    pub(crate) host: String,
    pub(crate) boot: String,
    pub(crate) kernel: String,
    pub(crate) build: String,
    pub(crate) bounds: Bounds,
    pub(crate) folder: FolderSeen,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FolderSeen {
    pub(crate) fs_type: String,
    pub(crate) source: String,
    /// Why it is not the one of the others.
    pub(crate) problem: String,
}

/// `None` where it cannot be written: whoever reads is gone.
pub(crate) fn send(message: &impl Serialize, mark: bool, to: &mut impl Write) -> Option<()> {
    let mut line = if mark { MARK.as_bytes().to_vec() } else { Vec::new() };
    serde_json::to_writer(&mut line, message).ok()?;
    line.push(b'\n');
    to.write_all(&line).and_then(|()| to.flush()).ok()
}

pub(crate) fn tell(message: &FromRanks, to: &mut impl Write) {
    // A lab that is gone shows as the end of the input.
    let _ = send(message, true, to);
}

#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    Message(FromRanks),
    /// Of somebody else.
    Other(String),
}

/// `None` at the end, in the middle of a line too.
pub(crate) fn receive(from: &mut impl BufRead) -> Option<Line> {
    let mut line = Vec::new();
    let read = from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
    if read.is_err() || line.pop() != Some(b'\n') {
        return None;
    }
    let text = String::from_utf8_lossy(&line).into_owned();
    // What somebody else printed last may have had no end.
    let Some((_, message)) = text.split_once(MARK) else { return Some(Line::Other(text)) };
    if !message.starts_with('{') {
        return Some(Line::Other(text));
    }
    Some(Line::Message(serde_json::from_str(message).unwrap_or_else(|error| FromRanks::Failed {
        reason: format!("a word of rank 0 came damaged: {error}"),
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_lines_are_found_among_those_of_others() {
        let said = FromRanks::Said { lane: 3, line: "a \"b\"".into() };
        let mut bytes = b"WARNING: a launcher's\nno end of line: ".to_vec();
        tell(&said, &mut bytes);
        bytes.extend(b"pickfs-rank {\"event\":\"unheard\"}\n");
        tell(&FromRanks::Ended, &mut bytes);
        bytes.extend(b"pickfs-rank {\"event\":\"ended\"}");
        let mut all = bytes.as_slice();
        let lines: Vec<Line> = std::iter::from_fn(|| receive(&mut all)).collect();
        assert_eq!(lines[0], Line::Other("WARNING: a launcher's".into()));
        assert_eq!(lines[1], Line::Message(said));
        let damaged = |line: &Line| matches!(line, Line::Message(FromRanks::Failed { reason }) if reason.contains("damaged"));
        assert!(damaged(&lines[2]), "{:?}", lines[2]);
        assert_eq!(lines[3..], [Line::Message(FromRanks::Ended)], "a line without its end is none");
    }
}
