//! The line to one host: the program that carries it, what comes and what goes. Nothing here waits without an end.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel},
    thread,
    time::Duration,
};

use pickfs_sys::{ended::ended_within, last_words::LastWords};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::spoken::{GREETING_BYTES_MAX, LINE_BYTES_MAX, Said};

/// Lines that wait for somebody; a host that says more is slowed down.
const LINES_WAITING: usize = 4;
const CHUNK_BYTES: u64 = 256 << 10;
/// For a program that closed its line, to end, and for its last words to be read.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

pub(crate) enum Part {
    Said(Said),
    /// More of the file.
    More,
    /// All of the file is there.
    Whole,
    Broken(String),
    Closed,
}

pub(crate) struct Line {
    program: String,
    child: Child,
    to: Option<Sender<Vec<u8>>>,
    from: Receiver<Part>,
    last_words: LastWords,
}

impl Line {
    /// A group of its own: a key on our terminal is not for it. The host's file goes where `file` says.
    pub(crate) fn open(mut command: Command, file: PathBuf, bytes_max: u64) -> io::Result<Line> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.process_group(0).spawn()?;
        let (to, lines) = channel::<Vec<u8>>();
        let (parts, from) = sync_channel(LINES_WAITING);
        let last_words = LastWords::of(child.stderr.take());
        // They end with the program, and nobody waits for them long: a child of its own may hold its streams.
        if let Some(mut input) = child.stdin.take() {
            thread::spawn(move || lines.iter().try_for_each(|line| input.write_all(&line)));
        }
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                let end = match read(output, &file, bytes_max, &parts) {
                    Ok(true) => Part::Whole,
                    Ok(false) => Part::Closed,
                    Err(why) => Part::Broken(why),
                };
                drop(parts.send(end));
            });
        }
        Ok(Line { program, child, to: Some(to), from, last_words })
    }

    pub(crate) fn say(&self, line: Vec<u8>) {
        self.to.iter().for_each(|to| drop(to.send(line.clone())));
    }

    /// The host is to end in order, and may send its file.
    pub(crate) fn hang_up(&mut self) {
        self.to = None;
    }

    /// Nothing where nothing came within that time.
    pub(crate) fn next(&self, within: Duration) -> Option<Part> {
        match self.from.recv_timeout(within) {
            Ok(part) => Some(part),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Part::Closed),
        }
    }

    pub(crate) fn is_over_within(&self, time: Duration) -> bool {
        ended_within(&self.child, time).is_some()
    }

    /// How the program ended that closed its line, with what it said last.
    pub(crate) fn ending(&self) -> String {
        let ended = ended_within(&self.child, ENDS_WITHIN);
        let how = match ended.map(|ended| (ended.exit_status(), ended.terminating_signal())) {
            Some((Some(code), _)) => format!("{} ended with code {code}", self.program),
            Some((_, Some(signal))) => format!("{} was ended by signal {signal}", self.program),
            _ => format!("{} closed the line", self.program),
        };
        self.last_words.behind(&how, ": ", ENDS_WITHIN)
    }

    pub(crate) fn with_last_words(&self, how: &str) -> String {
        self.last_words.behind(how, ": ", Duration::ZERO)
    }
}

/// A program that nobody wants goes with all that it started.
impl Drop for Line {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        self.is_over_within(ENDS_WITHIN);
        let _ = self.child.try_wait();
    }
}

/// Passes lines on until the file is there (true) or the line is over; what is no line of ours breaks it.
fn read(
    output: impl Read,
    file: &Path,
    bytes_max: u64,
    to: &SyncSender<Part>,
) -> Result<bool, String> {
    let mut output = BufReader::new(output);
    // Before its hello a host may print what its login prints.
    let mut greeting_bytes = Some(0);
    loop {
        let mut line = Vec::new();
        let read = (&mut output).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if line.len() as u64 == LINE_BYTES_MAX {
            return Err(format!("it sent a line of over {} MiB", LINE_BYTES_MAX >> 20));
        }
        if read.is_err() || !line.ends_with(b"\n") {
            return Ok(false);
        }
        match (serde_json::from_slice(&line), &mut greeting_bytes) {
            (Ok(Said::File { bytes }), _) if bytes > bytes_max => {
                let [mib, most] = [bytes, bytes_max].map(|bytes| bytes >> 20);
                return Err(format!(
                    "its run of {mib} MiB stays there: {most} MiB are taken at most"
                ));
            }
            (Ok(Said::File { bytes }), _) => return receive(&mut output, bytes, file, to),
            (Ok(said), _) => {
                greeting_bytes = None;
                if to.send(Part::Said(said)).is_err() {
                    return Ok(false);
                }
            }
            (Err(_), Some(bytes)) if *bytes + line.len() <= GREETING_BYTES_MAX => {
                *bytes += line.len();
            }
            (Err(why), _) => return Err(format!("it sent a line that is none of pickfs: {why}")),
        }
    }
}

fn receive(
    from: &mut impl Read,
    bytes: u64,
    path: &Path,
    to: &SyncSender<Part>,
) -> Result<bool, String> {
    let failed = |why: io::Error| format!("its run cannot be written to {}: {why}", path.display());
    let mut left = bytes;
    // Where nobody listens any more no file is begun.
    let mut is_heard = to.send(Part::More).is_ok();
    let mut file =
        if is_heard { File::create_new(path).map_err(failed)? } else { return Ok(false) };
    while left > 0 && is_heard {
        let chunk = &mut from.take(left.min(CHUNK_BYTES));
        let count = io::copy(chunk, &mut file).map_err(failed)?;
        if count == 0 {
            return Err(format!("its run broke off, {left} of {bytes} bytes before its end"));
        }
        left -= count;
        is_heard = to.send(Part::More).is_ok();
    }
    Ok(is_heard)
}
