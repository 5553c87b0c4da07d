//! A private room for a lab: the program runs itself again in mount and pid namespaces of its own,
//! so that whatever kills it, the kernel takes away its mounts, its processes and (with autoclear)
//! its loop devices. Not a security boundary: it is the same root user with the same devices.
//!
//! ```text
//! outer    the program as the user started it; waits, passes signals on, hands the status back
//!   |      dies => the kernel kills init (PR_SET_PDEATHSIG)
//! init     pid 1 of the new pid namespace; a fork of outer; makes mounts private, mounts a fresh
//!   |      /proc, reaps orphans; dies => the kernel kills everything in the namespace
//! inner    the same program run again with the given arguments
//! ```
#![allow(unsafe_code)]

use crate::exec_image::ExecImage;
use crate::proc_root::{HOST_PROC_FD, ProcRoot};
use crate::refused::{Refused, cannot};
use crate::signal_wait::{Received, SignalSet};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};

const OUTER_NAMESPACE: &str = "PICKFS_OUTER_MOUNT_NAMESPACE";
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
const NEEDS: &str = "CAP_SYS_ADMIN (run as root)";
/// A signal that init got by itself within this time before outer passed the same one on was sent
/// to the whole process group; inner has it already.
const GROUP_SIGNAL_NS: u64 = 500_000_000;

fn failed(step: &'static str) -> impl FnOnce(io::Error) -> Refused {
    cannot(step, NEEDS)
}

pub fn is_private() -> bool {
    let outer = std::env::var_os(OUTER_NAMESPACE);
    outer.is_some_and(|outer| mount_namespace().is_ok_and(|ours| ours != outer))
}

fn mount_namespace() -> io::Result<OsString> {
    Ok(std::fs::read_link("/proc/self/ns/mnt")?.into_os_string())
}

/// What the program outside handed to this one; nothing where it handed nothing, and when it was taken before.
pub fn handed() -> io::Result<Vec<u8>> {
    if !is_private() || IS_TAKEN.swap(true, Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    for open in std::fs::read_dir("/proc/self/fd")? {
        let open = open?.path();
        let name = std::fs::read_link(&open).unwrap_or_default();
        let number = open.file_name().and_then(|number| number.to_str()?.parse().ok());
        if let (Some(number), b"/memfd:pickfs-handed (deleted)") =
            (number, name.as_os_str().as_bytes())
        {
            // SAFETY: the descriptor is open, was made for us by the program outside, and is taken once.
            let mut memory = File::from(unsafe { OwnedFd::from_raw_fd(number) });
            let mut bytes = Vec::new();
            memory.seek(SeekFrom::Start(0))?;
            memory.read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
    }
    Ok(Vec::new())
}

/// Inherited over exec, and found by its name: a word in the environment would go to every program that is started.
fn memory_of(handed: &[u8]) -> io::Result<Option<File>> {
    if handed.is_empty() {
        return Ok(None);
    }
    let mut memory = File::from(memfd_create("pickfs-handed", MemfdFlags::empty())?);
    memory.write_all(handed)?;
    Ok(Some(memory))
}

/// The exit code that a shell would give: the code itself, or 128 and the signal.
pub fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Waits for its end and gives back its status as if it had been a child; then every process of
/// the namespace is gone. `SIGINT`, `SIGTERM`, `SIGHUP` and `SIGQUIT` are passed on, once each.
/// Call it early, while this program has one thread: another thread would get the signals instead.
/// What is in `handed` the program inside gets from [`handed`].
pub fn run_private<A: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = A>,
    handed: &[u8],
) -> Result<ExitStatus, Refused> {
    let host_proc = open_host_proc().map_err(failed("open /proc"))?;
    let _memory = memory_of(handed).map_err(failed("hand the plan over"))?;
    let (report, mut reports) = pipe().map_err(failed("make a pipe"))?;
    let plan = InnerPlan {
        image: inner_image(arguments, &host_proc).map_err(failed("read our own namespace"))?,
        report,
        reports_number: reports.as_raw_fd(),
        host_proc,
        signals: SignalSet::forwarded_and_children(),
    };
    let mask_before = plan.signals.block().map_err(failed("block signals"))?;
    let made = make_init(&plan, mask_before);
    let waited = made.map_err(failed("make private mount and pid namespaces")).and_then(|init| {
        drop(plan.report);
        wait_for(init, &plan.signals)
    });
    mask_before.restore();
    let init_status = waited?;
    let mut message = [0; 8];
    match reports.read_exact(&mut message) {
        Ok(()) => heard(message),
        Err(_) => Ok(init_status),
    }
}

/// Made before the fork: after it nothing may be allocated.
struct InnerPlan {
    image: ExecImage,
    report: OwnedFd,
    reports_number: i32,
    host_proc: File,
    signals: SignalSet,
}

fn open_host_proc() -> io::Result<File> {
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    File::options().read(true).custom_flags(flags).open(ProcRoot::host().path())
}

fn pipe() -> io::Result<(OwnedFd, File)> {
    let (reader, writer) = crate::program::pipe()?;
    Ok((writer.into(), reader))
}

fn inner_image<A: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = A>,
    host_proc: &File,
) -> io::Result<ExecImage> {
    let own_name = std::env::args_os().next().unwrap_or_else(|| "pickfs".into());
    let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
    let outer = mount_namespace()?;
    let own = [(OUTER_NAMESPACE, outer), (HOST_PROC_FD, host_proc.as_raw_fd().to_string().into())];
    let environment = std::env::vars_os()
        .filter(|(name, _)| own.iter().all(|(ours, _)| name != ours))
        .chain(own.clone().map(|(name, value)| (name.into(), value)));
    ExecImage::new(std::iter::once(own_name).chain(arguments), environment)
}

