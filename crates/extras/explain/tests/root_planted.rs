//! Stalls that were planted are found by name and share, not by time.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::{
        Arc, Barrier, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use pickfs_explain::Observer;
use pickfs_record::{Clock, MonotonicClock};
use pickfs_record::{
    ExplainAlso, StallRecord,
    stall::{CauseRow, OpStalls, OpenOperation, ProbeTier},
};
use pickfs_sys::{
    affinity::{allowed_processors, pin_to, set_real_time},
    slow_operations::{SlowOperation, SlowOperations},
};
use pickfs_testkit::{may_run, only_if};
use rustix::thread::gettid;

struct Mounted {
    folder: tempfile::TempDir,
}

impl Mounted {
    fn make(mkfs: &[&str]) -> Mounted {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("image");
        File::create(&image).and_then(|file| file.set_len(512 << 20)).expect("an image");
        fs::create_dir(folder.path().join("mnt")).expect("a mount point");
        let mounted = Mounted { folder };
        run(Command::new(mkfs[0]).args(&mkfs[1..]).arg(&image));
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(mounted.path()));
        mounted
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("mnt")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(self.path()).output();
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

fn run(command: &mut Command) {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {output:?}");
}

fn explained(above_ns: u64, work: impl FnOnce(&Operations)) -> StallRecord {
    explained_with(above_ns, ExplainAlso::default(), work)
}

fn explained_with(above_ns: u64, also: ExplainAlso, work: impl FnOnce(&Operations)) -> StallRecord {
    let operations = Arc::new(SlowOperations::create(above_ns).expect("memory"));
    let observer = Observer::start_with(Arc::clone(&operations), &[std::process::id()], &also);
    work(&Operations { operations });
    let record = observer.finish();
    assert_eq!(record.tier, ProbeTier::Scheduler, "{:?}", record.missing);
    record
}

struct Operations {
    operations: Arc<SlowOperations>,
}

impl Operations {
    fn time(&self, op: u32, work: impl FnOnce()) {
        let start_ns = MonotonicClock.now_ns();
        work();
        let end_ns = MonotonicClock.now_ns();
        if end_ns - start_ns > self.operations.above_ns() {
            let thread_id = gettid().as_raw_nonzero().get() as u32;
            self.operations.push(&SlowOperation {
                op,
                thread_id,
                start_ns,
                end_ns,
                offset_bytes: 0,
            });
        }
    }
}

fn journal(folder: &Path) -> File {
    let path = folder.join("journal");
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .expect("a file")
}

fn op<'a>(record: &'a StallRecord, name: &str) -> &'a OpStalls {
    record.ops.iter().find(|op| op.op == name).expect("slow operations")
}

fn of_cause<'a>(op: &'a OpStalls, cause: &str) -> Vec<&'a CauseRow> {
    op.causes.iter().filter(|row| row.cause == cause).collect()
}

fn share(op: &OpStalls, cause: &str) -> f64 {
    let total_ns: u64 = of_cause(op, cause).iter().map(|row| row.total_ns).sum();
    total_ns as f64 / op.total_ns.max(1) as f64
}

