//! Processes are killed at any instruction while they append, roll and read: no committed message is lost, none
//! comes twice, none is half visible, and what a dead appender had claimed is taken over.
//!
//! The children are this test program again. Each numbers its messages and says on a pipe how many of its appends
//! have returned; the parent reads the queue all the while and compares. In `./test` 200 appenders die; the heavy
//! ring kills 2,000.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use std::time::{Duration, Instant};

use pickfs_queue::{Error, Options, Prepare, Queue, Retention, Tailer, Touch};
use pickfs_testkit::Dice;

const DIR: &str = "QUEUE_TEST_DIR";
const CHILD: &str = "QUEUE_TEST_CHILD";
const CROWD: usize = 3;

fn options() -> Options {
    Options {
        segment_bytes: 256 << 10,
        chunk_bytes: 64 << 10,
        prepare: Prepare::Inline,
        retention: Retention { segments: Some(2), ..Retention::default() },
        ..Options::default()
    }
}

/// Child, count, and bytes that follow from both. Those of every second child are long, so that a kill often falls
/// into a claim.
fn payload(child: u64, count: u64) -> Vec<u8> {
    let (least, more) = if child % 2 == 0 { (16, 8_000) } else { (30_000, 30_000) };
    let length = least + (scrambled(child ^ (count << 20)) % more) as usize;
    let seed = scrambled(child.wrapping_mul(31) ^ count).to_le_bytes();
    let mut bytes: Vec<u8> = seed.into_iter().cycle().take(length).collect();
    bytes[..8].copy_from_slice(&child.to_le_bytes());
    bytes[8..16].copy_from_slice(&count.to_le_bytes());
    bytes
}

fn scrambled(value: u64) -> u64 {
    Dice::new(value).bits()
}

