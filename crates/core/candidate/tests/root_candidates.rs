//! Root ring: every file system that this machine can mount is made, mounted,
//! written, read back, unmounted, and leaves nothing.
#![allow(clippy::unwrap_used)]

mod ring;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pickfs_candidate::{Availability, Mounted, Scratch, TargetError, availability, fs as rows};
use pickfs_record::{BackingKind, BackingSpec, DeviceState, Durability, StepRecord};
use pickfs_sys::{loop_device, mount};
use ring::zram::Zram;

const SIZE_BYTES: u64 = 320 << 20;

const TESTS: &[ring::Test] = &[
    ("every_verified_file_system_lives_and_leaves_nothing", every_verified_file_system),
    ("mkfs_unwrites_an_image_and_repair_mends_it", mkfs_unwrites_and_repair_mends),
    ("a_named_size_is_made_and_options_are_in_force", options_are_in_force),
    ("a_ram_image_says_so", a_ram_image_says_so),
    ("what_cannot_run_says_why_and_what_helps", what_cannot_run_says_why),
    ("a_failed_make_leaves_nothing", a_failed_make_leaves_nothing),
    ("a_dropped_mount_is_unmounted", a_dropped_mount_is_unmounted),
    ("a_named_device_carries_every_file_system_in_both_states", a_named_device_carries_all),
    ("a_directory_is_used_as_it_is", a_directory_is_used_as_it_is),
    ("the_card_and_the_probe_leave_the_scratch_usable", the_card_and_the_probe),
    ("a_smaller_size_is_made_on_a_larger_device", a_smaller_size_is_made),
    ("a_busy_mount_says_so_and_lets_go_later", a_busy_mount_says_so),
    ("a_file_that_is_closed_a_moment_later_is_waited_for", a_late_close_is_waited_for),
    ("a_killed_lab_leaves_no_daemon_and_no_pool", a_killed_lab_leaves_no_daemon),
    ("an_image_that_fills_its_host_is_refused", an_image_that_fills_its_host_is_refused),
];

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("hold-a-pool") => hold_a_pool(),
        _ => ring::run(TESTS),
    }
}

fn scratch(run_dir: &Path) -> Scratch {
    let backing = BackingSpec::Loop { size_bytes: SIZE_BYTES, directory: None };
    Scratch::prepare(&backing, run_dir, &mut |_| {}).unwrap()
}

fn make<'s>(
    scratch: &'s mut Scratch,
    candidate: &str,
    at: &Path,
    log: &mut Vec<StepRecord>,
) -> Mounted<'s> {
    let made = scratch.make_and_mount(&candidate.parse().unwrap(), at, log);
    made.unwrap_or_else(|error| panic!("{candidate}: {error}"))
}

fn write_and_read_back(directory: &Path) {
    let path = directory.join("bytes");
    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n * 7 % 251) as u8).collect();
    let mut file = File::create(&path).unwrap();
    file.write_all(&bytes).unwrap();
    file.sync_all().unwrap();
    drop(file);
    let mut read = Vec::new();
    File::open(&path).unwrap().read_to_end(&mut read).unwrap();
    assert!(read == bytes);
}

fn nothing_is_left(before: &Leftovers, run_dir: &Path) {
    let at = run_dir.join("mnt");
    let after = Leftovers::now(run_dir);
    assert_eq!(before, &after);
    assert!(!at.exists(), "{} is still there", at.display());
}

#[derive(Debug, PartialEq)]
struct Leftovers {
    mounts: Vec<PathBuf>,
    loops: usize,
    folders: Vec<bool>,
}

impl Leftovers {
    fn now(run_dir: &Path) -> Self {
        let folders = ["/run/zfs", "/run/lock/zfs"].iter().map(|path| Path::new(path).exists());
        let mounts = mount::mounts().unwrap().into_iter().map(|one| one.mount_point);
        Self {
            // A network namespace that a test beside this one deletes leaves this table, too.
            mounts: mounts.filter(|at| !at.starts_with("/run/netns")).collect(),
            loops: ours(run_dir),
            folders: folders.collect(),
        }
    }
}

