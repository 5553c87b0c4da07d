//! Five truths are planted with a disk that obeys, and none may fool the program. Every block is measured, and judged
//! without what other programs did meanwhile: a busy machine changes no verdict here.
#![allow(clippy::unwrap_used)]

mod lab_session;
mod pickfs;
mod slow_disk;

use pickfs_testkit::only_if;
use std::{
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use lab_session::{Session, as_if_alone, may_run};
use pickfs::{PICKFS, Said, folder, only_run, record};
use pickfs_analysis::{disturbed::is_disk_taken, ending::DISTURBED, findings};
use pickfs_record::{
    Event, RunRecord,
    finding::{AnswerEnd, Findings},
    record::{OpRecord, Times, TrialRecord},
};
use pickfs_sys::{
    affinity::{allowed_processors, pin_to, set_real_time},
    loop_device::LoopDevice,
    mount::{MountRequest, Mounted},
};
use slow_disk::SlowDisk;

static TURN: Mutex<()> = Mutex::new(());

/// Hogs, bursts and a disk under load are one test's alone.
fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

const DISK_BYTES: usize = 64 << 20;
/// Two questions need seven.
const BLOCKS: usize = 8;

/// Candidates of one file system under other names: whatever differs was planted.
fn plan(place: &Path, labels: &[&str], words: &str) -> PathBuf {
    let candidate = |label: &&str| format!("{{ spec = \"ext4\", label = \"{label}\" }}");
    let candidates: Vec<String> = labels.iter().map(candidate).collect();
    let file = place.join("planted.toml");
    let text = format!(
        "name = \"planted\"\nquestion = \"Which one?\"\nworkload = \"journal\"\ncandidates = [{}]\n{words}\n",
        candidates.join(", ")
    );
    fs::write(&file, text).unwrap();
    file
}

/// What a plan asks of its candidates, without a raw probe.
fn asked(blocks: usize, sync: &str, rate: &str, primary: &[&str], measure: &str) -> String {
    format!(
        "params = {{ sync = \"{sync}\", rate = \"{rate}\" }}\n\
         [design]\nblocks = {blocks}\nreference = \"A\"\nprimary = {primary:?}\n\
         [timing]\nraw_probe = \"0ms\"\nwarmup = \"50ms\"\nmeasure = \"{measure}\"\nsettle = \"1s\""
    )
}

fn words<'a>(plan: &'a Path, device: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let common = ["run", plan.to_str().unwrap(), "--device", device, "--erase"];
    let state = ["--device-state", "discarded", "--set", "file_size=1MiB", "--yes"];
    [&common[..], &state, more].concat()
}

/// Runs to the end; `obey` sees each event with the candidate that is at work.
fn play(words: &[&str], out: &Path, mut obey: impl FnMut(&Event, &str)) -> (Said, RunRecord) {
    let mut session = Session::start(words, out);
    let mut at_work = String::new();
    session.wait_for(|event| {
        if let Event::TrialStarted { candidate, .. } = event {
            at_work.clone_from(candidate);
        }
        obey(event, &at_work);
        matches!(event, Event::RunFinished { .. })
    });
    let (said, _) = session.end();
    (said, record(&only_run(out)))
}

/// All blocks of the plan as if nobody had been beside them. Others that disturb two of them end a sitting, and the next
/// one goes on.
fn play_alone(words: &[&str], out: &Path, mut obey: impl FnMut(&Event, &str)) -> RunRecord {
    let (_, mut run) = play(words, out, &mut obey);
    while run.ended.as_ref().is_some_and(|end| end.how == DISTURBED) {
        let folder = only_run(out);
        (_, run) = play(&["run", "--resume", folder.to_str().unwrap()], out, &mut obey);
    }
    assert_eq!(run.ended.as_ref().unwrap().how, "completed", "{:?}", run.ended);
    as_if_alone(&mut run);
    assert_eq!(run.trials.len(), run.plan.design.blocks as usize * run.cells.len());
    run
}

/// Of each block.
fn ops<'a>(run: &'a RunRecord, label: &str, name: &'a str) -> impl Iterator<Item = &'a OpRecord> {
    let cell = run.cells.iter().find(|cell| cell.candidate.label == label).unwrap();
    let trials = run.trials.iter().filter(|trial| trial.cell == cell.id);
    trials.map(move |trial| trial.op(name).unwrap_or_else(|| panic!("{name}: {trial:?}")))
}

