//! Root ring: nothing but the scratch is written, whatever a candidate or a stored run asks for.
#![allow(clippy::unwrap_used)]

mod pickfs;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use pickfs::{Said, folder, is_root, pickfs};
use pickfs_sys::loop_device::{LoopDevice, LoopOptions};

const SHORT: &[&str] =
    &["--blocks", "1", "--measure", "100ms", "--warmup", "0s", "--raw-probe", "0s"];

fn is_skipped() -> bool {
    if is_root() && Path::new("/dev/loop-control").exists() {
        return false;
    }
    assert!(std::env::var_os("PICKFS_REQUIRE_ROOT_RING").is_none(), "the root ring needs root");
    println!("SKIPPED(root ring): loop devices are attached");
    true
}

/// A device of the test's own over an image file.
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
        let device = LoopDevice::attach(&file, &LoopOptions::default()).unwrap();
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

    /// Its bytes, that they may be compared.
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
    if is_skipped() {
        return;
    }
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
        assert!(!folder.join("runs").exists(), "{candidate}: refused before anything is made");
        assert!(foreign.bytes() == before, "{candidate}: the device was written");
    }
}