fn every_verified_file_system() {
    let (_folder, run_dir) = ring::folder();
    let at = run_dir.join("mnt");
    let outside = Leftovers::now(&run_dir);
    let mut scratch = scratch(&run_dir);
    let before = Leftovers::now(&run_dir);
    let expected_drivers = [
        ("ext2", "ext4"),
        ("ext3", "ext4"),
        ("ext4", "ext4"),
        ("xfs", "xfs"),
        ("btrfs", "btrfs"),
        ("tmpfs", "tmpfs"),
        ("ramfs", "ramfs"),
        ("ntfs-3g", "ntfs-3g (FUSE)"),
        ("exfat-fuse", "exfat-fuse (FUSE)"),
        ("ext4-fuse2fs", "fuse2fs (FUSE)"),
        ("ext3-fuse2fs", "fuse2fs (FUSE)"),
        ("ext2-fuse2fs", "fuse2fs (FUSE)"),
        ("zfs-fuse", "zfs-fuse (FUSE)"),
    ];
    for (name, driver) in expected_drivers {
        if let Availability::Missing(missing) = availability(name) {
            ring::skip(&missing.to_string());
            continue;
        }
        let mut log = Vec::new();
        let mut mounted = make(&mut scratch, name, &at, &mut log);
        let facts = mounted.environment.clone();
        assert_eq!(facts.get("mount.driver"), Some(driver), "{name}");
        let options = facts.get("mount.options").unwrap();
        assert!(!options.split(',').any(|o| o.starts_with("discard")), "{name}: {options}");
        assert!(options.starts_with("rw"), "{name}: {options}");
        let block = facts.get("mount.block_size_bytes");
        let own_size = ["zfs-fuse", "exfat-fuse"].contains(&name);
        assert!(block == Some("4096") || own_size, "{name}: {block:?}");
        let image = mounted.image;
        if ["tmpfs", "ramfs"].contains(&name) {
            assert_eq!(mounted.backing, BackingKind::Memory);
            assert_eq!(mounted.promise.durability, Durability::ProcessCrash);
            assert_eq!(image, None);
        } else {
            assert_eq!(mounted.backing, BackingKind::LoopImage);
            let image = image.unwrap();
            assert!(image.direct_io, "{name}");
            assert_eq!(image.holes_before_bytes, 0, "{name}");
            assert!(facts.get("device.rotational").is_some(), "{name}");
            assert!(facts.get("host.fs_type").is_some(), "{name}");
        }
        write_and_read_back(&mounted.directory);
        let again = mounted.mount_again(&mut log).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again, mounted.backing == BackingKind::LoopImage, "{name}");
        let kept = fs::metadata(mounted.directory.join("bytes")).map(|facts| facts.len());
        assert_eq!(kept.ok(), Some(3_000_000), "{name}");
        let image = mounted.unmount(&mut log).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(image.map_or(0, |image| image.holes_after_bytes), 0, "{name}");
        assert!(log.iter().all(|record| record.succeeded), "{name}: {log:?}");
        nothing_is_left(&before, &run_dir);
    }
    scratch.remove().unwrap();
    assert_eq!(outside, Leftovers::now(&run_dir));
}

fn mkfs_unwrites_and_repair_mends() {
    let (_folder, run_dir) = ring::folder();
    let mut scratch = scratch(&run_dir);
    assert_eq!(scratch.image_state().unwrap().unwrap().holes_before_bytes, 0);
    for name in ["ext4", "xfs"] {
        if !ring::have(&[&format!("mkfs.{name}")]) {
            continue;
        }
        let mounted = make(&mut scratch, name, &run_dir.join("mnt"), &mut Vec::new());
        let image = mounted.image.unwrap();
        assert!(image.repaired_bytes >= 1 << 20, "{name}: {image:?}");
        assert_eq!(image.holes_before_bytes, 0, "{name}");
        mounted.unmount(&mut Vec::new()).unwrap();
    }
}