#[test]
fn a_frozen_file_system_stops_one_write_and_is_named() {
    only_if!(may_run(&["mkfs.ext4", "fsfreeze"]));
    for mkfs in [&["mkfs.ext4", "-qF"][..], &["mkfs.xfs", "-qf"], &["mkfs.btrfs", "-qf"]] {
        let mounted = Mounted::make(mkfs);
        let file = journal(&mounted.path());
        let place = mounted.path();
        let freezer = move || {
            // SLEEP: some writes come before the freeze.
            thread::sleep(Duration::from_millis(300));
            run(Command::new("fsfreeze").arg("-f").arg(&place));
            // SLEEP: the planted stall.
            thread::sleep(Duration::from_millis(100));
            run(Command::new("fsfreeze").arg("-u").arg(&place));
        };
        let record = explained(20_000_000, |operations| {
            let op = operations.operations.name("append");
            let freezing = thread::spawn(freezer);
            let began = Instant::now();
            while !freezing.is_finished() || began.elapsed() < Duration::from_millis(600) {
                operations
                    .time(op, || assert_eq!(file.write_at(&[1; 256], 0).expect("write"), 256));
                // SLEEP: between two writes.
                thread::sleep(Duration::from_millis(1));
            }
            freezing.join().expect("frozen and thawed");
        });
        let op = op(&record, "append");
        let rows = of_cause(op, "frozen");
        assert_eq!(rows.iter().map(|row| row.operations).sum::<u64>(), 1, "{:?}", op.causes);
        let operation = op
            .worst
            .iter()
            .find(|operation| operation.leading().is_some_and(|(c, _, _)| c == "frozen"));
        let operation = operation.expect("the frozen one is opened");
        let (_, who, part_ns) = operation.leading().expect("a part");
        assert!(
            part_ns as f64 > 0.9 * (operation.end_ns - operation.start_ns) as f64,
            "{operation:?}"
        );
        assert!(who.contains("in thaw_super"), "thawed by {who}");
    }
}

/// For tests whose thread has the last processor to itself.
static LAST_PROCESSOR: Mutex<()> = Mutex::new(());

struct Hog(Child);

impl Hog {
    fn start(folder: &Path, processor: u32) -> Hog {
        let program = folder.join("pickfs-hog");
        std::os::unix::fs::symlink("/bin/sh", &program).expect("a link");
        let mut command = Command::new("chrt");
        command.args(["-r", "5", "taskset", "-c", &processor.to_string()]).arg(&program);
        Hog(command.args(["-c", "while :; do :; done"]).spawn().expect("a hog"))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_hog_on_the_writers_processor_is_waiting_for_a_processor_and_has_its_name() {
    only_if!(may_run(&["taskset", "chrt"]));
    let _alone = LAST_PROCESSOR.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder");
    let file = journal(folder.path());
    let processor = *allowed_processors().expect("processors").last().expect("one");
    pin_to(&[processor]).expect("pinned");
    // Writer and hog take turns before all others: what else a busy machine does is not between them.
    let thread = gettid().as_raw_nonzero().to_string();
    run(Command::new("chrt").args(["-r", "-p", "5", &thread]));
    let _hog = Hog::start(folder.path(), processor);
    let record = explained(1_000_000, |operations| {
        let op = operations.operations.name("append");
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(2) {
            operations.time(op, || assert_eq!(file.write_at(&[1; 256], 0).expect("write"), 256));
        }
    });
    let op = op(&record, "append");
    assert!(share(op, "cpu-wait") > 0.95, "{:?}", op.causes);
    assert_eq!(op.causes[0].who, "pickfs-hog", "{:?}", op.causes);
    let sum = op.on_cpu_ns + op.blocked_ns + op.cpu_wait_ns + op.unexplained_ns;
    assert_eq!(sum, op.total_ns);
}

#[test]
fn each_read_of_an_xfs_file_stalls_its_writer_once() {
    only_if!(may_run(&["mkfs.xfs"]));
    let _alone = LAST_PROCESSOR.lock().unwrap_or_else(PoisonError::into_inner);
    const READS: u64 = 300;
    let mounted = Mounted::make(&["mkfs.xfs", "-qf"]);
    let file = journal(&mounted.path());
    file.write_all_at(&vec![7; 8 << 20], 0).expect("filled");
    let processors = allowed_processors().expect("processors");
    let [first, .., last] = processors[..] else {
        println!("SKIPPED(root ring): one processor");
        return;
    };
    let (reads, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    // Both threads are there when the watch begins: under load it may find new ones late.
    let (all, watch) = (Barrier::new(3), OnceLock::<Operations>::new());
    let record = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            rustix::thread::set_name(c"planted-reader").expect("a name");
            pin_to(&[first]).and_then(|()| set_real_time(5)).expect("a processor");
            let mut bytes = vec![0; 8 << 20];
            all.wait();
            all.wait();
            while reads.load(Relaxed) < READS {
                file.read_at(&mut bytes, 0).expect("read");
                reads.fetch_add(1, Relaxed);
                // SLEEP: between two reads.
                thread::sleep(Duration::from_millis(5));
            }
            is_over.store(true, Relaxed);
        });
        let writer = scope.spawn(|| {
            pin_to(&[last]).and_then(|()| set_real_time(5)).expect("a processor");
            all.wait();
            all.wait();
            let operations = watch.get().expect("a watch");
            let op = operations.operations.name("append");
            while !is_over.load(Relaxed) {
                operations
                    .time(op, || assert_eq!(file.write_at(&[1; 512], 0).expect("write"), 512));
                // A sleep would be two events a write: those of a busy machine may be lost.
                let due_ns = MonotonicClock.now_ns() + 20_000;
                MonotonicClock.wait_until(due_ns, u64::MAX);
            }
        });
        all.wait();
        explained(100_000, |operations| {
            let _ = watch.set(Operations { operations: Arc::clone(&operations.operations) });
            all.wait();
            reader.join().and_then(|()| writer.join()).expect("both end");
        })
    });
    assert_eq!(record.counts.events_lost, 0);
    let op = op(&record, "append");
    let rows = of_cause(op, "xfs-inode-lock");
    let stalls: u64 = rows.iter().map(|row| row.operations).sum();
    assert!(
        stalls.abs_diff(READS) * 20 <= READS,
        "{stalls} stalls of {READS} reads: {:?}",
        op.causes
    );
    assert_eq!(rows[0].who, "planted-reader in xfs_file_buffered_read");
    assert!(share(op, "xfs-inode-lock") > 0.5, "{:?}", op.causes);
}

