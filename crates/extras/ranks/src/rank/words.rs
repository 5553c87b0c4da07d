//! What rank 0 hears from the lab and says to it; the other ranks say nothing there.

use std::{
    io::{self, BufRead, Read},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use pickfs_workload::BUILD;

use crate::{
    error::RanksError,
    group::Group,
    message::{FromRanks, ToRanks, tell},
};

use super::watch::go;

/// From the start of the first rank to the order, and to its arrival at the last one.
pub(crate) const FIRST_WORD: Duration = Duration::from_secs(120);
/// A plan with a workload's parameters.
const LINE_BYTES_MAX: u64 = 16 << 20;

pub(super) struct Words(Option<Receiver<String>>);

impl Words {
    pub(super) fn new(is_first: bool) -> Words {
        Words(is_first.then(listen))
    }

    /// `None` at all ranks but the first.
    pub(super) fn hear(&self) -> Result<Option<String>, RanksError> {
        let Some(heard) = &self.0 else { return Ok(None) };
        let silent = |_| RanksError::Told(format!("the lab said nothing for {FIRST_WORD:?}"));
        heard.recv_timeout(FIRST_WORD).map(Some).map_err(silent)
    }

    /// The lab's next word, at all ranks.
    pub(super) fn shared(&self, group: &Group<'_>) -> Result<ToRanks, RanksError> {
        let shared = group.share(self.hear()?.map(String::into_bytes))?;
        serde_json::from_slice(&shared).map_err(|error| {
            RanksError::Told(format!(
                "build {BUILD} of pickfs does not understand the lab's word ({error}); install the same build on every host"
            ))
        })
    }

    pub(super) fn tell(&self, what: &FromRanks) {
        if self.0.is_some() {
            tell(what, &mut io::stdout().lock());
        }
    }
}

/// Goes with the lab: with nobody to tell, nothing is measured.
fn listen() -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lock();
        loop {
            let mut line = String::new();
            match (&mut lines).take(LINE_BYTES_MAX).read_line(&mut line) {
                Ok(1..) => drop(sender.send(line)),
                _ => go(),
            }
        }
    });
    receiver
}

/// The launcher hands it to the lab, which tells the last of it when a rank ends without a word.
pub(super) fn complain(host: &str, what: &str) {
    eprintln!("pickfs: {host}: {what}");
}
