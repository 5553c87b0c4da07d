//! A program of somebody else, run to its end: in its own process group, without descriptors of
//! ours, as another user if asked, and with what it used counted over all its processes. What a
//! process leaves behind comes to us ([`adopt_orphans`]) and is reaped by [`reap`].
//! proc_pid_io(5) counts with a process those of its children that it waited for
//! (`wait_task_zombie` in `kernel/exit.c`).
#![allow(unsafe_code)]

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{File, OpenOptions},
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
};

use crate::{
    account::Account,
    own_usage::nanoseconds,
    spawn::{Start, spawn},
};

#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    pub words: &'a [OsString],
    pub directory: &'a Path,
    /// `None`: who we are.
    pub account: Option<&'a Account>,
    pub variables: &'a [(String, OsString)],
}

#[derive(Debug)]
pub enum Stream {
    Null,
    /// Of an output only.
    Piped,
    File(OwnedFd),
}

#[derive(Debug)]
pub struct Program {
    process_id: u32,
    output: Option<File>,
    errors: Option<File>,
}

/// With all its children that it waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ended {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub user_ns: u64,
    pub system_ns: u64,
    /// Of one of its processes.
    pub resident_bytes_max: u64,
    pub input_output: InputOutput,
}

impl Ended {
    pub fn how(&self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            _ => "an unknown cause".into(),
        }
    }
}

/// What processes read and wrote, as the kernel counts it: by calls, whatever stands behind the
/// descriptor, and by what went to a block device or is to go there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InputOutput {
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub read_calls: u64,
    pub write_calls: u64,
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
    /// `streams` are its standard input, output and error. Errors are those of execve(2); of
    /// several places in PATH the last that says more than that nothing is there.
    pub fn start(launch: &Launch<'_>, streams: [Stream; 3]) -> io::Result<Program> {
        let [input, output, errors] = streams;
        let (input, _) = opened(input)?;
        let (output, output_reader) = opened(output)?;
        let (errors, errors_reader) = opened(errors)?;
        let process_id = spawn(&Start {
            words: launch.words,
            directory: launch.directory,
            environment: environment(launch),
            streams: [input.as_raw_fd(), output.as_raw_fd(), errors.as_raw_fd()],
            account: launch.account,
        })?;
        Ok(Program { process_id, output: output_reader, errors: errors_reader })
    }

    pub fn streams(&mut self) -> (Option<File>, Option<File>) {
        (self.output.take(), self.errors.take())
    }

    /// Waits until it has ended; it is still there to be reaped. Whoever takes the time takes it when
    /// this returns.
    pub fn wait_for_end(&self) -> io::Result<()> {
        wait_without_reaping(libc::P_PID, self.process_id, 0).map(drop)
    }

    pub fn wait(self) -> io::Result<Ended> {
        self.wait_for_end()?;
        reaped(self.process_id)
    }
}

/// That no program inherits: where it is read, and where it is written.
pub fn pipe() -> io::Result<(File, File)> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((reader.into(), writer.into()))
}

/// Its end of a stream and ours. Numbers from 3 on, so that none is in the way of a standard one.
fn opened(stream: Stream) -> io::Result<(OwnedFd, Option<File>)> {
    let (theirs, ours): (OwnedFd, _) = match stream {
        Stream::Null => (OpenOptions::new().read(true).write(true).open("/dev/null")?.into(), None),
        Stream::Piped => {
            let (reader, writer) = pipe()?;
            (writer.into(), Some(reader))
        }
        Stream::File(file) => (file, None),
    };
    if theirs.as_raw_fd() > 2 {
        return Ok((theirs, ours));
    }
    // `try_clone` takes the lowest number from 3 on.
    Ok((theirs.try_clone()?, ours))
}