/// A bound for the dirty data of one device. Loop devices outlive their images: it is taken back.
struct DirtyBound(PathBuf);

impl DirtyBound {
    fn of(mount_point: &Path, bytes: u64) -> DirtyBound {
        let device = rustix::fs::stat(mount_point).expect("a mount").st_dev;
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let bound = DirtyBound(PathBuf::from(format!("/sys/class/bdi/{major}:{minor}")));
        fs::write(bound.0.join("strict_limit"), "1").expect("strict limit");
        fs::write(bound.0.join("max_bytes"), bytes.to_string()).expect("a bound");
        bound
    }
}

impl Drop for DirtyBound {
    fn drop(&mut self) {
        fs::write(self.0.join("max_ratio"), "100").expect("the bound goes");
        fs::write(self.0.join("strict_limit"), "0").expect("the limit goes");
    }
}

#[test]
fn dirty_throttling_of_one_device_is_named() {
    only_if!(may_run(&["mkfs.ext4"]));
    let mounted = Mounted::make(&["mkfs.ext4", "-qF"]);
    let _bound = DirtyBound::of(&mounted.path(), 4 << 20);
    let file = journal(&mounted.path());
    let record = explained(1_000_000, |operations| {
        let op = operations.operations.name("append");
        let bytes = vec![1; 64 << 10];
        let began = Instant::now();
        for block in 0.. {
            if began.elapsed() > Duration::from_secs(3) {
                break;
            }
            let offset = block % 4_096 * bytes.len() as u64;
            operations.time(op, || assert!(file.write_at(&bytes, offset).expect("write") > 0));
        }
    });
    let op = op(&record, "append");
    // On a busy machine the kernel drops records, and the operations without them stay unexplained: then it says so.
    let named = op.causes.iter().find(|row| row.cause != "unexplained");
    assert_eq!(named.map(|row| row.cause.as_str()), Some("dirty-throttling"), "{:?}", op.causes);
    let explained = 1.0 - share(op, "unexplained");
    assert!(
        record.counts.events_lost > 0 || explained > 0.9,
        "{:?} {:?}",
        record.counts,
        op.causes
    );
    assert!(share(op, "dirty-throttling") > 0.5 * explained, "{:?}", op.causes);
}

