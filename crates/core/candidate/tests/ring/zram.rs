//! A block device of a test's own: compressed memory, added and taken away by
//! the test. Source: `Documentation/admin-guide/blockdev/zram.rst`.
#![allow(dead_code, clippy::unwrap_used)]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::skip;

const CONTROL: &str = "/sys/class/zram-control";
pub const SIZE_BYTES: u64 = 384 << 20;

pub struct Zram {
    number: u32,
}

impl Zram {
    pub fn add() -> Option<Self> {
        let Ok(number) = fs::read_to_string(format!("{CONTROL}/hot_add")) else {
            skip("no zram devices can be added; load the zram module");
            return None;
        };
        let zram = Self { number: number.trim().parse().unwrap() };
        fs::write(zram.sysfs("disksize"), SIZE_BYTES.to_string()).unwrap();
        Some(zram)
    }

    pub fn path(&self) -> PathBuf {
        format!("/dev/zram{}", self.number).into()
    }

    pub fn text(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }

    /// Adds one of the same name; `None` when another program was faster.
    pub fn exchange(self) -> Option<Self> {
        let number = self.number;
        drop(self);
        Self::add().filter(|zram| zram.number == number)
    }

    pub fn blank(&self) {
        self.reset();
        fs::write(self.sysfs("disksize"), SIZE_BYTES.to_string()).unwrap();
    }

    pub fn reset(&self) {
        for _ in 0..200 {
            if fs::write(self.sysfs("reset"), "1").is_ok() {
                return;
            }
            // SLEEP: between two looks.
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("{} stays busy", self.text());
    }

    pub fn write_at(&self, bytes: &[u8], offset_bytes: u64) {
        let file = File::options().write(true).open(self.path()).unwrap();
        file.write_all_at(bytes, offset_bytes).unwrap();
        file.sync_all().unwrap();
    }

    fn sysfs(&self, name: &str) -> PathBuf {
        Path::new(&format!("/sys/block/zram{}", self.number)).join(name)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        for _ in 0..200 {
            let _ = fs::write(self.sysfs("reset"), "1");
            if fs::write(format!("{CONTROL}/hot_remove"), self.number.to_string()).is_ok() {
                return;
            }
            // SLEEP: between two looks.
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        eprintln!("{} could not be taken away", self.text());
    }
}