fn options_are_in_force() {
    let (_folder, run_dir) = ring::folder();
    let mut scratch = scratch(&run_dir);
    let candidate = "ext4:noatime,barrier=0;mkfs=-O ^has_journal -b 1024";
    let mounted = make(&mut scratch, candidate, &run_dir.join("mnt"), &mut Vec::new());
    let options = mounted.environment.get("mount.options").unwrap().to_string();
    assert!(options.contains("noatime") && options.contains("nobarrier"), "{options}");
    assert_eq!(mounted.environment.get("mount.block_size_bytes"), Some("1024"));
    assert_eq!(mounted.promise.durability, Durability::KernelCrash);
    mounted.unmount(&mut Vec::new()).unwrap();
    let btrfs = make(&mut scratch, "btrfs:discard=async", &run_dir.join("mnt"), &mut Vec::new());
    let options = btrfs.environment.get("mount.options").unwrap().to_string();
    assert!(options.contains("discard=async"), "{options}");
}

fn a_ram_image_says_so() {
    let (_folder, run_dir) = ring::folder();
    let before = Leftovers::now(&run_dir);
    let backing = BackingSpec::Ram { size_bytes: SIZE_BYTES };
    let mut scratch = Scratch::prepare(&backing, &run_dir, &mut |_| {}).unwrap();
    let probe = scratch.raw_probe(0.1).unwrap();
    assert!(probe.count > 0);
    let mounted = make(&mut scratch, "xfs", &run_dir.join("mnt"), &mut Vec::new());
    assert_eq!(mounted.backing, BackingKind::RamImage);
    assert_eq!(mounted.promise.durability, Durability::ProcessCrash);
    assert_eq!(mounted.image.unwrap().holes_before_bytes, 0);
    mounted.unmount(&mut Vec::new()).unwrap();
    scratch.remove().unwrap();
    assert_eq!(before, Leftovers::now(&run_dir));
    assert_eq!(fs::read_dir(&run_dir).unwrap().count(), 0);
}

fn what_cannot_run_says_why() {
    let (_folder, run_dir) = ring::folder();
    let mut scratch = scratch(&run_dir);
    for row in rows::FILE_SYSTEMS {
        if availability(row.name) == Availability::Ready {
            continue;
        }
        let mut log = Vec::new();
        let candidate = row.name.parse().unwrap();
        let error = scratch.make_and_mount(&candidate, &run_dir.join("mnt"), &mut log);
        let TargetError::Unavailable(why) = error.unwrap_err() else { panic!("{}", row.name) };
        assert!(!why.reason.is_empty() && !why.remedy.is_empty());
        println!("  {}: {why}", row.name);
        assert!(log.is_empty());
    }
    let small = BackingSpec::Loop { size_bytes: 64 << 20, directory: None };
    let mut small = Scratch::prepare(&small, &run_dir, &mut |_| {}).unwrap();
    let error = small.make_and_mount(&"xfs".parse().unwrap(), &run_dir, &mut Vec::new());
    assert_eq!(
        error.unwrap_err().to_string(),
        "xfs needs at least 300 MiB, the scratch has 64 MiB; ask for a larger one"
    );
}

fn a_failed_make_leaves_nothing() {
    let (_folder, run_dir) = ring::folder();
    let mut scratch = scratch(&run_dir);
    let before = Leftovers::now(&run_dir);
    let at = run_dir.join("mnt");
    for candidate in ["ext4;mkfs=--nonsense", "xfs:nonsense", "zfs-fuse;mkfs=-o nonsense=1"] {
        let mut log = Vec::new();
        let error = scratch.make_and_mount(&candidate.parse().unwrap(), &at, &mut log).unwrap_err();
        let is_skipped = matches!(error, TargetError::Unavailable(_));
        assert!(!is_skipped || candidate.starts_with("zfs"), "{error}");
        nothing_is_left(&before, &run_dir);
    }
    let error = scratch.make_and_mount(&"xfs:nonsense".parse().unwrap(), &at, &mut Vec::new());
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("xfs refuses the mount option `nonsense`"), "{text}");
    make(&mut scratch, "ext4", &at, &mut Vec::new()).unmount(&mut Vec::new()).unwrap();
}

fn a_dropped_mount_is_unmounted() {
    let (_folder, run_dir) = ring::folder();
    let mut scratch = scratch(&run_dir);
    let before = Leftovers::now(&run_dir);
    let at = run_dir.join("mnt");
    drop(make(&mut scratch, "ext4", &at, &mut Vec::new()));
    nothing_is_left(&before, &run_dir);
}