/// Megabytes into the cache: all of it is copying, in functions that the samples name.
#[test]
fn samples_name_the_functions_of_time_on_a_processor() {
    only_if!(may_run(&["mkfs.ext4"]));
    let mounted = Mounted::make(&["mkfs.ext4", "-qF"]);
    let file = journal(&mounted.path());
    let also = ExplainAlso { samples_hz: Some(2_000), context: false };
    let record = explained_with(100_000, also, |operations| {
        let op = operations.operations.name("append");
        let bytes = vec![1; 4 << 20];
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(2) {
            operations.time(op, || assert!(file.write_at(&bytes, 0).expect("write") > 0));
        }
    });
    let op = op(&record, "append");
    let all: u64 = op.samples.iter().map(|row| row.samples).sum();
    assert_eq!((all, op.on_cpu_ns > 0), (record.counts.samples, true));
    assert!(all >= 100, "{all} samples in {} ns on a processor", op.on_cpu_ns);
    let of_writes: u64 = op
        .samples
        .iter()
        .filter(|row| row.function.ends_with(" in ext4_buffered_write_iter"))
        .map(|row| row.samples)
        .sum();
    assert!(of_writes * 10 > all * 9, "{of_writes} of {all}: {:?}", op.samples);
    assert!(op.samples.iter().all(|row| row.stack.is_some()));
    assert!(
        record.channels.iter().any(|read| read.contains("2000 samples")),
        "{:?}",
        record.channels
    );
}

/// A sync that changes the inode waits for the journal's commit: the commit stands beside its operations, with
/// the device of this very file system and the thread that did it.
#[test]
fn a_commit_and_its_requests_stand_beside_the_operations_that_wait_for_it() {
    only_if!(may_run(&["mkfs.ext4"]));
    let mounted = Mounted::make(&["mkfs.ext4", "-qF"]);
    let device = rustix::fs::stat(mounted.path()).expect("a mount").st_dev;
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let file = journal(&mounted.path());
    let also = ExplainAlso { samples_hz: None, context: true };
    let record = explained_with(50_000, also, |operations| {
        let op = operations.operations.name("sync");
        for block in 0..100 {
            file.write_at(&[1; 4_096], block * 4_096).expect("write");
            operations.time(op, || file.sync_all().expect("sync"));
        }
    });
    let op = op(&record, "sync");
    let beside = |operation: &OpenOperation, what: &str, who: &str| {
        let notes = operation.context.iter();
        notes.filter(|n| n.what == what && n.device == device && n.who.starts_with(who)).count() > 0
    };
    let operations = op.worst.len();
    assert!(operations >= 20, "{operations} slow syncs");
    // Eight notes stand beside an operation; what a busy machine does elsewhere may leave no room for ours.
    let is_crowded = |operation: &OpenOperation| {
        operation.context.len() == 8 && operation.context.iter().any(|n| n.device != device)
    };
    for (what, who) in [("ext4 journal commit", "jbd2/"), ("device write", "")] {
        let of = |is: &dyn Fn(&OpenOperation) -> bool| {
            op.worst.iter().filter(|operation| is(operation)).count()
        };
        let named = of(&|operation| beside(operation, what, who));
        let missed = of(&|operation| !beside(operation, what, who) && !is_crowded(operation));
        let is_whole = record.counts.context_lost == 0;
        let missing = op
            .worst
            .iter()
            .find(|operation| !beside(operation, what, who) && !is_crowded(operation));
        assert!(
            named > 0 && (missed * 10 <= operations || !is_whole),
            "{what}: {named}, {missed}, {:?}: {missing:?}",
            record.counts
        );
    }
    assert!(record.counts.context_events > 0 && record.counts.samples == 0);
    assert!(op.samples.is_empty());
}