fn at(times: &Times, q: f64) -> u64 {
    times.quantile(q).unwrap().value_ns
}

fn is_named(found: &Findings, label: &str) -> bool {
    found.answers.iter().any(|a| a.end == AnswerEnd::Winner && a.left == [label])
}

/// It outlasts what is left of a trial.
const STALL_MS: u64 = 1_000;

/// B's median is the better one until one operation of each trial outlasts it.
#[test]
fn a_rare_long_stall_is_not_hidden_by_a_quick_median() {
    only_if!(may_run(&["mkfs.ext4", "losetup", "/dev/fuse"]));
    let _turn = turn();
    let (_folder, place) = folder();
    let asked = asked(BLOCKS, "fdatasync", "50/s", &["durable.p90", "durable.p50"], "1s");
    let plan = plan(&place, &["A", "B"], &asked);
    let disk = SlowDisk::mount(DISK_BYTES);
    let device = disk.attach();
    let words = words(&plan, device.path(), &[]);
    let run = play_alone(&words, &place.join("out"), |event, at_work| {
        if matches!(event, Event::TrialStarted { .. }) {
            disk.set_flush_ms(if at_work == "A" { 4 } else { 2 });
            // A dozen make and mount it, and each operation is one or two.
            disk.stall_behind(30, if at_work == "A" { 0 } else { STALL_MS });
        }
    });
    let quickest = |label| ops(&run, label, "durable").map(|op| op.service.min_ns);
    let quicker = quickest("B").zip(quickest("A")).filter(|(b, a)| b < a).count();
    assert!(quicker > BLOCKS / 2, "B is the quicker one where it does not stall: {quicker}");
    for response in ops(&run, "B", "durable").map(|op| op.response.as_ref().unwrap()) {
        assert_eq!(response.count, 50, "all that was due");
        assert!(response.max_ns > STALL_MS * 1_000_000, "{response:?}");
        assert!(at(response, 0.9) > STALL_MS * 500_000, "what waited behind it: {response:?}");
    }
    let found = findings(&run);
    assert!(is_named(&found, "A") && !is_named(&found, "B"), "{:?}", found.answers);
}

/// The calls of both take the same time: B leaves all of its work to the commit.
#[test]
fn a_commit_that_was_put_off_is_paid() {
    only_if!(may_run(&["mkfs.ext4", "losetup", "/dev/fuse"]));
    let _turn = turn();
    let (_folder, place) = folder();
    let asked = asked(BLOCKS, "none", "1000/s", &["append.p50", "append.mean"], "100ms");
    let plan = plan(&place, &["A", "B"], &asked);
    let disk = SlowDisk::mount(DISK_BYTES);
    let device = disk.attach();
    let words = words(&plan, device.path(), &[]);
    let run = play_alone(&words, &place.join("out"), |event, at_work| {
        if matches!(event, Event::TrialStarted { .. }) {
            disk.set_flush_ms(if at_work == "A" { 0 } else { 50 });
        }
    });
    let asked: Vec<&str> = run.plan.design.primary.iter().map(|m| m.op.as_str()).collect();
    assert_eq!(asked, ["append with final sync"; 2], "so short a trial ranks no plain append");
    let means = |name| ops(&run, "B", name).map(|op| op.service.mean_ns);
    for (own_ns, paid_ns) in means("append").zip(means("append with final sync")) {
        let share_ns = paid_ns - own_ns;
        assert!(share_ns > 0.9 * 5e7 / 100.0, "50 ms over 100 appends, not {share_ns} ns each");
    }
    let found = findings(&run);
    assert!(is_named(&found, "A") && !is_named(&found, "B"), "{:?}", found.answers);
}

