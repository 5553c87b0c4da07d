#![allow(dead_code, clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Instant,
};

use pickfs_record::{Event, RunRecord};
use pickfs_testkit::{PATIENCE, until, with_default_signals};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::pickfs::{Said, command};

pub fn may_run(programs: &[&str]) -> bool {
    pickfs_testkit::may_run(&[programs, &["/dev/loop-control"]].concat())
}

/// As if nobody had been beside it.
pub fn as_if_alone(run: &mut RunRecord) {
    run.trials.retain(|trial| trial.attempt == 1);
    for trial in &mut run.trials {
        trial.disturbance = None;
        trial.flags.retain(|flag| flag.kind != "disturbed" && flag.kind != "throttled");
    }
}

pub type Signals = fn(&mut Command) -> &mut Command;

pub struct Session {
    child: Child,
    events: Receiver<Event>,
    errors: Option<std::thread::JoinHandle<String>>,
    out: PathBuf,
    seen: Vec<Event>,
}

impl Session {
    pub fn start(words: &[&str], out: &Path) -> Session {
        Session::start_with(with_default_signals, words, out)
    }

    pub fn start_with(signals: Signals, words: &[&str], out: &Path) -> Session {
        let own = words.iter().position(|word| *word == "--").unwrap_or(words.len());
        let (words, own) = words.split_at(own);
        let mut command = command(words);
        command.arg("--json").stdin(Stdio::null());
        if !words.contains(&"--resume") {
            command.arg("--out").arg(out);
        }
        command.args(own).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = signals(&mut command).spawn().expect("pickfs starts");
        let (sender, events) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            lines
                .filter_map(|line| serde_json::from_str(&line).ok())
                .try_for_each(|event| sender.send(event))
        });
        let errors = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || std::io::read_to_string(errors).unwrap());
        Session { child, events, errors: Some(errors), out: out.into(), seen: Vec::new() }
    }

    pub fn wait_for_trial(&mut self, number: u32) {
        self.wait_for(
            |event| matches!(event, Event::TrialStarted { number: n, .. } if *n == number),
        );
    }

    pub fn wait_for(&mut self, mut wanted: impl FnMut(&Event) -> bool) {
        loop {
            let event = self.events.recv_timeout(PATIENCE).unwrap_or_else(|why| {
                // It goes on where its events are only late.
                kill_process_group(Pid::from_child(&self.child), Signal::TERM).ok();
                let err = self.errors.take().map(|errors| errors.join().unwrap());
                let last = self.seen.last();
                panic!("the event does not come ({why}); the last that came: {last:?}; {err:?}")
            });
            let is_wanted = wanted(&event);
            self.seen.push(event);
            if is_wanted {
                return;
            }
        }
    }

    /// Waits until a worker runs in this run's tree of processes, and gives its number.
    pub fn wait_for_worker(&self) -> i32 {
        until("a worker", || {
            let tree = self.processes();
            tree.into_iter().find(|(_, name)| name.contains("pickfs-worker")).map(|(pid, _)| pid)
        })
    }

    pub fn wait_for_open_file(&self, name: &str) {
        let is_it = |link: &Path| fs::read_link(link).is_ok_and(|file| file.ends_with(name));
        until(name, || {
            let files = fs::read_dir(format!("/proc/{}/fd", self.wait_for_worker())).ok()?;
            files.flatten().any(|file| is_it(&file.path())).then_some(())
        });
    }

    /// The program inside the private namespaces: the last `pickfs` of the chain.
    pub fn inner(&self) -> i32 {
        let tree = self.processes();
        let labs = tree.iter().filter(|(_, name)| name.as_str() == "pickfs");
        *labs.map(|(pid, _)| pid).max().expect("the inner program runs")
    }

    /// The first program, as the user started it.
    pub fn outer(&self) -> i32 {
        self.child.id() as i32
    }

    pub fn processes(&self) -> BTreeMap<i32, String> {
        tree_of(self.outer())
    }

    /// A key on the terminal: the whole group has it.
    pub fn signal_group(&self, signal: Signal) {
        kill_process_group(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn end(mut self) -> (Said, Vec<Event>) {
        let tree: Vec<i32> = self.processes().into_keys().collect();
        let status = until("the end of pickfs", || self.child.try_wait().unwrap());
        self.seen.extend(self.events.iter());
        let err = self.errors.take().unwrap().join().unwrap();
        assert_nothing_is_left(&self.out, &tree);
        let code = pickfs_sys::namespace::exit_code(status);
        (Said { code: Some(code), out: String::new(), err }, std::mem::take(&mut self.seen))
    }
}

/// A test that fails leaves no run behind: what is in the private namespace ends with the first program.
impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// It and all below it.
pub fn tree_of(process: i32) -> BTreeMap<i32, String> {
    let all = processes();
    let mut tree = BTreeMap::new();
    let mut open = vec![process];
    while let Some(parent) = open.pop() {
        if let Some((_, name)) = all.get(&parent) {
            tree.insert(parent, name.clone());
        }
        open.extend(all.iter().filter(|(_, (up, _))| *up == parent).map(|(pid, _)| *pid));
    }
    tree
}

pub fn kill(process: i32) {
    kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
}

fn processes() -> BTreeMap<i32, (i32, String)> {
    let folders = fs::read_dir("/proc").unwrap().flatten();
    let numbers = folders.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(|pid| Some((pid, parent_and_name(pid)?))).collect()
}

/// From proc_pid_stat(5): `pid (name) state parent ...`; a dead one that waits to be collected is
/// none.
fn parent_and_name(pid: i32) -> Option<(i32, String)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, tail) = stat.rsplit_once(") ")?;
    let mut words = tail.split(' ');
    if words.next()? == "Z" {
        return None;
    }
    Some((words.next()?.parse().ok()?, head.split_once('(')?.1.to_owned()))
}

pub fn traces(folder: &Path) -> (Vec<String>, Vec<String>) {
    let folder = folder.to_str().unwrap();
    let mut mounts = Vec::new();
    for pid in processes().into_keys() {
        let text = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
        let ours = text.lines().filter(|line| line.contains(&format!("{folder}/")));
        mounts.extend(ours.map(|line| format!("{pid}: {line}")));
    }
    let loops = fs::read_dir("/sys/block").unwrap().flatten().filter_map(|entry| {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        backing.contains(folder).then(|| format!("{:?}: {backing}", entry.file_name()))
    });
    (mounts, loops.collect())
}

/// The kernel may need a moment to take down a namespace.
pub fn assert_nothing_is_left(folder: &Path, tree: &[i32]) {
    let began = Instant::now();
    until("the kernel to take down the namespace", || {
        let all = processes();
        let alive: Vec<_> = tree.iter().filter_map(|pid| all.get_key_value(pid)).collect();
        let (mounts, loops) = traces(folder);
        let is_clean = alive.is_empty() && mounts.is_empty() && loops.is_empty();
        let is_late = began.elapsed() > PATIENCE / 2;
        assert!(is_clean || !is_late, "left behind: {alive:?} {mounts:?} {loops:?}");
        is_clean.then_some(())
    });
}
