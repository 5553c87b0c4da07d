//! A program of somebody else, run to its end: in its own process group, without descriptors of
//! ours, as another user if asked, and with what it used counted over all its processes.
//!
//! ```
//! use pickfs_sys::program::{Launch, Program};
//! use std::{path::Path, process::Stdio};
//! let words = ["sh".into(), "-c".into(), "exit 3".into()];
//! let launch = Launch { words: &words, directory: Path::new("/"), account: None, variables: &[] };
//! let program = Program::start(&launch, [Stdio::null(), Stdio::null(), Stdio::null()])?;
//! assert_eq!(program.wait()?.code, Some(3));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! What a process leaves behind comes to us ([`adopt_orphans`]) and is reaped by [`reap`], so that
//! nothing of a program is lost: neither its time nor its life.
//!
//! Source: wait4(2), waitid(2), prctl(2), `PR_SET_CHILD_SUBREAPER` (Linux 3.4), close_range(2)
//! (Linux 5.9; 5.11 for `CLOSE_RANGE_CLOEXEC`), proc_pid_io(5). The input and output of a process
//! count those of its children that it waited for (`wait_task_zombie` in `kernel/exit.c`).
#![allow(unsafe_code)]

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::account::Account;

/// What is started, and where.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// The program and its words.
    pub words: &'a [OsString],
    /// Its working directory.
    pub directory: &'a Path,
    /// Who it runs as; who we are when absent.
    pub account: Option<&'a Account>,
    /// Variables of its environment, beside ours.
    pub variables: &'a [(String, OsString)],
}

/// A program that runs.
#[derive(Debug)]
pub struct Program {
    child: Child,
}

/// How a process ended and what it used, with all its children that it waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// User CPU in nanoseconds.
    pub user_ns: u64,
    /// System CPU in nanoseconds.
    pub system_ns: u64,
    /// Largest resident memory of one of its processes, in bytes.
    pub resident_bytes_max: u64,
    /// What it read and wrote.
    pub input_output: InputOutput,
}

/// What processes read and wrote, as the kernel counts it: by calls, whatever stands behind the
/// descriptor, and by what went to a block device or is to go there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InputOutput {
    /// Bytes that read calls gave.
    pub read_bytes: u64,
    /// Bytes that write calls took.
    pub written_bytes: u64,
    /// Read calls.
    pub read_calls: u64,
    /// Write calls.
    pub write_calls: u64,
    /// Bytes fetched from block devices.
    pub device_read_bytes: u64,
    /// Bytes that made pages dirty, less those that were taken back before they were written.
    pub device_written_bytes: u64,
}

impl std::ops::AddAssign for InputOutput {
    fn add_assign(&mut self, other: InputOutput) {
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
        self.read_calls += other.read_calls;
        self.write_calls += other.write_calls;
        self.device_read_bytes += other.device_read_bytes;
        self.device_written_bytes += other.device_written_bytes;
    }
}

impl Program {
    /// Starts it; `streams` are its standard input, output and error.
    pub fn start(launch: &Launch<'_>, streams: [Stdio; 3]) -> io::Result<Program> {
        let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "no program to run");
        let (program, words) = launch.words.split_first().ok_or_else(nothing)?;
        let [stdin, stdout, stderr] = streams;
        let mut command = Command::new(program);
        command.args(words).current_dir(launch.directory).env("PWD", launch.directory);
        command.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PICKFS_") {
                command.env_remove(name);
            }
        }
        if let Some(account) = launch.account {
            command.env("HOME", &account.home).env("SHELL", &account.shell);
            command.env("USER", &account.name).env("LOGNAME", &account.name);
        }
        command.envs(launch.variables.iter().map(|(name, value)| (name, value)));
        let account = launch.account.cloned();
        let last_steps = move || become_program(account.as_ref());
        // SAFETY: the closure makes system calls only, and allocates nothing.
        unsafe { command.pre_exec(last_steps) };
        Ok(Program { child: command.spawn()? })
    }

    /// Its number, which is that of its process group too.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// What it says, where that was asked to be piped.
    pub fn streams(
        &mut self,
    ) -> (Option<std::process::ChildStdout>, Option<std::process::ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// Waits until it has ended; it is still there to be reaped. Whoever takes the time takes it when
    /// this returns.
    pub fn wait_for_end(&self) -> io::Result<()> {
        wait_without_reaping(libc::P_PID, self.child.id(), 0).map(drop)
    }

    /// Waits until it has ended, and reaps it.
    pub fn wait(self) -> io::Result<Ended> {
        self.wait_for_end()?;
        reaped(self.child.id())
    }
}

