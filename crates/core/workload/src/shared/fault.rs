//! A fault that the user makes, as a server that is killed and started again: we kill nobody.

use std::{
    ffi::OsString,
    io,
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use pickfs_sys::program::{Ended, Launch, Program, Stream, adopt_orphans};

use crate::{command::end_strays, fault::Fault};

/// For the words themselves, behind the end of the measurement.
const LIMIT: Duration = Duration::from_secs(60);

/// It dies with the thread that started it, and that one with the trial.
pub(super) struct Making {
    heard: Receiver<(Duration, io::Result<Ended>)>,
    /// Once it is dropped, what has not begun does not begin.
    measurement: Sender<()>,
}

impl Making {
    /// `text` for `sh -c`, after so long.
    pub(super) fn begin(text: &str, directory: &Path, after: Duration) -> Result<Making, Fault> {
        adopt_orphans().map_err(Fault::io("adopt orphans by", "prctl"))?;
        let words = ["sh", "-c", text].map(OsString::from);
        let directory = directory.to_owned();
        let ((told, heard), (measurement, over)) = (channel(), channel());
        thread::spawn(move || {
            if over.recv_timeout(after) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            let began = Instant::now();
            let launch =
                Launch { words: &words, directory: &directory, account: None, variables: &[] };
            let ended = Program::start(&launch, [Stream::Null, Stream::Null, Stream::Null]);
            let ended = ended.and_then(Program::wait);
            let _ = told.send((began.elapsed(), ended));
        });
        Ok(Making { heard, measurement })
    }

    /// How long it took, and how it ended. What it leaves running here is ended.
    pub(super) fn end(self) -> Result<(Duration, String), Fault> {
        drop(self.measurement);
        let heard = self.heard.recv_timeout(LIMIT);
        end_strays()?;
        let failed = |what: String| Fault::Failed { reason: format!("fault: {what}") };
        let (took, ended) = heard.map_err(|error| match error {
            RecvTimeoutError::Disconnected => failed("the measurement ended before it".into()),
            RecvTimeoutError::Timeout => {
                failed(format!("it goes on {LIMIT:?} after the measurement; give words that end"))
            }
        })?;
        let ended = ended.map_err(|error| failed(format!("sh not started: {error}")))?;
        Ok((took, ended.how()))
    }
}
