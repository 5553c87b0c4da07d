//! Recorded traffic: when messages came and how long they were, from a CSV, a pcap, or a journal.

mod csv;
mod pcap;

use std::{fs, path::Path};

use crate::fault::Fault;

/// Largest file that is read: a recording lives in memory while it is replayed.
const FILE_BYTES_MAX: u64 = 2 << 30;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// Nanoseconds from the first message, ascending.
    pub offsets_ns: Vec<u64>,
    pub sizes_bytes: Vec<u32>,
}

const EMPTY: &str = "it holds no message; give a recording with at least one";

impl Recording {
    /// Reads a file (CSV or pcap, told by its first bytes) or the directory of a journal.
    pub fn read(path: &Path) -> Result<Recording, Fault> {
        let metadata = fs::metadata(path).map_err(Fault::io("open the recording", path))?;
        if metadata.is_dir() {
            return crate::journal::recording(path);
        }
        if metadata.len() > FILE_BYTES_MAX {
            let reason = format!("recording {} is over 2 GiB; cut it", path.display());
            return Err(Fault::Failed { reason });
        }
        let bytes = fs::read(path).map_err(Fault::io("read the recording", path))?;
        let parsed =
            if pcap::is_pcap(&bytes) { Self::from_pcap(&bytes) } else { Self::from_csv(&bytes) };
        parsed.map_err(|error| Fault::Failed {
            reason: format!("recording {}: {error}", path.display()),
        })
    }

    /// The first line may name the columns, and the ending of the first name is the unit of
    /// time: `time_ns`, `time_us`, `time_ms`, `time_s`; else seconds.
    pub fn from_csv(bytes: &[u8]) -> Result<Recording, String> {
        Recording::from_messages(csv::messages(bytes)?)
    }

    /// A message is the payload of a TCP or UDP packet; packets without are left out.
    pub fn from_pcap(bytes: &[u8]) -> Result<Recording, String> {
        Recording::from_messages(pcap::messages(bytes)?)
    }

    pub fn from_messages(messages: Vec<(u64, u32)>) -> Result<Recording, String> {
        let Some(&(first_ns, _)) = messages.first() else { return Err(EMPTY.into()) };
        if let Some(at) = messages.windows(2).position(|pair| pair[1].0 < pair[0].0) {
            let number = at + 2;
            return Err(format!(
                "message {number} comes before the one ahead of it; sort the recording by time"
            ));
        }
        Ok(Recording {
            offsets_ns: messages.iter().map(|(time_ns, _)| time_ns - first_ns).collect(),
            sizes_bytes: messages.iter().map(|(_, bytes)| *bytes).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_that_go_back_are_named() {
        let error = Recording::from_csv(b"1,5\n3,5\n2,5\n").unwrap_err();
        assert!(error.starts_with("message 3 comes before"), "{error}");
        assert_eq!(Recording::from_csv(b"time,bytes\n"), Err(EMPTY.into()));
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_parser_panic(bytes: Vec<u8>) {
            let _ = Recording::from_csv(&bytes);
            let _ = Recording::from_pcap(&bytes);
        }

        #[test]
        fn no_packet_makes_the_parser_panic(
            link in 0u32..120, body in proptest::collection::vec(any::<u8>(), 0..200)
        ) {
            let _ = Recording::from_pcap(&pcap::file_of(link, &[(1, 2, &body)]));
        }

        #[test]
        fn a_written_csv_reads_back(gaps in proptest::collection::vec((0u64..1 << 40, 1u32..1 << 20), 1..50)) {
            let mut now_ns = 0;
            let mut text = String::from("time_ns,bytes\n");
            let mut expected = Vec::new();
            for (gap_ns, bytes) in gaps {
                now_ns += gap_ns;
                text += &format!("{now_ns},{bytes}\n");
                expected.push((now_ns, bytes));
            }
            let recording = Recording::from_csv(text.as_bytes()).unwrap();
            prop_assert_eq!(recording, Recording::from_messages(expected).unwrap());
        }
    }
}