/// Does nothing in a normal run; as a child it appends until it is killed.
#[test]
fn appending_child() {
    let (Ok(dir), Ok(child)) = (std::env::var(DIR), std::env::var(CHILD)) else { return };
    let child = child.parse().unwrap();
    let touches = [Touch::None, Touch::NextPage, Touch::Populate(8), Touch::Ahead(8)];
    let prepare = if child % 8 < 4 { Prepare::Inline } else { Prepare::Ahead };
    let options = Options { touch: touches[child as usize % 4], prepare, ..options() };
    let queue = Queue::open(dir, options).unwrap();
    let mut appender = queue.appender().unwrap();
    let mut report = std::io::stderr();
    for count in 1u64.. {
        appender.append(&payload(child, count)).unwrap();
        appender.idle().unwrap();
        report.write_all(&count.to_le_bytes()).unwrap();
        if count % 4 == 0 {
            // SLEEP: one reader has to follow three of us.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Does nothing in a normal run; as a child it reads under a name until it is killed.
#[test]
fn tailing_child() {
    let (Ok(dir), Err(_)) = (std::env::var(DIR), std::env::var(CHILD)) else { return };
    let queue = Queue::open(dir, options()).unwrap();
    let mut tailer = loop {
        match queue.named_tailer("child") {
            Err(Error::Busy { .. }) => std::thread::yield_now(),
            opened => break opened.unwrap(),
        }
    };
    let mut report = std::io::stderr();
    loop {
        if let Some(message) = tailer.poll().unwrap() {
            report.write_all(&message.sequence.to_le_bytes()).unwrap();
            tailer.remember().unwrap();
        }
    }
}

fn start(test: &str, dir: &Path, child: Option<u64>) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(DIR, dir);
    if let Some(child) = child {
        command.env(CHILD, child.to_string());
    }
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut reports = process.stderr.take().unwrap();
    let has_said = Arc::<AtomicBool>::default();
    let says = Arc::clone(&has_said);
    let reader = std::thread::spawn(move || {
        let mut bytes = vec![0];
        let first = reports.read(&mut bytes).unwrap();
        bytes.truncate(first);
        says.store(true, Relaxed);
        reports.read_to_end(&mut bytes).unwrap();
        bytes
    });
    Running { process, has_said, reader }
}

struct Running {
    process: Child,
    has_said: Arc<AtomicBool>,
    reader: std::thread::JoinHandle<Vec<u8>>,
}

impl Running {
    fn kill(mut self) -> Vec<u64> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let bytes = self.reader.join().unwrap();
        assert!(!bytes.starts_with(b"\nthread"), "{}", String::from_utf8_lossy(&bytes));
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
    }
}

#[derive(Default)]
struct Seen {
    counts: HashMap<u64, u64>,
    messages: u64,
    last_sequence: u64,
    left_out: u64,
}

impl Seen {
    fn take(&mut self, tailer: &mut Tailer, until: Option<Instant>) {
        while let Some(message) = tailer.poll().unwrap() {
            let word =
                |at: usize| u64::from_le_bytes(message.payload[at..at + 8].try_into().unwrap());
            let (child, count) = (word(0), word(8));
            assert!(message.payload == payload(child, count), "half a message of {child}");
            let before = self.counts.insert(child, count).unwrap_or(0);
            assert_eq!(count, before + 1, "child {child}, message {}", message.sequence);
            assert!(message.sequence > self.last_sequence);
            self.left_out += message.sequence - self.last_sequence - 1;
            self.last_sequence = message.sequence;
            self.messages += 1;
            if until.is_some_and(|until| Instant::now() > until) {
                break;
            }
        }
        tailer.remember().unwrap();
    }
}

fn kill_appenders(kills: u64) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let queue = Queue::create(dir.path(), options()).unwrap();
    let mut tailer = queue.named_tailer("parent").unwrap();
    let mut seen = Seen::default();
    let mut next_child = 1;
    let mut begin = || {
        let child = next_child;
        next_child += 1;
        (child, start("appending_child", dir.path(), Some(child)))
    };
    let mut crowd: Vec<(u64, Running)> = (0..CROWD).map(|_| begin()).collect();
    let mut reported = HashMap::new();
    for kill in 0..kills {
        let until = Instant::now() + Duration::from_micros(scrambled(kill) % 20_000);
        while Instant::now() < until {
            seen.take(&mut tailer, Some(until));
        }
        // The oldest one is at work; now and then another one is killed, which may just be coming.
        let choice = scrambled(kill ^ 77) % (4 * CROWD as u64);
        let at = usize::try_from(choice).unwrap();
        let (child, running) = crowd.remove(if at < CROWD { at } else { 0 });
        reported.insert(child, running.kill().last().copied().unwrap_or(0));
        crowd.push(begin());
        if kill % 16 == 0 {
            queue.retire().unwrap();
        }
    }
    for (child, running) in crowd {
        reported.insert(child, running.kill().last().copied().unwrap_or(0));
    }
    // What the last ones had claimed is taken over by one more append.
    drop(queue.appender().unwrap());
    seen.take(&mut tailer, None);
    for (child, reported) in &reported {
        let found = seen.counts.get(child).copied().unwrap_or(0);
        assert!((*reported..=reported + 1).contains(&found), "{child}: {found} of {reported}");
    }
    let Seen { messages, left_out, .. } = seen;
    println!("{kills} kills, {messages} messages, {left_out} claims of dead appenders");
    assert!(messages > kills, "{messages} messages");
    assert!(left_out > 0, "no kill fell into a claim");
}

#[test]
fn two_hundred_killed_appenders_lose_nothing() {
    kill_appenders(200);
}

#[test]
#[ignore = "heavy: some minutes"]
fn two_thousand_killed_appenders_lose_nothing() {
    kill_appenders(2000);
}

#[test]
fn a_killed_tailer_goes_on_at_its_place() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let queue =
        Queue::create(dir.path(), Options { segment_bytes: 64 << 10, ..options() }).unwrap();
    drop(queue.named_tailer("child").unwrap());
    let mut appender = queue.appender().unwrap();
    let mut last = 0;
    for round in 0..20 {
        let child = start("tailing_child", dir.path(), None);
        // Until it reads, and for a while then.
        let mut until = None;
        while until.is_none_or(|until| Instant::now() < until) {
            if until.is_none() && child.has_said.load(Relaxed) {
                until = Some(Instant::now() + Duration::from_millis(round));
            }
            appender.append(&[7; 100]).unwrap();
            // SLEEP: the reader keeps up.
            std::thread::sleep(Duration::from_micros(50));
        }
        let sequences = child.kill();
        for sequence in &sequences {
            // The last report of the one before may not have been remembered.
            assert!(*sequence == last + 1 || *sequence == last, "{sequence} after {last}");
            last = *sequence;
        }
    }
    assert!(last > 100, "{last}");
}
