//! Starting a program without copying our memory first, as posix_spawn(3) does, with what that call has
//! no words for: another user, and an end when our thread ends.
//!
//! A fork copies the page tables of its parent, and both then fault on every page that they write: up to
//! milliseconds in a virtual machine, which would be counted with the time of the program.
//! Here the child borrows our memory (`CLONE_VM`) while our thread waits (`CLONE_VFORK`) until it
//! has become its program.
//!
//! Source: clone(2), vfork(2), execve(2), environ(7); `posix_spawn` of glibc takes the same way.
#![allow(unsafe_code)]

use std::{
    ffi::{CString, OsStr, OsString, c_char, c_int, c_void},
    io,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr::null,
};

use crate::account::Account;
use crate::exec_image::{c_strings, pointers, variables};

/// The child's own stack; it calls nothing that goes deep.
const STACK_BYTES: usize = 256 << 10;
/// `CLOSE_RANGE_CLOEXEC` in `include/uapi/linux/close_range.h`.
const CLOSE_ON_EXEC: libc::c_uint = 4;
/// Highest number of a signal.
const SIGNALS: c_int = 64;

pub(crate) struct Start<'a> {
    pub(crate) words: &'a [OsString],
    pub(crate) directory: &'a Path,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Its standard input, output and error: descriptors of ours from 3 on.
    pub(crate) streams: [c_int; 3],
    pub(crate) account: Option<&'a Account>,
}

pub(crate) fn spawn(start: &Start<'_>) -> io::Result<u32> {
    let program = start.words.first().ok_or(io::ErrorKind::InvalidInput)?;
    let path = start.environment.iter().find(|(name, _)| name == "PATH");
    let places = places(program, path.map(|(_, value)| value.as_os_str()));
    let places = c_strings(places.into_iter())?;
    let words = c_strings(start.words.iter().cloned())?;
    let variables = variables(start.environment.iter().cloned())?;
    let directory = CString::new(start.directory.as_os_str().as_bytes())?;
    let mut orders = Orders {
        places: pointers(&places),
        words: pointers(&words),
        by_shell: by_shell(&words),
        variables: pointers(&variables),
        directory: directory.as_ptr(),
        streams: start.streams,
        account: start.account,
        parent: std::process::id() as libc::pid_t,
        error: 0,
    };
    carry_out(&mut orders)
}

fn places(program: &OsStr, path: Option<&OsStr>) -> Vec<OsString> {
    if program.as_bytes().contains(&b'/') {
        return vec![program.to_owned()];
    }
    let folders = path.unwrap_or(OsStr::new("/bin:/usr/bin"));
    std::env::split_paths(folders).map(|folder| folder.join(program).into_os_string()).collect()
}

/// `/bin/sh FILE WORDS...`, for a file that is no program and names none: a script as of old. FILE is
/// filled in.
fn by_shell(words: &[CString]) -> Vec<*const c_char> {
    let rest = words.iter().skip(1).map(|word| word.as_ptr());
    [c"/bin/sh".as_ptr(), null()].into_iter().chain(rest).chain([null()]).collect()
}

/// All that the child needs, made before it is: it must not allocate. Lists end in a null.
struct Orders<'a> {
    places: Vec<*const c_char>,
    words: Vec<*const c_char>,
    by_shell: Vec<*const c_char>,
    variables: Vec<*const c_char>,
    directory: *const c_char,
    streams: [c_int; 3],
    account: Option<&'a Account>,
    parent: libc::pid_t,
    error: c_int,
}

/// Keeps this process readable to `/proc` and debuggers: a child that becomes another user takes
/// that from the memory that it borrowed from us (prctl(2), `PR_SET_DUMPABLE`).
struct Dumpable {
    before: c_int,
    /// One at a time: the next one would take the loss for what was.
    _alone: std::sync::MutexGuard<'static, ()>,
}

impl Dumpable {
    fn keep() -> Self {
        static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: a system call with numbers.
        Self { before: unsafe { libc::prctl(libc::PR_GET_DUMPABLE) }, _alone: alone }
    }
}

impl Drop for Dumpable {
    fn drop(&mut self) {
        // SAFETY: a system call with numbers. 2 cannot be asked for, only be given.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, self.before.clamp(0, 1)) };
    }
}