fn an_image_that_fills_its_host_is_refused() {
    let (_folder, run_dir) = ring::folder();
    let host = mount::MountRequest::new("none", &run_dir, "tmpfs").options("size=100m");
    let host = mount::Mounted::mount(&host).unwrap();
    let backing = BackingSpec::Loop { size_bytes: 95 << 20, directory: None };
    let error = Scratch::prepare(&backing, &run_dir, &mut |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("an image of 99614720 bytes is too much"), "{error}");
    host.unmount().unwrap();
}

fn a_named_device_carries_all() {
    let Some(zram) = Zram::add() else { return };
    let (_folder, run_dir) = ring::folder();
    let before = Leftovers::now(&run_dir);
    for state in [DeviceState::Filled, DeviceState::Discarded] {
        zram.blank();
        let backing = BackingSpec::Device {
            path: zram.path(),
            erase: false,
            state,
            size_bytes: None,
            log_device: None,
        };
        let mut scratch = Scratch::prepare(&backing, &run_dir, &mut |_| {}).unwrap();
        assert!(scratch.raw_probe(0.05).unwrap().count > 0);
        for name in ["ext4", "xfs", "btrfs", "ntfs-3g", "zfs-fuse", "ext4"] {
            if availability(name) != Availability::Ready {
                ring::skip(&format!("{name} cannot be tried here"));
                continue;
            }
            let mut log = Vec::new();
            let mounted = make(&mut scratch, name, &run_dir.join("mnt"), &mut log);
            assert_eq!(mounted.backing, BackingKind::Disk);
            assert_eq!(mounted.image, None);
            let facts = &mounted.environment;
            assert_eq!(facts.get("device.write_cache"), Some("write through"), "{name}");
            write_and_read_back(&mounted.directory);
            mounted.unmount(&mut log).unwrap_or_else(|error| panic!("{name}: {error}"));
            let guard = |record: &&StepRecord| record.step.action.to_string().contains("interlock");
            assert!(log.iter().filter(guard).count() >= 3, "{name}");
            nothing_is_left(&before, &run_dir);
        }
        scratch.remove().unwrap();
    }
}

fn a_directory_is_used_as_it_is() {
    let (_folder, directory) = ring::folder();
    fs::write(directory.join("theirs"), b"keep").unwrap();
    let backing = BackingSpec::directory(directory.clone());
    let mut scratch = Scratch::prepare(&backing, &directory, &mut |_| {}).unwrap();
    let mounted = make(&mut scratch, "dir", Path::new("/nowhere"), &mut Vec::new());
    assert_eq!(mounted.backing, BackingKind::Directory);
    assert!(mounted.directory.starts_with(&directory));
    for key in ["mount.driver", "directory.fill_share", "directory.free_extents"] {
        assert!(mounted.environment.get(key).is_some(), "{key}");
    }
    write_and_read_back(&mounted.directory);
    mounted.unmount(&mut Vec::new()).unwrap();
    let names: Vec<_> =
        fs::read_dir(&directory).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(names, ["theirs"]);
}

fn the_card_and_the_probe() {
    let (_folder, run_dir) = ring::folder();
    let mut scratch = scratch(&run_dir);
    let card = scratch.card(0.2).unwrap();
    for key in ["card.sequential_write_mb_s", "card.flush_p50_ns", "device.scheduler"] {
        assert!(card.get(key).is_some(), "{key}: {card:?}");
    }
    assert!(scratch.raw_probe(0.05).unwrap().p50_ns > 0);
    assert_eq!(scratch.image_state().unwrap().unwrap().holes_before_bytes, 0);
    let mounted = make(&mut scratch, "xfs", &run_dir.join("mnt"), &mut Vec::new());
    write_and_read_back(&mounted.directory);
    mounted.unmount(&mut Vec::new()).unwrap();
}

