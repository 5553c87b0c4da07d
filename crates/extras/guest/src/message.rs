//! What the lab tells the first program of a guest, and what that answers, with the lanes' own lines: JSON, one message
//! a line, on a port of a virtio console that nothing else writes to.

use std::io::{self, BufRead, Read, Write};

use pickfs_record::{Action, Environment};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Lanes say their histograms in one, as those under ranks do.
const MESSAGE_BYTES_MAX: u64 = 256 << 20;
/// Of what is no message, in a reason.
const TOLD_BYTES_MAX: usize = 300;

/// Of a lane, in [`FromGuest::LaneEnded`].
pub const ENDED_WELL: &str = "exit code 0";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum ToGuest {
    /// What calls, clock and memory cost.
    Calibrate,
    /// Nothing is mounted yet, or no more.
    Mount(Box<Order>),
    StartLanes {
        count: u16,
        /// Behind `worker`, where this program is to do something else than a trial.
        #[serde(default)]
        words: Vec<String>,
    },
    /// To a lane's standard input.
    Say {
        lane: u16,
        line: String,
    },
    /// Nothing of the mount is open.
    Cool,
    Unmount,
    End,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The file system's name in the table.
    #[serde(default)]
    pub fs: String,
    /// In the order of loading.
    pub modules: Vec<String>,
    /// `None` for what lives in memory.
    pub disk: Option<String>,
    /// Where only the guest can do so; it is not mounted then.
    #[serde(default)]
    pub make: Vec<Action>,
    pub mount: Vec<Action>,
    pub unmount: Vec<Action>,
    pub at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum FromGuest {
    Booted {
        build: String,
        kernel: String,
    },
    ModulesLoaded,
    /// `guest.*`
    Calibrated {
        facts: Environment,
    },
    Mounted {
        /// `mount.*`, as the guest's kernel says.
        facts: Environment,
    },
    /// On a lane's standard output.
    Said {
        lane: u16,
        line: String,
    },
    /// On its standard error.
    Complained {
        lane: u16,
        line: String,
    },
    LaneEnded {
        lane: u16,
        /// `exit code 0`, `signal 9`.
        how: String,
    },
    Cooled,
    Unmounted,
    Ended,
    /// Nothing follows.
    Failed {
        reason: String,
    },
}

pub fn send(message: &impl Serialize, to: &mut impl Write) -> io::Result<()> {
    let line = serde_json::to_string(message)? + "\n";
    to.write_all(line.as_bytes()).and_then(|()| to.flush())
}

/// `None` at the end of the stream, even in the middle of a line: who wrote it is dead.
pub fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> Option<Result<T, String>> {
    received(from, MESSAGE_BYTES_MAX)
}

fn received<T: DeserializeOwned>(
    from: &mut impl BufRead,
    bytes_max: u64,
) -> Option<Result<T, String>> {
    let mut line = Vec::new();
    let read = from.by_ref().take(bytes_max).read_until(b'\n', &mut line);
    // A longer one is cut, and none.
    let is_whole = read.is_ok() && (line.ends_with(b"\n") || line.len() as u64 == bytes_max);
    let text = String::from_utf8_lossy(&line[..line.len().min(TOLD_BYTES_MAX)]);
    let wrong = |error| format!("`{}` is no message: {error}", text.trim_end());
    is_whole.then(|| serde_json::from_slice(&line).map_err(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were_sent_and_a_cut_one_is_the_end() {
        let sent = [ToGuest::Cool, ToGuest::Say { lane: 3, line: "a \"b\"\nc".into() }];
        let mut bytes = Vec::new();
        sent.iter().for_each(|message| send(message, &mut bytes).unwrap());
        let mut all = bytes.as_slice();
        assert_eq!(sent.clone().map(|_| receive(&mut all).unwrap()), sent.map(Ok));
        assert_eq!(receive::<ToGuest>(&mut all), None);
        assert_eq!(receive::<ToGuest>(&mut &bytes[..10]), None);
        let cut = received::<ToGuest>(&mut bytes.as_slice(), 5).unwrap();
        assert!(cut.unwrap_err().starts_with("`{\"do\"` is no message"));
        let strange = receive::<ToGuest>(&mut b"printk: lost\n".as_slice()).unwrap();
        assert!(strange.unwrap_err().starts_with("`printk: lost` is no message"));
    }
}
