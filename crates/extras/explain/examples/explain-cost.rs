//! What explaining costs those who are watched: `sudo benches/explain-cost [ROUNDS [FOLDER]]`.
//! Rounds without and with the probe take turns, the first of a pair in both orders. Compared are
//! pairs: the ratio of p50 and of p99 of an append that does not block, and the time that a switch of a
//! watched thread takes more. The interval is exact and needs no model: the k-th smallest and k-th
//! largest of n pairs hold the median with at least 95 % (sign test).

use std::{
    error::Error,
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::FileExt,
    path::Path,
    sync::Arc,
    thread,
};

use pickfs_explain::Observer;
use pickfs_record::stall::ProbeTier;
use pickfs_record::{Clock, MonotonicClock, times::histogram};
use pickfs_sys::program::pipe;
use pickfs_sys::{
    affinity::{allowed_processors, pin_to},
    slow_operations::{SlowOperation, SlowOperations},
};

/// Operations above this are explained, as by `--explain` without a word.
const ABOVE_NS: u64 = 100_000;
const ROUND_NS: u64 = 1_000_000_000;
/// An append each so often.
const EACH_NS: u64 = 10_000;
const APPEND_BYTES: u64 = 256;
const FILE_BYTES: u64 = 64 << 20;
/// Round trips between two threads; each of the two leaves its processor and comes back once.
const TRIPS: u64 = 40_000;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rounds = words.first().map_or(Ok(20), |word| word.parse())?;
    let folder = words.get(1).map_or("/dev/shm", String::as_str);
    let path = Path::new(folder).join(format!("pickfs-explain-cost-{}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    // It has no name while it is used: whatever ends us leaves nothing.
    std::fs::remove_file(&path)?;
    file.write_all_at(&vec![0; FILE_BYTES as usize], 0)?;
    let (mut p50, mut p99, mut switches) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let [bare, watched] = pair(round, |is_watched| appended(&file, is_watched));
        p50.push(watched.0 as f64 / bare.0 as f64);
        p99.push(watched.1 as f64 / bare.1 as f64);
        let [bare_ns, watched_ns] = pair(round, switch_ns);
        switches.push(watched_ns - bare_ns);
        println!(
            "round {round:2}: append p50 {} and {} ns, p99 {} and {} ns; switch {bare_ns:.0} and \
             {watched_ns:.0} ns",
            bare.0, watched.0, bare.1, watched.1
        );
    }
    println!("{rounds} pairs, file on {folder}; without the probe and with it");
    told("append p50, with / without (aim: no more than 1.02)", p50, 1.02, 3);
    told("append p99, with / without (aim: no more than 1.02)", p99, 1.02, 3);
    told("a switch takes more by ns (aim: under 6000)", switches, 6_000.0, 0);
    Ok(())
}

/// Without and with the probe; every second time the other way round.
fn pair<T>(round: usize, mut measured: impl FnMut(bool) -> T) -> [T; 2] {
    if round % 2 == 0 {
        let bare = measured(false);
        return [bare, measured(true)];
    }
    let watched = measured(true);
    [measured(false), watched]
}

fn beside<T>(is_watched: bool, work: impl FnOnce(&SlowOperations) -> T) -> T {
    let operations = Arc::new(SlowOperations::create(ABOVE_NS).expect("memory"));
    let observer =
        is_watched.then(|| Observer::start(Arc::clone(&operations), &[std::process::id()]));
    let answer = work(&operations);
    if let Some(record) = observer.map(Observer::finish) {
        assert_eq!(record.tier, ProbeTier::Scheduler, "needs root: {:?}", record.missing);
    }
    answer
}

fn appended(file: &File, is_watched: bool) -> (u64, u64) {
    let append = |operations: &SlowOperations| {
        pin();
        let (op, thread_id) = (operations.name("append"), 0);
        let mut service = histogram();
        let mut offset_bytes = 0;
        let began_ns = MonotonicClock.now_ns();
        let mut due_ns = began_ns;
        while due_ns < began_ns + ROUND_NS {
            while MonotonicClock.now_ns() < due_ns {
                std::hint::spin_loop();
            }
            let start_ns = MonotonicClock.now_ns();
            file.write_all_at(&[1; APPEND_BYTES as usize], offset_bytes).expect("written");
            let end_ns = MonotonicClock.now_ns();
            service.saturating_record(end_ns - start_ns);
            if end_ns - start_ns > ABOVE_NS {
                operations.push(&SlowOperation { op, thread_id, start_ns, end_ns, offset_bytes });
            }
            offset_bytes = (offset_bytes + APPEND_BYTES) % FILE_BYTES;
            due_ns += EACH_NS;
        }
        (service.value_at_quantile(0.5), service.value_at_quantile(0.99))
    };
    beside(is_watched, |operations| {
        thread::scope(|scope| scope.spawn(|| append(operations)).join())
    })
    .expect("the appender does not panic")
}

fn switch_ns(is_watched: bool) -> f64 {
    let trips = |_: &SlowOperations| {
        let (mut arrives, mut there) = pipe().expect("a pipe");
        let (mut returns, mut back) = pipe().expect("a pipe");
        let echo = thread::spawn(move || {
            pin();
            let mut word = [0];
            while arrives.read_exact(&mut word).and_then(|()| back.write_all(&word)).is_ok() {}
        });
        let caller = thread::spawn(move || {
            pin();
            // The watch finds new threads within some milliseconds.
            thread::sleep(std::time::Duration::from_millis(60));
            let began_ns = MonotonicClock.now_ns();
            for _ in 0..TRIPS {
                there.write_all(&[7]).expect("the echo listens");
                returns.read_exact(&mut [0]).expect("the echo answers");
            }
            (MonotonicClock.now_ns() - began_ns) as f64 / (2 * TRIPS) as f64
        });
        let answer = caller.join().expect("the caller does not panic");
        echo.join().expect("the echo does not panic");
        answer
    };
    beside(is_watched, trips)
}

/// To the last processor that we may use: the probe takes another.
fn pin() {
    let processors = allowed_processors().expect("processors");
    pin_to(&processors[processors.len() - 1..]).expect("pinned");
}

fn told(what: &str, mut pairs: Vec<f64>, aim: f64, digits: usize) {
    pairs.sort_by(f64::total_cmp);
    let count = pairs.len();
    let median = (pairs[(count - 1) / 2] + pairs[count / 2]) / 2.0;
    let verdict = match rank(count) {
        0 => "not decided: under six pairs".to_string(),
        rank => {
            let (low, high) = (pairs[rank - 1], pairs[count - rank]);
            let answer = match () {
                () if high <= aim => "held",
                () if low > aim => "missed",
                () => "not decided",
            };
            format!("95 % [{low:.digits$}, {high:.digits$}]: {answer}")
        }
    };
    println!("{what}: median {median:.digits$}, {verdict}");
}

/// The greatest k of which the k-th smallest and k-th largest of n hold the median with 95 %; 0: none.
fn rank(count: usize) -> usize {
    let (mut below, mut chance) = (0.0, 0.5f64.powi(count as i32));
    for k in 0..count {
        below += chance;
        if 2.0 * below > 0.05 {
            return k;
        }
        chance *= (count - k) as f64 / (k + 1) as f64;
    }
    0
}
