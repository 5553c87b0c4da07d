//! Root ring: the private namespace leaves nothing behind, however its processes end.
//!
//! This program plays three roles, chosen by its first argument: the tests themselves (none),
//! `outer FOLDER ACT`, which enters the namespace, and `inner FOLDER ACT`, which runs inside.
//! Every process of a test carries its folder's name in its arguments, so that it can be found.
#![allow(clippy::unwrap_used)]

use pickfs_sys::loop_device::{self, LoopDevice};
use pickfs_sys::mount::{self, MountRequest};
use pickfs_sys::namespace;
use pickfs_sys::proc_root::ProcRoot;
use pickfs_testkit::{may_run, only_if, until};
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

type Test = (&'static str, fn());
const TESTS: [Test; 7] = [
    ("the_status_comes_through", the_status_comes_through),
    ("kill_9_of_outer_leaves_nothing", kill_9_of_outer_leaves_nothing),
    ("kill_9_of_inner_leaves_nothing", kill_9_of_inner_leaves_nothing),
    ("an_ordinary_end_leaves_nothing", an_ordinary_end_leaves_nothing),
    ("a_signal_reaches_inner_once", a_signal_reaches_inner_once),
    ("orphans_are_reaped", orphans_are_reaped),
    ("the_host_proc_stays_in_reach", the_host_proc_stays_in_reach),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["outer", folder, act] => outer(folder, act),
        ["inner", folder, act] => inner(Path::new(folder), act),
        ["--list", ..] => TESTS.iter().for_each(|(name, _)| println!("{name}: test")),
        _ => run_tests(&arguments),
    }
}

fn run_tests(arguments: &[String]) {
    only_if!(may_run(&["/dev/loop-control", "mkfs.ext4", "setsid"]));
    let filters: Vec<_> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(*f));
    for (name, test) in TESTS.iter().filter(|(name, _)| wanted(name)) {
        print!("test {name} ... ");
        test();
        println!("ok");
    }
}

fn outer(folder: &str, act: &str) {
    assert!(!namespace::is_private());
    let status = namespace::run_private(["inner", folder, act], handed(act)).unwrap();
    assert!(!status.core_dumped());
    std::process::exit(namespace::exit_code(status));
}

fn handed(act: &str) -> &'static [u8] {
    if act == "exit-7" { b"" } else { b"a plan" }
}

fn memories() -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap();
    let names = open.filter_map(|open| fs::read_link(open.unwrap().path()).ok());
    names.filter(|name| name.to_string_lossy().starts_with("/memfd:")).count()
}

fn inner(folder: &Path, act: &str) {
    assert!(namespace::is_private());
    assert_eq!(memories(), usize::from(!handed(act).is_empty()));
    assert_eq!(namespace::handed().unwrap(), handed(act));
    assert_eq!(namespace::handed().unwrap(), b"", "it is taken once");
    assert_eq!(memories(), 0, "no program that is started gets it");
    match act {
        "exit-7" => std::process::exit(7),
        "hold" => hold(folder),
        "hold-briefly" => drop(set_up(folder)),
        "count-signals" => count_signals(folder),
        "orphans" => make_orphans(folder),
        "host" => look_at_host(folder),
        other => panic!("no act {other}"),
    }
}

fn set_up(folder: &Path) -> (LoopDevice, fs::File) {
    let image_path = folder.join("image");
    let image = fs::File::options().create_new(true).read(true).write(true).open(&image_path);
    let image = image.unwrap();
    image.set_len(32 << 20).unwrap();
    fs::remove_file(&image_path).unwrap();
    let device = LoopDevice::attach(&image).unwrap();
    let made = Command::new("mkfs.ext4").arg("-qF").arg(device.path()).status().unwrap();
    assert!(made.success());
    let target = folder.join("mnt");
    mount::mount(&MountRequest::new(device.path(), &target, "ext4")).unwrap();
    let busy = fs::File::create(target.join("busy")).unwrap();
    orphan(folder, "1000");
    (device, busy)
}

fn hold(folder: &Path) {
    let _held = set_up(folder);
    say_ready(folder);
    // SLEEP: it is killed.
    std::thread::sleep(std::time::Duration::from_secs(1000));
}

fn say_ready(folder: &Path) {
    fs::write(folder.join("ready"), "").unwrap();
}

fn orphan(folder: &Path, seconds: &str) {
    let script = format!("(setsid sh -c 'sleep {seconds}; :' {} &)", folder.display());
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
}

fn count_signals(folder: &Path) {
    let ready = folder.join("ready");
    let script = "n=0; trap 'n=$((n+1))' TERM; : > \"$1\"; \
        while [ $n = 0 ]; do sleep 0.1; done; sleep 0.3; sleep 0.3; sleep 0.3; exit $((40 + n))";
    let error = Command::new("sh").args(["-c", script, "sh"]).arg(ready).exec();
    panic!("{error}");
}

fn make_orphans(folder: &Path) {
    for _ in 0..5 {
        orphan(folder, "0.01");
    }
    let only_init_and_we = || ProcRoot::own().process_ids().unwrap() == [1, std::process::id()];
    until("the end of the orphans", || only_init_and_we().then_some(()));
    std::process::exit(9);
}

