//! Waiting for signals instead of being interrupted by them, and telling who sent one. What was
//! ignored when this program began (by nohup, by a shell for its background) stays ignored, but for ends of children.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

/// Those that ask a program to end, and are passed on to the inner program.
const FORWARDED: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Whether a signal is ignored: nobody who started us wants it to end us.
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only fills the structure, which is valid when zeroed.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init_ref().sa_sigaction == libc::SIG_IGN
    }
}

/// A write beyond `ulimit -f` fails with `EFBIG`, which can be told, and no longer ends the program
/// without a word. To be called at the start of main, before any thread. A handler, as a program that we start
/// would inherit an ignored signal (execve(2)).
pub fn outlive_file_limit() {
    extern "C" fn go_on(_: libc::c_int) {}
    // SAFETY: the handler does nothing.
    unsafe {
        libc::signal(libc::SIGXFSZ, go_on as extern "C" fn(libc::c_int) as libc::sighandler_t)
    };
}

/// Ended children are kept until they are waited for, which an ignored SIGCHLD undoes: it is inherited (execve(2)), and
/// children vanish under it without a status. To be called at the start of main, before any thread.
pub fn keep_ended_children() {
    // SAFETY: SIG_DFL installs no handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

#[derive(Clone, Copy)]
pub(crate) struct SignalSet(libc::sigset_t);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    Child,
    /// By a key on the terminal or its hang-up: the whole foreground group has it.
    Terminal(i32),
    Sent(i32),
    Relayed(i32),
}

impl SignalSet {
    /// `SIGCHLD` and the signals that are passed on, those that are ignored excepted: a blocked
    /// signal is kept even where it is ignored.
    pub(crate) fn forwarded_and_children() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the set; sigaddset changes it, with valid numbers.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            let heeded = FORWARDED.into_iter().filter(|signal| !is_ignored(*signal));
            for signal in heeded.chain([libc::SIGCHLD]) {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            Self(set.assume_init())
        }
    }

    /// Blocks the set for this thread, and gives back the mask that was in force.
    pub(crate) fn block(&self) -> io::Result<Self> {
        let mut before = MaybeUninit::uninit();
        // SAFETY: both sets are valid for the call, and sigprocmask fills the second.
        unsafe {
            if libc::pthread_sigmask(libc::SIG_BLOCK, &raw const self.0, before.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(before.assume_init()))
        }
    }

    pub(crate) fn restore(&self) {
        // SAFETY: the set is valid; a null pointer asks for no copy of the mask before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut());
        }
    }

    /// The set must be blocked.
    pub(crate) fn wait(&self) -> Received {
        loop {
            if let Some(received) = self.next(None) {
                return received;
            }
        }
    }

    /// May be shorter.
    pub(crate) fn wait_within(&self, time: Duration) -> Option<Received> {
        let tv_nsec = libc::c_long::from(time.subsec_nanos() as i32);
        let time = libc::timespec { tv_sec: time.as_secs() as libc::time_t, tv_nsec };
        self.next(Some(&time))
    }

    fn next(&self, time: Option<&libc::timespec>) -> Option<Received> {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let time = time.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: set, info and time are valid for the call, and no time is a null pointer; a zeroed
        // siginfo_t is a valid one.
        let (signal, code) = unsafe {
            let signal = libc::sigtimedwait(&raw const self.0, info.as_mut_ptr(), time);
            (signal, info.assume_init_ref().si_code)
        };
        Some(match (signal, code) {
            (signal, _) if signal < 0 => return None,
            (libc::SIGCHLD, _) => Received::Child,
            (signal, libc::SI_KERNEL) => Received::Terminal(signal),
            (signal, libc::SI_QUEUE) => Received::Relayed(signal),
            (signal, _) => Received::Sent(signal),
        })
    }
}

/// Sends a signal marked as passed on, so that the receiver tells it from one sent to the group.
pub(crate) fn relay(process_id: i32, signal: i32) {
    let value = libc::sigval { sival_ptr: std::ptr::null_mut() };
    // SAFETY: sigqueue takes any numbers; the value is not looked at.
    unsafe { libc::sigqueue(process_id, signal, value) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_we_start_ends_at_the_file_limit_and_at_a_broken_pipe() {
        outlive_file_limit();
        let status = std::process::Command::new("cat").arg("/proc/self/status").output().unwrap();
        let status = String::from_utf8(status.stdout).unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
        for signal in [libc::SIGXFSZ, libc::SIGPIPE] {
            assert_eq!(ignored >> (signal - 1) & 1, 0, "{signal} in {ignored:x}");
        }
    }

    #[test]
    fn a_relayed_signal_is_told_from_a_sent_one() {
        // SAFETY: SIG_DFL installs no handler; the suite may have been started by nohup.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) };
        let set = SignalSet::forwarded_and_children();
        let before = set.block().unwrap();
        // SAFETY: a signal to this very thread, which has it blocked.
        unsafe { libc::raise(libc::SIGHUP) };
        let first = set.wait();
        // SAFETY: as above; pthread_sigqueue is glibc's way to queue to one thread.
        unsafe {
            let value = libc::sigval { sival_ptr: std::ptr::null_mut() };
            libc::pthread_sigqueue(libc::pthread_self(), libc::SIGHUP, value);
        }
        let second = set.wait();
        before.restore();
        assert_eq!(second, Received::Relayed(libc::SIGHUP));
        assert_eq!(first, Received::Sent(libc::SIGHUP));
    }
}
