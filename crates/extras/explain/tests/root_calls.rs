//! Calls of other programs are counted as strace counts them: exactly, over all their processes and
//! threads, from their first one on.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    process::Command,
    thread,
};

use pickfs_explain::calls::{CallWatch, CallsSeen, WatchOptions};
use pickfs_explain::kernel::file_calls::FileCall;
use pickfs_record::CallsRecord;
use pickfs_testkit::{may_run, only_if, until};

const SCRIPT: &str = "mkdir tree; cd tree
for name in a b c; do dd if=/dev/zero of=$name bs=4096 count=200 conv=fsync 2>/dev/null & done; wait
cp a copy; mv copy moved; ln moved linked; cat b c >/dev/null; ls -l . >/dev/null
cat absent 2>/dev/null; head -c 100 a >>moved; rm a b linked; cd ..; rm -r tree";

fn seen(command: &mut Command, options: &WatchOptions) -> CallsSeen {
    let watch = CallWatch::of_children(options).expect("calls can be traced");
    let status = command.status().expect("it starts");
    let seen = watch.finish();
    assert!(status.success(), "{command:?}: {status}");
    seen
}

/// Calls and errors as `strace -f -c` counts them.
fn of_strace(folder: &Path, words: &[&str]) -> BTreeMap<String, (u64, u64)> {
    let table = folder.join("strace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-o"]).arg(&table).args(words).current_dir(folder);
    assert!(strace.status().expect("strace").success());
    let text = fs::read_to_string(&table).expect("its table");
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, calls) = (words.last()?, words.get(3)?.parse().ok()?);
        let errors = if words.len() == 6 { words[4].parse().ok()? } else { 0 };
        Some(((*name).to_string(), (calls, errors)))
    };
    text.lines().filter_map(row).filter(|(name, _)| name != "total").collect()
}

fn counted(calls: &CallsRecord) -> BTreeMap<String, (u64, u64)> {
    let rows = calls.calls.iter().filter(|row| row.service.count > 0);
    rows.map(|row| (row.call.clone(), (row.service.count, row.failed()))).collect()
}

fn nothing_is_lost(calls: &CallsRecord) {
    assert_eq!((calls.counts.events_lost, calls.counts.cut), (0, 0), "{:?}", calls.counts);
    let all: u64 = calls.calls.iter().map(|row| row.service.count).sum();
    assert_eq!(all, calls.counts.calls);
}

#[test]
fn a_script_of_many_processes_is_counted_as_strace_counts_it() {
    only_if!(may_run(&["strace"]));
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("sh");
    command.args(["-c", SCRIPT]).current_dir(folder.path());
    let seen = seen(&mut command, &WatchOptions::default());
    nothing_is_lost(&seen.calls);
    let known: Vec<&str> = FileCall::all().iter().map(|call| call.name).collect();
    let mut expected = of_strace(folder.path(), &["sh", "-c", SCRIPT]);
    expected.retain(|name, _| known.contains(&name.as_str()));
    assert_eq!(counted(&seen.calls), expected);
    assert!(seen.calls.counts.processes >= 10, "{:?}", seen.calls.counts);
    let written = seen.calls.row("write").expect("dd writes").bytes_written;
    assert!(written >= 3 * 200 * 4_096, "{written}");
    assert!(seen.calls.cost_ns > 0.0);
}

const LANES: u64 = 4;
const TURNS: u64 = 500;

#[test]
fn four_threads_write() {
    let Some(path) = std::env::var_os("PICKFS_TEST_WRITES") else { return };
    let file = File::create(path).expect("a file");
    thread::scope(|scope| {
        for lane in 0..LANES {
            let file = &file;
            scope.spawn(move || {
                for turn in 0..TURNS {
                    let at = (turn * LANES + lane) * 512;
                    file.write_all_at(&[1; 512], at).expect("write");
                }
                file.sync_data().expect("sync");
            });
        }
    });
}

fn four_threads(folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "four_threads_write"]);
    command.env("PICKFS_TEST_WRITES", folder.join("file")).stdout(std::process::Stdio::null());
    command
}