fn look_at_host(folder: &Path) {
    let outside: u32 = fs::read_to_string(folder.join("tests-pid")).unwrap().parse().unwrap();
    let host = ProcRoot::host();
    assert!(fs::read(host.process(outside).join("mountinfo")).is_ok());
    assert!(host.process_ids().unwrap().contains(&outside));
    assert!(ProcRoot::own().process_ids().unwrap().len() < 5);
    let target = folder.join("mnt");
    mount::mount(&MountRequest::new("none", &target, "tmpfs")).unwrap();
    let seen = |root: &ProcRoot, at: &Path| {
        let everywhere = mount::mounts_everywhere(root).unwrap();
        everywhere.mounts.iter().any(|m| m.entry.mount_point == at)
    };
    assert!(seen(&host, &target) && seen(&ProcRoot::own(), &target));
    std::process::exit(11);
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("pickfs-room-").tempdir_in("/var/tmp").unwrap();
    fs::create_dir(folder.path().join("mnt")).unwrap();
    folder
}

fn start(folder: &Path, act: &str) -> Child {
    let mut outer = Command::new(std::env::current_exe().unwrap());
    outer.arg("outer").arg(folder).arg(act).stdin(Stdio::null());
    outer.process_group(0).spawn().unwrap()
}

fn wait_ready(folder: &Path) {
    until("inner to be ready", || folder.join("ready").exists().then_some(()));
}

fn processes(folder: &Path, word: &str) -> Vec<u32> {
    let name = folder.to_str().unwrap();
    let ids = ProcRoot::own().process_ids().unwrap().into_iter();
    ids.filter(|id| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains(name) && line.contains(word)
    })
    .collect()
}

fn loops(folder: &Path) -> Vec<PathBuf> {
    let ours = |file: &PathBuf| file.starts_with(folder);
    loop_device::attached().into_iter().map(|one| one.backing_file).filter(ours).collect()
}

fn mounts(folder: &Path) -> Vec<PathBuf> {
    let everywhere = mount::mounts_everywhere(&ProcRoot::own()).unwrap();
    let points = everywhere.mounts.into_iter().map(|m| m.entry.mount_point);
    points.filter(|point| point.starts_with(folder)).collect()
}

#[track_caller]
fn assert_something(folder: &Path) {
    until("the orphan alone", || (processes(folder, "sleep").len() == 1).then_some(()));
    assert_eq!((loops(folder).len(), mounts(folder).len()), (1, 1));
    let visible = mount::mounts().unwrap();
    assert!(visible.iter().all(|m| !m.mount_point.starts_with(folder)), "the mount is private");
}

#[track_caller]
fn assert_nothing(folder: &Path) {
    until("the end of every process", || processes(folder, "").is_empty().then_some(()));
    until("the end of every mount", || mounts(folder).is_empty().then_some(()));
    until("the end of every loop device", || loops(folder).is_empty().then_some(()));
}

fn signal(name: &str, process: &str) {
    assert!(Command::new("kill").args(["-s", name, "--", process]).status().unwrap().success());
}

fn the_status_comes_through() {
    let folder = folder();
    assert_eq!(start(folder.path(), "exit-7").wait().unwrap().code(), Some(7));
}

fn kill_9_of_outer_leaves_nothing() {
    let folder = folder();
    let mut outer = start(folder.path(), "hold");
    wait_ready(folder.path());
    assert_something(folder.path());
    signal("KILL", &outer.id().to_string());
    outer.wait().unwrap();
    assert_nothing(folder.path());
}

fn kill_9_of_inner_leaves_nothing() {
    let folder = folder();
    let mut outer = start(folder.path(), "hold");
    wait_ready(folder.path());
    assert_something(folder.path());
    let inner = processes(folder.path(), "inner");
    assert_eq!(inner.len(), 1);
    signal("KILL", &inner[0].to_string());
    assert_eq!(outer.wait().unwrap().code(), Some(128 + 9));
    assert_nothing(folder.path());
}

fn an_ordinary_end_leaves_nothing() {
    let folder = folder();
    let status = start(folder.path(), "hold-briefly").wait().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_nothing(folder.path());
}

fn a_signal_reaches_inner_once() {
    let to_group = |id: u32| format!("-{id}");
    for whom in [&(|id: u32| id.to_string()) as &dyn Fn(u32) -> String, &to_group] {
        let folder = folder();
        let mut outer = start(folder.path(), "count-signals");
        wait_ready(folder.path());
        signal("TERM", &whom(outer.id()));
        assert_eq!(outer.wait().unwrap().code(), Some(41));
    }
}

fn orphans_are_reaped() {
    let folder = folder();
    assert_eq!(start(folder.path(), "orphans").wait().unwrap().code(), Some(9));
}

fn the_host_proc_stays_in_reach() {
    let folder = folder();
    fs::write(folder.path().join("tests-pid"), std::process::id().to_string()).unwrap();
    assert_eq!(start(folder.path(), "host").wait().unwrap().code(), Some(11));
    assert_nothing(folder.path());
}