fn a_smaller_size_is_made() {
    let (_folder, run_dir) = ring::folder();
    let backing = BackingSpec::Loop { size_bytes: 512 << 20, directory: None };
    let mut scratch = Scratch::prepare(&backing, &run_dir, &mut |_| {}).unwrap();
    let limit_bytes = 304 << 20;
    scratch.limit_size(limit_bytes);
    for name in ["ext2", "ext4", "xfs", "btrfs", "tmpfs", "ntfs-3g"] {
        if availability(name) != Availability::Ready {
            ring::skip(&format!("{name} cannot be tried here"));
            continue;
        }
        let mounted = make(&mut scratch, name, &run_dir.join("mnt"), &mut Vec::new());
        let size: u64 = mounted.environment.get("mount.size_bytes").unwrap().parse().unwrap();
        assert!(size <= limit_bytes && size > limit_bytes / 2, "{name}: {size}");
        mounted.unmount(&mut Vec::new()).unwrap();
    }
    let zfs = scratch.make_and_mount(&"zfs-fuse".parse().unwrap(), &run_dir, &mut Vec::new());
    let TargetError::Unavailable(why) = zfs.unwrap_err() else { panic!("it is not skipped") };
    assert!(why.reason.contains("whole") || why.reason.contains("not found"), "{why}");
}

fn a_busy_mount_says_so() {
    let (_folder, run_dir) = ring::folder();
    let mut scratch = scratch(&run_dir);
    let at = run_dir.join("mnt");
    let mounted = make(&mut scratch, "ext4", &at, &mut Vec::new());
    let file = File::create(at.join("open")).unwrap();
    let mut log = Vec::new();
    let text = mounted.unmount(&mut log).unwrap_err().to_string();
    assert!(
        text.ends_with("is busy; a program has a file or its working directory there"),
        "{text}"
    );
    assert!(!log[0].succeeded);
    drop(file);
    mount::unmount(&at).unwrap();
}

/// As the kernel closes the files of an io_uring after its process has ended.
fn a_late_close_is_waited_for() {
    let (_folder, run_dir) = ring::folder();
    let mut scratch = scratch(&run_dir);
    let at = run_dir.join("mnt");
    let mounted = make(&mut scratch, "ext4", &at, &mut Vec::new());
    let file = File::create(at.join("open")).unwrap();
    let closing = std::thread::spawn(move || {
        // SLEEP: the lateness.
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(file);
    });
    let mut log = Vec::new();
    mounted.unmount(&mut log).unwrap();
    closing.join().unwrap();
    assert!(log[0].succeeded && log[0].output.starts_with("busy for"), "{:?}", log[0]);
}

/// The other role of this program: makes a pool in a private room of its own, and waits.
fn hold_a_pool() {
    if !pickfs_sys::namespace::is_private() {
        let words = std::env::args().skip(1);
        let status = pickfs_sys::namespace::run_private(words, &[]).unwrap();
        std::process::exit(pickfs_sys::namespace::exit_code(status));
    }
    let run_dir = PathBuf::from(std::env::args().nth(2).unwrap());
    let mut scratch = scratch(&run_dir);
    let _mounted = make(&mut scratch, "zfs-fuse", &run_dir.join("mnt"), &mut Vec::new());
    println!("up");
    // SLEEP: it is killed.
    std::thread::sleep(std::time::Duration::from_secs(1_000));
}

fn a_killed_lab_leaves_no_daemon() {
    if availability("zfs-fuse") != Availability::Ready {
        ring::skip("zfs-fuse cannot be tried here");
        return;
    }
    let (_folder, run_dir) = ring::folder();
    let words = ["hold-a-pool", run_dir.to_str().unwrap()];
    let child = Command::new("/proc/self/exe")
        .args(words)
        .env_remove("PICKFS_OUTER_MOUNT_NAMESPACE")
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    assert_eq!(ours(&run_dir), 1);
    assert!(daemons() > 0);
    child.kill().unwrap();
    child.wait().unwrap();
    let is_gone = || ours(&run_dir) == 0 && daemons() == 0;
    pickfs_testkit::until("the end of daemon and loop device", || is_gone().then_some(()));
    let _ = fs::remove_dir("/run/zfs");
    let _ = fs::remove_dir("/run/lock/zfs");
}

fn ours(run_dir: &Path) -> usize {
    let attached = loop_device::attached();
    attached.iter().filter(|one| one.backing_file.starts_with(run_dir)).count()
}

fn daemons() -> usize {
    let named = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("comm")).ok();
    let names = fs::read_dir("/proc").unwrap().flatten().filter_map(named);
    names.filter(|name| name.trim() == "zfs-fuse").count()
}
