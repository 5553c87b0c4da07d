//! A fault that the user makes, as a server that is killed and started again: we kill nobody.

use std::{
    ffi::OsString,
    io,
    path::Path,
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use pickfs_sys::program::{Ended, Launch, Program, Stream};

use crate::fault::Fault;

/// For the words themselves, behind the end of the measurement.
const LIMIT: Duration = Duration::from_secs(60);

/// It dies with the thread that started it, and that one with the trial.
pub(super) struct Making(Receiver<(Duration, io::Result<Ended>)>);

impl Making {
    /// `text` for `sh -c`, after so long.
    pub(super) fn begin(text: &str, directory: &Path, after: Duration) -> Making {
        let words = ["sh", "-c", text].map(OsString::from);
        let directory = directory.to_owned();
        let (told, heard) = channel();
        thread::spawn(move || {
            thread::sleep(after);
            let began = Instant::now();
            let launch =
                Launch { words: &words, directory: &directory, account: None, variables: &[] };
            let ended = Program::start(&launch, [Stream::Null, Stream::Null, Stream::Null]);
            let ended = ended.and_then(Program::wait);
            let _ = told.send((began.elapsed(), ended));
        });
        Making(heard)
    }

    /// How long it took, and how it ended.
    pub(super) fn end(self) -> Result<(Duration, String), Fault> {
        let failed = |what: String| Fault::Failed { reason: format!("fault: {what}") };
        let heard = self.0.recv_timeout(LIMIT);
        let (took, ended) = heard.map_err(|_| {
            failed(format!("it goes on {LIMIT:?} after the measurement; give words that end"))
        })?;
        let ended = ended.map_err(|error| failed(format!("sh not started: {error}")))?;
        let how = match (ended.signal, ended.code) {
            (Some(signal), _) => format!("signal {signal}"),
            (None, code) => format!("exit code {}", code.unwrap_or(-1)),
        };
        Ok((took, how))
    }
}