fn burst() {
    let end = Instant::now() + Duration::from_millis(5);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

/// Five milliseconds of each hundred, on the processor that measures.
fn takes_the_processor(at_work: &AtomicBool, over: &AtomicBool) {
    pin_to(&[measuring()]).unwrap();
    set_real_time(10).unwrap();
    while !over.load(SeqCst) {
        // SLEEP: between two bursts.
        std::thread::sleep(Duration::from_millis(95));
        if at_work.load(SeqCst) {
            burst();
        }
    }
}

fn measuring() -> u32 {
    allowed_processors().unwrap()[1]
}

fn cpus() -> String {
    format!("measure={},help={}", measuring(), allowed_processors().unwrap()[0])
}

fn has_processors() -> bool {
    allowed_processors().is_ok_and(|all| all.len() > 1)
}

/// A worker of the candidate would stand between two calls of the driver as this thread does.
#[test]
fn a_worker_on_the_measuring_processor_is_the_candidates() {
    only_if!(may_run(&["mkfs.ext4", "losetup", "/dev/fuse"]) || !has_processors());
    let _turn = turn();
    let (_folder, place) = folder();
    let asked = asked(BLOCKS, "none", "1000/s", &["append.p98"], "1s");
    let plan = plan(&place, &["A", "B"], &asked);
    let disk = SlowDisk::mount(DISK_BYTES);
    let (device, cpus) = (disk.attach(), cpus());
    let (is_at_work, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let words = words(&plan, device.path(), &["--cpus", &cpus]);
    let run = std::thread::scope(|scope| {
        scope.spawn(|| takes_the_processor(&is_at_work, &is_over));
        let run = play_alone(&words, &place.join("out"), |event, at_work| {
            if matches!(event, Event::TrialStarted { .. } | Event::TrialFinished { .. }) {
                let begins = matches!(event, Event::TrialStarted { .. });
                is_at_work.store(begins && at_work == "B", SeqCst);
            }
        });
        is_over.store(true, SeqCst);
        run
    });
    for append in ops(&run, "B", "append") {
        let [raw, corrected] =
            [&append.raw_response, &append.response].map(|view| view.as_ref().unwrap());
        assert!(
            at(raw, 0.98) > 500_000,
            "of a hundred turns more than two were kept waiting: {raw:?}"
        );
        assert!(raw.mean_ns > corrected.mean_ns, "{raw:?} {corrected:?}");
    }
    let found = findings(&run);
    let ending = &found.endings[0];
    assert!(found.answers[0].raw && !is_named(&found, "B"), "{ending:?}");
    assert!(ending.sentence.contains("Raw: with the delays of pickfs itself"), "{ending:?}");
}

const BUSY: &str = "params = { sync = \"none\", arrival = \"closed\" }\n\
     [design]\nblocks = 9\nreference = \"A\"\n\
     primary = [{ op = \"append\", statistic = \"mean\" }]\n\
     [timing]\nraw_probe = \"50ms\"\nwarmup = \"100ms\"\nmeasure = \"500ms\"\nsettle = \"1s\"";

struct Hogs(Vec<Child>);

impl Hogs {
    /// `planted-hog` twice, on the processor that measures.
    fn start(place: &Path) -> Hogs {
        let program = place.join("planted-hog");
        pickfs_testkit::install(&program, &fs::read("/bin/sh").unwrap());
        let start = |_| {
            let mut hog = Command::new("taskset");
            hog.args(["-c", &measuring().to_string()]).arg(&program);
            hog.args(["-c", "while :; do :; done"]).spawn().unwrap()
        };
        Hogs((0..2).map(start).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = (hog.kill(), hog.wait());
        }
    }
}

#[test]
fn hogs_end_the_run_after_two_blocks_and_are_named() {
    only_if!(may_run(&["mkfs.ext4", "losetup", "taskset", "/dev/fuse"]) || !has_processors());
    let _turn = turn();
    let (_folder, place) = folder();
    let plan = plan(&place, &["A", "B"], BUSY);
    let disk = SlowDisk::mount(DISK_BYTES);
    let (device, cpus) = (disk.attach(), cpus());
    let words = words(&plan, device.path(), &["--cpus", &cpus]);
    let hogs = Hogs::start(&place);
    let (said, run) = play(&words, &place.join("out"), |_, _| ());
    drop(hogs);
    let end = run.ended.as_ref().unwrap();
    assert_eq!((said.code, end.how.as_str()), (Some(4), DISTURBED), "{end:?}");
    assert!(end.note.contains("planted-hog") && end.note.contains("blocks 1 and 2"), "{end:?}");
    let found = findings(&run);
    assert!(found.endings.iter().all(|ending| ending.end == AnswerEnd::NoAnswer));
    assert!(found.endings[0].sentence.contains("planted-hog"), "{:?}", found.endings);
}

/// A control group with a fifth of a processor, where this machine has the controller.
struct Quota(PathBuf);

impl Quota {
    fn new() -> Option<Quota> {
        let old = Path::new("/sys/fs/cgroup/cpu");
        let top = if old.is_dir() { old } else { Path::new("/sys/fs/cgroup") };
        let folder = top.join(format!("pickfs-test-{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let quota = Quota(folder);
        let of_old = fs::write(quota.0.join("cpu.cfs_quota_us"), "20000");
        of_old.or_else(|_| fs::write(quota.0.join("cpu.max"), "20000 100000")).ok()?;
        Some(quota)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_quota_ends_the_run_after_two_blocks_and_is_named() {
    only_if!(may_run(&["mkfs.ext4", "losetup", "/dev/fuse"]));
    let Some(quota) = Quota::new() else {
        eprintln!("skipped: no control group with the cpu controller can be made");
        return;
    };
    let _turn = turn();
    let (_folder, place) = folder();
    let (plan, out) = (plan(&place, &["A", "B"], BUSY), place.join("out"));
    let disk = SlowDisk::mount(DISK_BYTES);
    let device = disk.attach();
    let enter = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", quota.0.display());
    let mut command = Command::new("sh");
    command.args(["-c", &enter, "sh", PICKFS]).args(words(&plan, device.path(), &[]));
    let said = Said::from(command.arg("--out").arg(&out).output().unwrap());
    let run = record(&only_run(&out));
    let end = run.ended.as_ref().unwrap();
    assert_eq!((said.code, end.how.as_str()), (Some(4), DISTURBED), "{end:?} {said:?}");
    let is_held = |trial: &TrialRecord| trial.disturbance.as_ref().is_some_and(|d| d.throttled > 0);
    assert!(run.trials.iter().any(is_held), "{end:?} {said:?}");
    // Where other programs are busy they are named in its place.
    let is_named = end.note.contains("quota") || end.note.contains("took the CPU");
    assert!(said.out.contains("NO ANSWER") && is_named, "{end:?} {said:?}");
    assert!(run.trials.iter().all(|trial| trial.block <= 2), "{end:?}");
}

/// Writes beside the image until it is told to stop.
fn uses_the_disk(file: &Path, over: &AtomicBool) {
    let file = fs::File::create(file).unwrap();
    let piece = vec![7; 1 << 20];
    for number in 0.. {
        if over.load(SeqCst) {
            return;
        }
        file.write_all_at(&piece, (number % 16) << 20).unwrap();
        file.sync_data().unwrap();
    }
}

/// A run whose image lies on an ext4 of our own, and what is done there meanwhile.
fn on_a_host(
    place: &Path,
    options: &str,
    words: &str,
    beside: impl FnOnce(&Path, &AtomicBool) + Send,
) -> RunRecord {
    let plan = plan(place, &["A", "B"], words);
    let (disk, host) = (place.join("disk"), place.join("host"));
    fs::File::create(&disk).unwrap().set_len(400 << 20).unwrap();
    let made = Command::new("mkfs.ext4").arg("-qF").arg(&disk).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    fs::create_dir(&host).unwrap();
    let file = fs::File::options().read(true).write(true).open(&disk).unwrap();
    let device = LoopDevice::attach(&file).unwrap();
    let request = MountRequest::new(device.path(), &host, "ext4").options(options);
    let mounted = Mounted::mount(&request).unwrap();
    let words = ["run", plan.to_str().unwrap(), "--image-dir", host.to_str().unwrap()];
    let words = [&words[..], &["--size", "64MiB", "--set", "file_size=1MiB", "--yes"]].concat();
    let is_over = AtomicBool::new(false);
    let run = std::thread::scope(|scope| {
        scope.spawn(|| beside(&host.join("foreign"), &is_over));
        let (_, run) = play(&words, &place.join("out"), |_, _| ());
        is_over.store(true, SeqCst);
        run
    });
    mounted.unmount().unwrap();
    // A namespace of a test beside this one may hold the mount: the device goes with its last user.
    let _ = device.detach();
    run
}

/// What a host writes for the candidate is the candidate's: a byte twice, or a commit at each flush.
#[test]
fn a_host_that_writes_for_its_image_is_nobody_else() {
    only_if!(may_run(&["mkfs.ext4", "losetup"]));
    let _turn = turn();
    let (_folder, place) = folder();
    let busy = BUSY.replace("blocks = 9", "blocks = 1").replace("none", "fdatasync");
    let busy = busy.replace("append", "durable");
    for options in ["data=journal", "data=ordered"] {
        let place = place.join(options);
        fs::create_dir(&place).unwrap();
        for trial in &on_a_host(&place, options, &busy, |_, _| ()).trials {
            let found = trial.disturbance.as_ref().unwrap();
            // Without what a flush costs the host it is 0.05 and more.
            assert!(found.disk_foreign_share < 0.04, "{options}: {found:?}");
            assert!(!is_disk_taken(found) && !found.disk_unread, "{options}: {found:?}");
        }
    }
}

#[test]
fn who_uses_the_disk_under_an_image_is_named() {
    only_if!(may_run(&["mkfs.ext4", "losetup"]));
    let _turn = turn();
    let (_folder, place) = folder();
    let mut run = on_a_host(&place, "", BUSY, uses_the_disk);
    let (end, blocks) = (run.ended.as_ref().unwrap(), run.trials.iter().map(|trial| trial.block));
    assert_eq!((end.how.as_str(), blocks.max()), (DISTURBED, Some(2)), "{end:?}");
    run.trials.retain(|trial| trial.attempt == 1);
    let own = fs::read_to_string("/proc/self/comm").unwrap();
    for found in run.trials.iter_mut().map(|trial| trial.disturbance.as_mut().unwrap()) {
        assert!(
            found.disk_foreign_bytes_per_s > 4e6 && found.disk_foreign_share > 0.05,
            "{found:?}"
        );
        assert!(found.disk_takers.iter().any(|(name, _)| name == own.trim()), "{found:?}");
        (found.steal_share, found.foreign_user_share, found.foreign_system_share) = (0.0, 0.0, 0.0);
        found.disk_takers.retain(|(name, _)| name == own.trim());
    }
    let ending = findings(&run).endings.remove(0);
    let begin = format!("other programs used the disk ({} ", own.trim());
    assert!(ending.sentence.starts_with(&begin), "{ending:?}");
}

/// Whoever comes after B finds a slower disk; all three are the same.
#[test]
fn what_one_leaves_to_the_next_is_nobodys_advantage() {
    only_if!(may_run(&["mkfs.ext4", "losetup", "/dev/fuse"]));
    let _turn = turn();
    let (_folder, place) = folder();
    let asked = asked(12, "fdatasync", "50/s", &["durable.p50"], "300ms");
    let plan = plan(&place, &["A", "B", "C"], &asked);
    let disk = SlowDisk::mount(DISK_BYTES);
    let device = disk.attach();
    let words = words(&plan, device.path(), &[]);
    let (mut before, mut after_b) = (String::new(), Vec::new());
    let run = play_alone(&words, &place.join("out"), |event, at_work| {
        if let Event::TrialStarted { number, .. } = event {
            disk.set_flush_ms(if before == "B" { 12 } else { 10 });
            after_b.extend((before == "B").then_some(*number));
            at_work.clone_into(&mut before);
        }
    });
    let p50 = |is_after: bool| {
        let trials = run.trials.iter().filter(|t| after_b.contains(&t.number) == is_after);
        let medians = trials.map(|trial| at(&trial.op("durable").unwrap().service, 0.5));
        let mut medians: Vec<u64> = medians.collect();
        medians.sort_unstable();
        medians[medians.len() / 2]
    };
    assert!(p50(true) > p50(false), "who comes after B is slower");
    let found = findings(&run);
    assert!(found.answers.iter().all(|answer| answer.blocks == 12), "{:?}", found.answers);
    let named = ["A", "B", "C"].map(|label| is_named(&found, label));
    assert_eq!(named, [false; 3], "{:?}", found.answers);
}