/// Our environment without what is said to us alone, who it runs as, and its own variables.
fn environment(launch: &Launch<'_>) -> Vec<(OsString, OsString)> {
    let ours = |(name, _): &(OsString, OsString)| !name.to_string_lossy().starts_with("PICKFS_");
    let mut all: BTreeMap<OsString, OsString> = std::env::vars_os().filter(ours).collect();
    all.insert("PWD".into(), launch.directory.into());
    if let Some(account) = launch.account {
        all.insert("HOME".into(), account.home.clone().into());
        all.insert("SHELL".into(), account.shell.clone().into());
        all.insert("USER".into(), account.name.clone().into());
        all.insert("LOGNAME".into(), account.name.clone().into());
    }
    all.extend(launch.variables.iter().map(|(name, value)| (name.into(), value.clone())));
    all.into_iter().collect()
}

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
        let streams = [Stream::Null, Stream::Null, Stream::Null];
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
        let streams = [Stream::Null, Stream::Null, Stream::Null];
        let error = Program::start(&launch, streams).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(said(&["no-such-program"], &[]).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(said(&["/etc/passwd"], &[]).unwrap_err().raw_os_error(), Some(libc::EACCES));
    }

    fn said(words: &[&str], variables: &[(String, OsString)]) -> io::Result<String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let launch =
            Launch { words: &words, directory: Path::new("/usr"), account: None, variables };
        let streams = [Stream::Null, Stream::Piped, Stream::Piped];
        let mut program = Program::start(&launch, streams)?;
        let (output, errors) = program.streams();
        let text = io::read_to_string(output.unwrap())? + &io::read_to_string(errors.unwrap())?;
        program.wait()?;
        Ok(text)
    }

    #[test]
    fn words_variables_and_directory_reach_it_as_they_are() {
        let variables = [("GREETING".to_string(), "good day".into())];
        let script = "printf '%s,' \"$@\" \"$GREETING\" \"$PWD\"; pwd; echo err >&2";
        let text = said(&["sh", "-c", script, "0", "a b", "*"], &variables).unwrap();
        assert_eq!(text, "a b,*,good day,/usr,/usr\nerr\n");
    }

    /// Rust ignores SIGPIPE, and we hold signals back; a program must start as from a shell.
    #[test]
    fn signals_are_as_a_shell_gives_them() {
        let status = said(&["cat", "/proc/self/status"], &[]).unwrap();
        let mask = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            u64::from_str_radix(line.trim(), 16).unwrap()
        };
        assert_eq!(mask("SigBlk:"), 0);
        assert_eq!(mask("SigIgn:") & (1 << (libc::SIGPIPE - 1)), 0);
        assert_eq!(mask("SigCgt:"), 0);
    }

    #[test]
    fn only_the_standard_descriptors_are_open_in_it() {
        use std::os::unix::io::IntoRawFd;
        let ours = std::fs::File::open("/dev/null").unwrap().into_raw_fd();
        // SAFETY: a system call with numbers; ours is open.
        unsafe { libc::fcntl(ours, libc::F_SETFD, 0) };
        let open = said(&["sh", "-c", "echo /proc/$$/fd/*"], &[]).unwrap();
        // SAFETY: nobody else has its number.
        unsafe { libc::close(ours) };
        assert!(!open.contains(&format!("/fd/{ours} ")), "{open}");
    }

    /// A script that names no program is one of the shell, as in every shell.
    #[test]
    fn a_script_without_a_first_line_goes_to_the_shell() {
        let path = std::env::temp_dir().join(format!("pickfs-script-{}", std::process::id()));
        pickfs_testkit::install(&path, b"echo \"$0 says $1\"\n");
        let text = said(&[path.to_str().unwrap(), "hello"], &[]);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text.unwrap(), format!("{} says hello\n", path.display()));
    }

    /// The child's change of user takes the right to be dumped from memory that it shares with us.
    #[test]
    fn a_program_of_another_user_leaves_us_as_we_were() {
        // SAFETY: system calls with numbers.
        if unsafe { libc::geteuid() } != 0 {
            println!("SKIPPED: only root may become another user");
            return;
        }
        let account = Account::named("nobody").unwrap().unwrap();
        let words = ["id".into(), "-u".into()];
        let (directory, account_id) = (Path::new("/"), account.user_id);
        let launch = Launch { words: &words, directory, account: Some(&account), variables: &[] };
        let mut program =
            Program::start(&launch, [Stream::Null, Stream::Piped, Stream::Null]).unwrap();
        let said = io::read_to_string(program.streams().0.unwrap()).unwrap();
        program.wait().unwrap();
        assert_eq!(said.trim(), account_id.to_string());
        // SAFETY: a system call with numbers.
        assert_eq!(unsafe { libc::prctl(libc::PR_GET_DUMPABLE) }, 1);
    }

    /// Many at once, with other threads that allocate: the child shares our memory meanwhile.
    #[test]
    fn many_threads_start_programs_at_once() {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                std::thread::spawn(move || {
                    for turn in 0..25 {
                        let word = format!("{number}-{turn}");
                        assert_eq!(said(&["echo", &word], &[]).unwrap(), format!("{word}\n"));
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
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
