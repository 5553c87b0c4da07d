//! Runs one test program and keeps two promises for it: it ends, and it leaves nothing. `./test` gives it to
//! cargo as the runner of every test program.
//!
//! A program that says nothing for [`SILENCE_S`] seconds hangs: the test that has not ended is named, with what
//! each process waits in. First what the test started is killed, so that it fails at its own step and takes
//! away what it made; then the program itself. Processes, mounts and loop devices that outlive the program
//! are a failure, and are taken away.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use pickfs_sys::{loop_device, mount, proc_root::ProcRoot, process};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};

/// Longest time without a test that begins or ends; `PICKFS_TEST_SILENCE_S` says another.
const SILENCE_S: u64 = 600;
/// Part of that time which a test has to take down what it made, and orphans to end.
const GRACE: u32 = 30;
const LOOK_EACH: Duration = Duration::from_millis(50);

struct Said {
    at: Instant,
    /// The line that has not ended yet: with one thread, `test NAME ... `.
    line: String,
    /// Of which it said that they have been running for long.
    slow: BTreeSet<String>,
}

fn main() -> ExitCode {
    let mut words = env::args_os().skip(1);
    let Some(program) = words.next() else {
        eprintln!("usage: test-watch PROGRAM [WORD...]");
        return ExitCode::from(2);
    };
    // Orphans of the tests become our children: nothing that they start is out of sight.
    set_child_subreaper(Some(getpid())).expect("Linux has subreapers since 3.4");
    let place = place_for_files();
    let mut command = Command::new(&program);
    command.args(words).env("TMPDIR", &place).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("test-watch: {} not started: {error}", Path::new(&program).display());
            return ExitCode::from(2);
        }
    };
    let silence_s = env::var("PICKFS_TEST_SILENCE_S").ok().and_then(|value| value.parse().ok());
    let silence = Duration::from_secs(silence_s.unwrap_or(SILENCE_S));
    let status = watched(&mut child, silence);
    let left = take_away(&place, silence / GRACE);
    left.iter().for_each(|one| println!("LEFT by {}: {one}", Path::new(&program).display()));
    match status.code() {
        Some(0) if !left.is_empty() => ExitCode::FAILURE,
        Some(code) => ExitCode::from(code as u8),
        None => {
            println!("{} ended with {status}", Path::new(&program).display());
            ExitCode::FAILURE
        }
    }
}

/// A folder for temporary files that everybody may enter, so that what is in it is known to be the test's.
fn place_for_files() -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let place = env::temp_dir().join(format!("pickfs-test-{}", std::process::id()));
    fs::create_dir(&place).expect("a folder for temporary files can be made");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o1777)).expect("it is ours");
    place
}

/// Ends by itself or by force.
fn watched(child: &mut Child, silence: Duration) -> ExitStatus {
    let said = Arc::new(Mutex::new(Said {
        at: Instant::now(),
        line: String::new(),
        slow: BTreeSet::new(),
    }));
    let mut output = child.stdout.take().expect("it is piped");
    let heard = Arc::clone(&said);
    let passing = thread::spawn(move || pass_on(&mut output, &heard));
    let mut is_warned = false;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            break status;
        }
        let mut said = said.lock().expect("nobody panics with it");
        if said.at.elapsed() >= silence {
            if is_warned {
                println!("HANGS: it does not end without them either, and is killed");
            } else {
                told(child.id(), &said, silence);
            }
            kill_all(&descendants(child.id())[usize::from(!is_warned)..]);
            (said.at, is_warned) = (Instant::now() - silence + silence / GRACE, true);
        }
        drop(said);
        thread::sleep(LOOK_EACH);
    };
    // An orphan may hold the other end open: it is dealt with later.
    let began = Instant::now();
    while !passing.is_finished() && began.elapsed() < Duration::from_secs(1) {
        thread::sleep(LOOK_EACH);
    }
    status
}

fn pass_on(output: &mut impl Read, heard: &Mutex<Said>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = output.read(&mut bytes) {
        let _ = io::stdout().write_all(&bytes[..count]).and_then(|()| io::stdout().flush());
        let mut said = heard.lock().expect("nobody panics with it");
        for part in String::from_utf8_lossy(&bytes[..count]).split_inclusive('\n') {
            said.line.push_str(part);
            if part.ends_with('\n') {
                said.line_ended();
            }
        }
    }
}

impl Said {
    /// That a test is slow is no sign of life.
    fn line_ended(&mut self) {
        let line = std::mem::take(&mut self.line);
        let name = line.strip_prefix("test ").and_then(|rest| rest.split(' ').next());
        match name {
            Some(name) if line.contains("has been running for over") => {
                self.slow.insert(name.to_owned());
                return;
            }
            Some(name) => self.slow.remove(name),
            None => false,
        };
        self.at = Instant::now();
    }
}

fn told(program: u32, said: &Said, silence: Duration) {
    println!("\nHANGS: no test began or ended for {} s", silence.as_secs());
    said.slow.iter().for_each(|name| println!("  test {name} has not ended"));
    if !said.line.is_empty() {
        println!("  {} has not ended", said.line.trim_end_matches([' ', '.']));
    }
    for id in descendants(program) {
        println!("  process {id}: {}", words_of(id));
        let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let read = |name| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            let call = read("syscall").split(' ').next().unwrap_or_default().to_owned();
            println!("    {}: call {} in {}", read("comm").trim(), call.trim(), read("wchan"));
        }
    }
}

fn words_of(id: u32) -> String {
    let bytes = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// Those that have ended left out.
fn descendants(id: u32) -> Vec<u32> {
    let tree = process::tree_of(id, &ProcRoot::own()).unwrap_or_default();
    tree.iter().filter(|one| one.state != 'Z').map(|one| one.process_id).collect()
}

fn kill_all(ids: &[u32]) {
    for id in ids {
        let _ = Pid::from_raw(*id as i32).map(|pid| kill_process(pid, Signal::KILL));
    }
}

/// Says what it was.
fn take_away(place: &Path, grace: Duration) -> Vec<String> {
    let began = Instant::now();
    let orphans = || {
        // One that nobody has waited for keeps the first process of its namespace from its end.
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        descendants(std::process::id()).split_off(1)
    };
    while !orphans().is_empty() && began.elapsed() < grace {
        thread::sleep(LOOK_EACH);
    }
    let mut left: Vec<String> =
        orphans().into_iter().map(|id| format!("process {id}: {}", words_of(id))).collect();
    kill_all(&orphans());
    let ours = |path: &Path| path.starts_with(place);
    for mount in mount::mounts().unwrap_or_default().into_iter().rev() {
        if ours(&mount.mount_point) {
            left.push(format!("a mount at {}", mount.mount_point.display()));
            let _ = Command::new("umount").arg("-l").arg(&mount.mount_point).status();
        }
    }
    for device in loop_device::attached().into_iter().filter(|one| ours(&one.backing_file)) {
        left.push(format!("a loop device on {}", device.backing_file.display()));
        let _ =
            Command::new("losetup").arg("-d").arg(format!("/dev/loop{}", device.number)).status();
    }
    if !mount::mounts().unwrap_or_default().iter().any(|mount| ours(&mount.mount_point)) {
        let _ = fs::remove_dir_all(place);
    }
    left
}
