//! Any program as a writer: each line that it says is a promise. A line counts from the moment at which it was read, a
//! little after it was said, so that nothing is due too early.

use std::{
    cell::Cell,
    fs::File,
    io::{ErrorKind, Read, Seek, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitStatus},
    time::{Duration, Instant},
};

use pickfs_record::quantity::span_text;
use pickfs_sys::ended::ended_within;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{MemfdFlags, memfd_create},
    pipe::{PipeFlags, pipe_with},
    process::{Pid, Signal, kill_process_group},
};

pub(crate) const CHECK_PATIENCE: Duration = Duration::from_secs(60);
/// Of one that was killed. Where a check waits for its disk, that is taken away before.
const KILLED_WITHIN: Duration = Duration::from_secs(180);
/// Of a line that is kept; the rest of it promises nothing.
const LINE_BYTES_MAX: usize = 4096;
const LINES_MAX: usize = 1 << 20;
/// So often it is asked whether to go on.
const LOOK_EACH: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// What is run in a folder, in a group of its own: Ctrl-C is for the session.
pub(crate) struct Program<'a> {
    pub(crate) words: &'a [String],
    pub(crate) folder: &'a Path,
    /// On its standard input.
    pub(crate) input: &'a str,
    pub(crate) acknowledged: u64,
    /// Until its next line, or from the last one to its end.
    pub(crate) silence: Duration,
    /// Until its end.
    pub(crate) longest: Duration,
}

/// `told` gets each line that it says, of standard error too where it is a check; `is_stopped` is asked while there is
/// none. What it started and left in its group is ended with it.
///
/// # Errors
/// In words: it was not run, was stopped, took too long, or said too much.
pub(crate) fn run(
    program: &Program<'_>,
    is_check: bool,
    told: &mut dyn FnMut(String),
    is_stopped: &dyn Fn() -> bool,
) -> Result<ExitStatus, String> {
    let (name, arguments) = program.words.split_first().ok_or("no command was named")?;
    let refused = |error: std::io::Error| format!("`{name}` was not run: {error}");
    let input = in_memory(program.input).map_err(refused)?;
    let (out, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| refused(error.into()))?;
    let mut command = Command::new(name);
    command.args(arguments).current_dir(program.folder).process_group(0).stdin(input);
    command.env("PICKFS_ACKNOWLEDGED", program.acknowledged.to_string());
    if is_check {
        command.stderr(writer.try_clone().map_err(refused)?);
    }
    let spawned = command.stdout(writer).spawn();
    // It holds the pipe's other end, which would never end.
    drop(command);
    let mut child = spawned.map_err(refused)?;
    let (began, said) = (Instant::now(), Cell::new(Instant::now()));
    let text = |limit: Duration| span_text(limit.as_secs_f64());
    let (silence, longest) = (text(program.silence), text(program.longest));
    // What waits to be read was said while this program was perhaps stopped.
    let goes_on = |waits: bool| match (
        waits || said.get().elapsed() < program.silence,
        began.elapsed() < program.longest,
    ) {
        _ if is_stopped() => Err("interrupted".to_owned()),
        (true, true) => Ok(()),
        (_, false) if is_check => Err(format!("no end after {longest}")),
        (_, false) => Err(format!(
            "`{name}` did not end within {longest}; let it end, or allow more by --longest"
        )),
        (false, _) => Err(format!(
            "`{name}` said no whole line for {silence} and did not end; let it say one or end, or allow more by --silence"
        )),
    };
    let told = &mut |line: String| {
        said.set(Instant::now());
        told(line);
    };
    let mut heard = hear(&mut File::from(out), told, &goes_on, &child);
    // At the end of its output it may be at work still, and is waited for; else it is ended.
    while heard.is_ok() && ended_within(&child, Duration::from_millis(1)).is_none() {
        heard = goes_on(false);
    }
    // What it left behind, too, which would keep the file system from being unmounted.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    if ended_within(&child, KILLED_WITHIN).is_none() {
        return Err(format!("`{name}` cannot be ended: it waits for the disk"));
    }
    let status = child.wait().map_err(refused)?;
    heard.map(|()| status)
}

fn in_memory(text: &str) -> std::io::Result<File> {
    let mut file = File::from(memfd_create("pickfs-input", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

fn hear(
    out: &mut File,
    told: &mut dyn FnMut(String),
    goes_on: &dyn Fn(bool) -> Result<(), String>,
    child: &Child,
) -> Result<(), String> {
    let (mut line, mut piece, mut lines) = (Vec::new(), [0; 4096], 0);
    let mut tell = |line: &mut Vec<u8>| {
        told(String::from_utf8_lossy(&std::mem::take(line)).into_owned());
    };
    loop {
        let waiting = poll(&mut [PollFd::new(&*out, PollFlags::IN)], Some(&LOOK_EACH));
        let is_silent = waiting == Ok(0);
        goes_on(!is_silent)?;
        if is_silent {
            // Another program that it left behind may hold its output for ever.
            match ended_within(child, Duration::ZERO) {
                Some(_) => return Ok(()),
                None => continue,
            }
        }
        let count = match out.read(&mut piece) {
            Ok(0) if line.is_empty() => return Ok(()),
            Ok(0) => {
                tell(&mut line);
                return Ok(());
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            Err(error) => return Err(error.to_string()),
            Ok(count) => count,
        };
        for byte in &piece[..count] {
            if *byte == b'\n' {
                tell(&mut line);
                lines += 1;
            } else if line.len() < LINE_BYTES_MAX {
                line.push(*byte);
            }
        }
        if lines > LINES_MAX {
            return Err(format!("it said more than {LINES_MAX} lines"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(
        script: &str,
        limits_ms: [u64; 2],
        is_stopped: bool,
    ) -> (Vec<String>, Result<i32, String>) {
        let (dir, words) = (tempfile::tempdir().unwrap(), ["sh", "-c", script].map(String::from));
        let ([silence, longest], acknowledged) = (limits_ms.map(Duration::from_millis), 7);
        let (words, folder, input) = (&words[..], dir.path(), "in");
        let program = Program { words, folder, input, acknowledged, silence, longest };
        let mut lines = Vec::new();
        let status = run(&program, false, &mut |line| lines.push(line), &|| is_stopped);
        (lines, status.map(|status| status.code().unwrap()))
    }

    #[test]
    fn each_line_is_a_promise_and_what_is_left_behind_is_ended() {
        let script = "tail -f /dev/null >&- 2>&- & echo three";
        let (lines, status) = ran(script, [60_000; 2], false);
        assert_eq!((lines.join(" "), status), ("three".to_owned(), Ok(0)));
        assert_eq!(ran("tail -f /dev/null", [60_000; 2], true).1, Err("interrupted".into()));
    }

    #[test]
    fn one_that_says_nothing_more_and_does_not_end_is_named_and_ended() {
        for (script, said) in
            [("tail -f /dev/null", 0), ("echo 1; exec tail -f /dev/null >/dev/null", 1)]
        {
            let (lines, status) = ran(script, [2_000, 60_000], false);
            let error = status.unwrap_err();
            assert!(
                error.starts_with("`sh` said no whole line for 2 s and did not end"),
                "{error}"
            );
            assert_eq!(lines.len(), said, "{script}");
        }
        let (_, status) = ran("while echo 1; do sleep 0.05; done", [60_000, 1_000], false);
        assert!(status.unwrap_err().starts_with("`sh` did not end within 1 s"));
    }
}