fn carry_out(orders: &mut Orders<'_>) -> io::Result<u32> {
    let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let _kept = orders.account.map(|_| Dumpable::keep());
    // SAFETY: the child runs `begin` on a stack of its own, with our memory; our thread sleeps until
    // it has become its program or has ended, so the stack and the orders outlive it and nobody
    // else touches them. No handler of ours runs in it: all signals wait until its handlers
    // are gone. The sets are plain numbers that the calls fill.
    let (child, error) = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let top = stack.as_mut_ptr().add(stack.len()).cast::<c_void>();
        let child = libc::clone(begin, top, flags, std::ptr::from_mut(orders).cast());
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        (child, error)
    };
    if child < 0 {
        return Err(error);
    }
    // SAFETY: a plain read of our own value, which the child wrote before it ended.
    match unsafe { std::ptr::read_volatile(&orders.error) } {
        0 => Ok(child as u32),
        error => {
            // SAFETY: a system call with numbers; nobody asks how it ended.
            while unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) } < 0
                && errno() == libc::EINTR
            {}
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

extern "C" fn begin(orders: *mut c_void) -> c_int {
    // SAFETY: the pointer is to the orders of `carry_out`, which sleeps meanwhile.
    let orders = unsafe { &mut *orders.cast::<Orders<'_>>() };
    let error = become_program(orders);
    // SAFETY: a plain write to our own value; then an end without any destructor of our parent's.
    unsafe {
        std::ptr::write_volatile(&mut orders.error, error);
        libc::_exit(127)
    }
}

fn become_program(orders: &mut Orders<'_>) -> c_int {
    match prepare(orders) {
        Ok(()) => {
            hold_no_signal_back();
            execute(orders)
        }
        Err(error) => error,
    }
}

fn prepare(orders: &Orders<'_>) -> Result<(), c_int> {
    drop_handlers();
    for (number, stream) in orders.streams.iter().enumerate() {
        // SAFETY: a system call with numbers.
        checked(unsafe { libc::dup2(*stream, number as c_int) }.into())?;
    }
    // SAFETY: system calls with numbers, and with texts and lists that outlive them. Those that change
    // the user are made as such: glibc's own would change the threads of our parent too.
    unsafe {
        checked(libc::chdir(orders.directory).into())?;
        checked(libc::setpgid(0, 0).into())?;
        // A kernel without it leaves them open, which costs the program nothing.
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, CLOSE_ON_EXEC);
        if let Some(account) = orders.account {
            let groups = &account.groups;
            checked(libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()))?;
            checked(libc::syscall(libc::SYS_setgid, account.group_id))?;
            checked(libc::syscall(libc::SYS_setuid, account.user_id))?;
        }
        checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL).into())?;
        // Our parent was killed before it could be asked for.
        if libc::getppid() == orders.parent { Ok(()) } else { Err(libc::ESRCH) }
    }
}

/// Signals do what they do of old, as they will in the program anyway. SIGPIPE, which Rust's programs
/// do not want, ends it again.
fn drop_handlers() {
    // SAFETY: actions and sets are plain numbers, for which zeros are valid; the calls fill or read ours.
    unsafe {
        for signal in 1..=SIGNALS {
            let mut action: libc::sigaction = std::mem::zeroed();
            let is_known = libc::sigaction(signal, null(), &mut action) == 0;
            let is_ignored = action.sa_sigaction == libc::SIG_IGN && signal != libc::SIGPIPE;
            if is_known && !is_ignored && action.sa_sigaction != libc::SIG_DFL {
                action.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }
}

/// The last step before the program: a stop before it would hold our parent's thread too.
fn hold_no_signal_back() {
    // SAFETY: the set is plain numbers, which the first call fills.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

fn execute(orders: &mut Orders<'_>) -> c_int {
    let mut error = libc::ENOENT;
    for &place in orders.places.iter().take_while(|place| !place.is_null()) {
        // SAFETY: the texts and the lists, which end in a null, were made by our parent and are there.
        let found = unsafe {
            libc::execve(place, orders.words.as_ptr(), orders.variables.as_ptr());
            if errno() == libc::ENOEXEC {
                orders.by_shell[1] = place;
                let shell = orders.by_shell[0];
                libc::execve(shell, orders.by_shell.as_ptr(), orders.variables.as_ptr());
                return errno();
            }
            errno()
        };
        match found {
            libc::ENOENT | libc::ENOTDIR => {}
            libc::EACCES => error = found,
            _ => return found,
        }
    }
    error
}

fn checked(done: libc::c_long) -> Result<(), c_int> {
    if done == -1 { Err(errno()) } else { Ok(()) }
}

fn errno() -> c_int {
    // SAFETY: the address of the number of this thread's last error.
    unsafe { *libc::__errno_location() }
}