fn make_init(plan: &InnerPlan, mask_before: SignalSet) -> io::Result<i32> {
    // SAFETY: the child calls only `init`, which makes system calls and nothing else.
    match unsafe { fork(libc::CLONE_NEWNS | libc::CLONE_NEWPID) }? {
        0 => init(plan, mask_before),
        pid => Ok(pid),
    }
}

/// A fork by the bare system call: no handlers run and no lock is taken, so that a child of a
/// program with several threads cannot hang. Gives 0 to the child.
///
/// # Safety
/// The child must make system calls only, until it execs or exits.
unsafe fn fork(namespaces: i32) -> io::Result<i32> {
    // SAFETY: clone_args is plain numbers, and zero is a valid value for each.
    let mut how: libc::clone_args = unsafe { std::mem::zeroed() };
    how.flags = namespaces as u64;
    how.exit_signal = libc::SIGCHLD as u64;
    // SAFETY: without CLONE_VM the child has a copy of our memory and stack; the structure is as
    // long as we say. The caller keeps the child to system calls.
    let answer = unsafe { libc::syscall(libc::SYS_clone3, &raw mut how, size_of_val(&how)) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as i32) }
}

fn wait_for(init: i32, signals: &SignalSet) -> Result<ExitStatus, Refused> {
    loop {
        match signals.wait() {
            Received::Child => {}
            Received::Terminal(_) | Received::Relayed(_) => continue,
            Received::Sent(signal) => {
                crate::signal_wait::relay(init, signal);
                continue;
            }
        }
        let mut status = 0;
        // SAFETY: `status` is valid for the call; init is our child.
        match unsafe { libc::waitpid(init, &raw mut status, libc::WNOHANG) } {
            0 => {}
            -1 => return Err(failed("wait for the inner program")(io::Error::last_os_error())),
            _ => return Ok(ExitStatus::from_raw(status)),
        }
    }
}

/// What init or inner tells outer: eight bytes, so that one write is one message.
///
/// ```text
/// 0       4       8
/// | step  | value |   value: a wait status for `ENDED`, an errno for all others
/// ```
const ENDED: i32 = 0;
const MAKE_PRIVATE: i32 = 1;
const MOUNT_PROC: i32 = 2;
const FORK_INNER: i32 = 3;
const EXEC_INNER: i32 = 4;

fn heard(message: [u8; 8]) -> Result<ExitStatus, Refused> {
    let [s0, s1, s2, s3, value @ ..] = message;
    let value = i32::from_ne_bytes(value);
    let step = match i32::from_ne_bytes([s0, s1, s2, s3]) {
        ENDED => return Ok(ExitStatus::from_raw(value)),
        MAKE_PRIVATE => "make the mounts private",
        MOUNT_PROC => "mount a fresh /proc",
        FORK_INNER => "fork the inner program",
        _ => "run this program again",
    };
    Err(failed(step)(io::Error::from_raw_os_error(value)))
}

fn message(step: i32, value: i32) -> [u8; 8] {
    let mut message = [0; 8];
    message[..4].copy_from_slice(&step.to_ne_bytes());
    message[4..].copy_from_slice(&value.to_ne_bytes());
    message
}