/// Between fork and exec: no descriptor beyond the standard ones, the other user, and an end when
/// our thread ends.
fn become_program(account: Option<&Account>) -> io::Result<()> {
    let checked = |done: libc::c_int| match done {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    };
    // SAFETY: system calls with numbers and a list that outlives the call; all are async-signal-safe.
    unsafe {
        // A kernel without it leaves them open, which costs the program nothing.
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, CLOSE_ON_EXEC);
        if let Some(account) = account {
            checked(libc::setgroups(account.groups.len(), account.groups.as_ptr()))?;
            checked(libc::setgid(account.group_id))?;
            checked(libc::setuid(account.user_id))?;
        }
        checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))
    }
}

/// `CLOSE_RANGE_CLOEXEC` in `include/uapi/linux/close_range.h`.
const CLOSE_ON_EXEC: libc::c_uint = 4;

/// From now on processes below us that lose their parent become our children.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: a system call with numbers.
    match unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reaps a child of ours that has ended, whichever: its number and what it used. None when no
/// child has ended, or there is none.
pub fn reap() -> io::Result<Option<(u32, Ended)>> {
    match wait_without_reaping(libc::P_ALL, 0, libc::WNOHANG) {
        Ok(Some(process_id)) => Ok(Some((process_id, reaped(process_id)?))),
        Ok(None) => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(None),
        Err(error) => Err(error),
    }
}

fn wait_without_reaping(
    which: libc::idtype_t,
    process_id: u32,
    flags: libc::c_int,
) -> io::Result<Option<u32>> {
    loop {
        // SAFETY: the record is plain numbers, for which zeros are valid; the kernel fills ours.
        let (done, found) = unsafe {
            let mut record: libc::siginfo_t = std::mem::zeroed();
            let flags = libc::WEXITED | libc::WNOWAIT | flags;
            (libc::waitid(which, process_id, &mut record, flags), record.si_pid())
        };
        let error = io::Error::last_os_error();
        match done {
            0 => return Ok(u32::try_from(found).ok().filter(|id| *id > 0)),
            _ if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
    }
}

/// Of a child that has ended: first what it read and wrote, then its last record.
fn reaped(process_id: u32) -> io::Result<Ended> {
    let text = std::fs::read_to_string(format!("/proc/{process_id}/io")).unwrap_or_default();
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zeros are valid; the kernel fills our own values.
    let (done, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(process_id as libc::pid_t, &mut status, 0, &mut usage), usage)
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Ended {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
        resident_bytes_max: usage.ru_maxrss.max(0) as u64 * 1024,
        input_output: parse(&text),
    })
}

fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec.max(0) as u64 * 1_000_000_000 + time.tv_usec.max(0) as u64 * 1_000
}

/// The lines of /proc/PID/io.
fn parse(text: &str) -> InputOutput {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.and_then(|value| value.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    InputOutput {
        read_bytes: value("rchar"),
        written_bytes: value("wchar"),
        read_calls: value("syscr"),
        write_calls: value("syscw"),
        device_read_bytes: value("read_bytes"),
        device_written_bytes: value("write_bytes").saturating_sub(value("cancelled_write_bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Ended {
        let words = ["sh".into(), "-c".into(), script.into()];
        let launch =
            Launch { words: &words, directory: Path::new("/"), account: None, variables: &[] };
        let streams = [Stdio::null(), Stdio::null(), Stdio::null()];
        Program::start(&launch, streams).unwrap().wait().unwrap()
    }

    #[test]
    fn exit_codes_and_signals_are_told_apart() {
        assert_eq!((shell("exit 3").code, shell("exit 3").signal), (Some(3), None));
        let killed = shell("kill -9 $$");
        assert_eq!((killed.code, killed.signal), (None, Some(9)));
    }

    #[test]
    fn what_children_wrote_is_counted_with_their_parent() {
        let wrote = shell("dd if=/dev/zero of=/dev/null bs=4096 count=100 status=none; true");
        assert!(wrote.input_output.written_bytes >= 409_600, "{wrote:?}");
        assert!(wrote.input_output.write_calls >= 100, "{wrote:?}");
    }

    #[test]
    fn a_group_of_its_own_keeps_its_signals_from_us() {
        assert_eq!(shell("trap '' TERM; kill -TERM 0; exit 7").code, Some(7));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_and_not_an_exit_code() {
        let words = ["/no/such/program".into()];
        let launch =
            Launch { words: &words, directory: Path::new("/"), account: None, variables: &[] };
        let streams = [Stdio::null(), Stdio::null(), Stdio::null()];
        let error = Program::start(&launch, streams).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn lines_of_the_kernel_are_read_and_other_text_counts_nothing() {
        let text = "rchar: 10\nwchar: 20\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 9\n\
                    cancelled_write_bytes: 2\n";
        let read = parse(text);
        assert_eq!((read.read_bytes, read.write_calls, read.device_written_bytes), (10, 4, 7));
        assert_eq!(parse("nonsense"), InputOutput::default());
    }
}