#[test]
fn threads_are_counted_too() {
    only_if!(may_run(&[]));
    let folder = tempfile::tempdir().expect("a folder");
    let seen = seen(&mut four_threads(folder.path()), &WatchOptions::default());
    nothing_is_lost(&seen.calls);
    let row = seen.calls.row("pwrite64").expect("writes");
    assert_eq!((row.service.count, row.bytes_written), (LANES * TURNS, LANES * TURNS * 512));
    assert_eq!(seen.calls.row("fdatasync").expect("syncs").service.count, LANES);
    assert!(seen.calls.counts.threads > LANES, "{:?}", seen.calls.counts);
}

/// It sleeps in a read of its input, which is a pipe.
fn reads_its_input(process: u32) -> bool {
    let text = fs::read_to_string(format!("/proc/{process}/syscall")).unwrap_or_default();
    text.starts_with("0 0x0 ")
}

#[test]
fn a_process_that_runs_is_watched_with_what_it_starts() {
    only_if!(may_run(&["dd"]));
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "read go; dd if=/dev/zero of=/dev/null bs=1000 count=300 2>/dev/null; echo over >told; read end",
    ]);
    let folder = tempfile::tempdir().expect("a folder");
    let told = folder.path().join("told");
    shell.current_dir(folder.path());
    let mut shell = shell.stdin(std::process::Stdio::piped()).spawn().expect("a shell");
    let mut input = shell.stdin.take().expect("a pipe");
    until("the shell to listen", || reads_its_input(shell.id()).then_some(()));
    let watch = CallWatch::of_process(shell.id(), &WatchOptions::default()).expect("traced");
    use std::io::Write;
    input.write_all(b"go\n").expect("it listens");
    let is_over = || fs::read_to_string(&told).is_ok_and(|text| text == "over\n");
    until("the end of dd", || (is_over() && reads_its_input(shell.id())).then_some(()));
    let seen = watch.finish();
    drop(input);
    shell.wait().expect("it ends");
    nothing_is_lost(&seen.calls);
    // What dd says about itself is written too, and what the shell says.
    let written = seen.calls.row("write").expect("writes").bytes_written;
    assert!((300_000..300_300).contains(&written), "{written}");
    assert_eq!(seen.calls.row("read").expect("reads").unended, 1, "the shell reads its input");
    assert_eq!(seen.calls.counts.processes, 2);
}

/// Synchronous writes of a program, its slow ones joined; all sums hold. Gives the share that is explained, and
/// how many of the scheduler's events were lost.
fn share_of_slow_writes_that_is_explained() -> (f64, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("dd");
    command.args(["if=/dev/zero", "bs=4096", "count=200", "oflag=dsync"]);
    command.arg(format!("of={}", folder.path().join("file").display()));
    command.stderr(std::process::Stdio::null());
    let seen = seen(
        &mut command,
        &WatchOptions { stalls_above_ns: Some(50_000), ..WatchOptions::default() },
    );
    nothing_is_lost(&seen.calls);
    let stalls = seen.stalls.expect("they were asked for");
    let write = stalls.ops.iter().find(|op| op.op == "write").expect("synchronous writes are slow");
    let calls = seen.calls.row("write").map_or(0, |row| row.service.count);
    assert!((100..=calls).contains(&write.operations), "{} of {calls}", write.operations);
    assert!(write.blocked_ns > 0 && write.worst[0].thread == "dd", "{:?}", write.worst[0]);
    let parts = write.on_cpu_ns + write.blocked_ns + write.cpu_wait_ns + write.unexplained_ns;
    assert_eq!(parts, write.total_ns);
    let explained = 1.0 - write.unexplained_ns as f64 / write.total_ns as f64;
    (explained, stalls.counts.events_lost)
}

/// Also on an idle machine, where Linux 6.18 tells neither the wakings of most waits nor the switches that end
/// them: the thread's own records do. Programs that others start meanwhile may fill the rings: such a run is
/// repeated.
#[test]
fn slow_calls_of_a_program_have_a_cause() {
    only_if!(may_run(&["dd"]));
    let mut shares = Vec::new();
    while shares.iter().filter(|(_, lost)| *lost == 0).count() < 3 {
        shares.push(share_of_slow_writes_that_is_explained());
        let (share, lost) = shares[shares.len() - 1];
        assert!(lost > 0 || share > 0.9, "{shares:?}");
        assert!(shares.len() < 60, "events are always lost: {shares:?}");
    }
}