/// Sends the message and ends this process. Used after a fork: system calls only.
fn tell_and_exit(plan: &InnerPlan, step: i32, value: i32) -> ! {
    let _ = rustix::io::write(&plan.report, &message(step, value));
    exit_now(0)
}

fn exit_now(code: i32) -> ! {
    // SAFETY: _exit takes any number and does not return.
    unsafe { libc::_exit(code) }
}

/// Pid 1 of the new namespace. System calls only.
fn init(plan: &InnerPlan, mask_before: SignalSet) -> ! {
    // SAFETY: this end is outer's; our copy of it is closed once and not used again.
    drop(unsafe { OwnedFd::from_raw_fd(plan.reports_number) });
    let order = set_parent_process_death_signal(Some(Signal::KILL));
    if order.is_err() || outer_is_dead(&plan.report) {
        exit_now(1);
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    if let Err(error) = mount_change(c"/", private) {
        tell_and_exit(plan, MAKE_PRIVATE, error.raw_os_error());
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if let Err(error) = mount(c"proc", c"/proc", c"proc", flags, None::<&std::ffi::CStr>) {
        tell_and_exit(plan, MOUNT_PROC, error.raw_os_error());
    }
    // SAFETY: the child calls only `inner`, which makes system calls and nothing else.
    match unsafe { fork(0) } {
        Ok(0) => inner(plan, mask_before),
        Ok(pid) => supervise(pid, plan),
        Err(error) => tell_and_exit(plan, FORK_INNER, error.raw_os_error().unwrap_or(libc::EAGAIN)),
    }
}

/// Outer died before the order to die with it was in force: its end of the pipe is closed.
fn outer_is_dead(report: &OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut ends = [PollFd::new(report, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut ends, Some(&now)).is_ok() && ends[0].revents().contains(PollFlags::ERR)
}

/// The second child, until it is this program again. System calls only.
fn inner(plan: &InnerPlan, mask_before: SignalSet) -> ! {
    mask_before.restore();
    let _ = rustix::io::fcntl_setfd(&plan.host_proc, rustix::io::FdFlags::empty());
    tell_and_exit(plan, EXEC_INNER, plan.image.exec(c"/proc/self/exe"))
}

/// Reaps whatever ends here until inner does, then says how, and takes all others with it.
fn supervise(inner: i32, plan: &InnerPlan) -> ! {
    close_all_but(plan.report.as_raw_fd());
    let mut group_signal_ns = [0u64; 65];
    loop {
        match plan.signals.wait() {
            Received::Child => {
                if let Some(value) = reap(inner) {
                    tell_and_exit(plan, ENDED, value);
                }
            }
            Received::Sent(signal) => group_signal_ns[slot(signal)] = now_ns(),
            Received::Terminal(_) => {}
            Received::Relayed(signal) => {
                if now_ns().saturating_sub(group_signal_ns[slot(signal)]) > GROUP_SIGNAL_NS {
                    // SAFETY: inner is our child and not yet reaped, so the pid is its own.
                    unsafe { libc::kill(inner, signal) };
                }
            }
        }
    }
}

fn slot(signal: i32) -> usize {
    usize::try_from(signal).map_or(0, |number| number.min(64))
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Collects every child that has ended; the wait status of `wanted` when it is among them.
fn reap(wanted: i32) -> Option<i32> {
    let mut found = None;
    loop {
        let mut status = 0;
        // SAFETY: `status` is valid for the call.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if pid <= 0 {
            return found;
        }
        if pid == wanted {
            found = Some(status);
        }
    }
}

/// Lets go of everything that outer had open, so that init keeps no device or file in use.
fn close_all_but(kept: i32) {
    let kept = kept as u32;
    // SAFETY: init uses no descriptor above 2 but `kept` from here on, and never returns.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3u32, kept - 1, 0u32);
        libc::syscall(libc::SYS_close_range, kept + 1, u32::MAX, 0u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_program_is_not_private() {
        assert!(!is_private());
    }

    #[test]
    fn a_status_becomes_the_code_that_a_shell_gives() {
        assert_eq!(exit_code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(exit_code(ExitStatus::from_raw(libc::SIGKILL)), 137);
    }

    #[test]
    fn a_report_names_the_step_and_the_privilege() {
        let text = heard(message(MOUNT_PROC, libc::EPERM)).unwrap_err().to_string();
        assert!(text.starts_with("cannot mount a fresh /proc: "), "{text}");
        assert!(text.ends_with("needs CAP_SYS_ADMIN (run as root)"), "{text}");
    }
}
