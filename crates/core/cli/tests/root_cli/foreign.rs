use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use crate::pickfs::{Said, folder, only_run, pickfs, record};
use pickfs_store::RunFile;
use pickfs_sys::loop_device::LoopDevice;
use pickfs_testkit::{may_run, only_if};

const SHORT: &[&str] =
    &["--blocks", "1", "--measure", "100ms", "--warmup", "0s", "--raw-probe", "0s"];

struct Foreign {
    image: PathBuf,
    device: LoopDevice,
}

impl Foreign {
    fn new(folder: &Path, name: &str, size_bytes: u64) -> Self {
        let image = folder.join(name);
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&image);
        let file = file.unwrap();
        file.set_len(size_bytes).unwrap();
        let device = LoopDevice::attach(&file).unwrap();
        Self { image, device }
    }

    fn ext4(folder: &Path, name: &str) -> Self {
        let foreign = Self::new(folder, name, 64 << 20);
        let status = Command::new("mkfs.ext4").args(["-q", "-F", foreign.node()]).status();
        assert!(status.unwrap().success());
        foreign
    }

    fn node(&self) -> &str {
        self.device.path().to_str().unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        self.device.file().sync_all().unwrap();
        fs::read(&self.image).unwrap()
    }
}

fn quick(out: &Path, words: &[&str]) -> Said {
    let first = ["run", "quick", "--set", "sync=none", "--out", out.to_str().unwrap()];
    pickfs(&[&first[..], SHORT, words].concat())
}

#[test]
fn a_device_that_options_name_is_not_touched() {
    only_if!(may_run(&["/dev/loop-control"]));
    let (_kept, folder) = folder();
    let foreign = Foreign::ext4(&folder, "foreign.img");
    let (before, node) = (foreign.bytes(), foreign.node());
    for candidate in [
        format!("btrfs;mkfs={node}"),
        format!("xfs:logdev={node};mkfs=-l logdev={node},size=64m"),
        format!("ext4;mkfs=-J device={node}"),
        format!("ext4:journal_path={node}"),
    ] {
        let words = ["--ram", "--size", "330MiB", "--fs", &candidate];
        let said = quick(&folder.join("runs"), &words);
        assert_ne!(said.code, Some(0), "{candidate}: {said:?}");
        assert!(said.err.contains(&format!("candidate `{candidate}`: `")), "{}", said.err);
        assert!(said.err.contains("outside the scratch") || said.err.contains("another device"));
        let is_log = !candidate.starts_with("btrfs");
        assert_eq!(said.err.contains("--device NODE --log-device NODE"), is_log, "{}", said.err);
        assert!(!folder.join("runs").exists(), "{candidate}: refused before anything is made");
        assert!(foreign.bytes() == before, "{candidate}: the device was written");
    }
}

/// The loop device as losetup(8) leaves it: open in no program.
#[test]
fn a_device_that_is_too_small_for_every_candidate_is_not_written() {
    only_if!(may_run(&["/dev/loop-control"]));
    let (_kept, folder) = folder();
    let image = folder.join("small.img");
    File::create(&image).unwrap().set_len(1 << 20).unwrap();
    let losetup = |words: &[&str]| {
        let output = Command::new("losetup").args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let node = losetup(&["--show", "-f", image.to_str().unwrap()]);
    let made = Command::new("mkfs.ext2").args(["-q", "-F", &node]).status().unwrap();
    let before = fs::read(&image).unwrap();
    let words = ["--fs", "ext4,xfs", "--device", &node, "--erase"];
    let said = quick(&folder.join("runs"), &words);
    losetup(&["-d", &node]);
    assert!(made.success());
    assert_eq!(said.code, Some(4), "{said:?}");
    for words in [
        "ext4 needs at least 16 MiB, the scratch has 1 MiB",
        "xfs needs at least 300 MiB, the scratch has 1 MiB",
        "fix      name a larger device\n",
    ] {
        assert!(said.out.contains(words), "{words}: {said:?}");
    }
    assert!(fs::read(&image).unwrap() == before, "the device was written");
}

#[test]
fn a_run_from_elsewhere_is_shown_before_its_commands_run() {
    only_if!(may_run(&["/dev/loop-control"]));
    let (_kept, folder) = folder();
    let (out, trace) = (folder.join("runs"), folder.join("trace"));
    let command = format!("date >> {}", trace.display());
    let ground = ["--ram", "--size", "32MiB", "--fs", "ext4:noatime", "--blocks", "1"];
    let to = ["--user", "root", "--out", out.to_str().unwrap(), "--setup", "true # first"];
    let said = pickfs(&[&["exec"][..], &ground, &to, &["--", &command]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let run = only_run(&out);
    let lines = || fs::read_to_string(&trace).unwrap().lines().count();
    // A disturbed trial is repeated, so more runs than one are possible each time.
    let first = lines();
    assert!(first > 0);
    let again = folder.join("again");
    let rerun = |run: &Path, more: &[&str]| {
        let words = ["run", "--again", run.to_str().unwrap(), "--out", again.to_str().unwrap()];
        pickfs(&[&words[..], more].concat())
    };
    assert_eq!(rerun(&run, &[]).code, Some(0), "a run of this machine needs no yes");
    let second = lines();
    assert!(second > first);
    let mut stranger = record(&run);
    stranger.plan.params["command"] = format!("{command} # changed").into();
    stranger.trials.clear();
    fs::create_dir(folder.join("stranger")).unwrap();
    let file = folder.join("stranger/run.pickfs");
    drop(RunFile::create(&file, &stranger).unwrap());
    for words in [["run", "--again"], ["run", "--resume"]] {
        let said = pickfs(&[&words[..], &[file.to_str().unwrap()]].concat());
        assert_ne!(said.code, Some(0), "{said:?}");
        for shown in ["true # first", &command, "-o noatime", "mkfs.ext4 -q -F", "--yes"] {
            assert!(said.err.contains(shown), "{words:?} does not show {shown}: {}", said.err);
        }
        assert_eq!(lines(), second, "{words:?}: the command ran");
    }
    let said = rerun(&file, &["--yes"]);
    assert!(said.code == Some(0) && lines() > second, "{said:?}");
    let third = lines();
    std::os::unix::fs::chown(run.join("run.pickfs"), Some(65_534), None).unwrap();
    let said = rerun(&run, &[]);
    assert!(said.err.contains("can be written by somebody else"), "{said:?}");
    assert_eq!(lines(), third, "the command ran");
}

#[test]
fn the_steps_of_a_plan_hold_its_commands_and_no_label_hides_options() {
    let (_kept, folder) = folder();
    let plan = folder.join("mine.toml");
    let text = r#"
name = "mine"
question = "Which?"
candidates = [{ spec = "ext4:nobarrier", label = "safe" }, "ext4"]
workload = "command"
params = { command = "make", setup = "curl x | sh", teardown = "rm -rf out", "vm.dirty_ratio" = "11" }
consent = { system_tuning = true, drop_caches = true }
[design]
blocks = 1
reference = "safe"
primary = []
"#;
    fs::write(&plan, text).unwrap();
    let said = pickfs(&["plan", plan.to_str().unwrap(), "--steps"]);
    for shown in [
        "# safe = ext4:nobarrier",
        "make ",
        "curl x | sh",
        "rm -rf out",
        "vm.dirty_ratio = 11",
        "page cache",
    ] {
        assert!(said.out.contains(shown), "{shown}: {said:?}");
    }
    let said = pickfs(&["plan", plan.to_str().unwrap()]);
    assert!(said.out.contains("safe = ext4:nobarrier"), "{said:?}");
}
