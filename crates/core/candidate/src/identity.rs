//! Which device this is: what must stay the same from the moment the user
//! named it to the last step that destroys. A name such as `/dev/sdb` may mean
//! another disk after a replug; these facts do not.

use std::fs;
use std::path::{Path, PathBuf};

use pickfs_sys::block::BlockDevice;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::interlock::Refusal;

/// A device, pinned. Zram and loop devices have neither world-wide name nor serial number; the
/// disk sequence number (Linux 5.15) tells them apart within one boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub path: PathBuf,
    pub name: String,
    pub device_number: (u32, u32),
    pub size_bytes: u64,
    /// Counts every appearance of a disk since boot.
    pub disk_sequence: Option<u64>,
    pub wwn: Option<String>,
    pub serial: Option<String>,
    /// A logical volume's begins with `LVM-`.
    pub dm_uuid: Option<String>,
    /// Names this boot of the kernel; proc(5), `random/boot_id`.
    pub boot_id: String,
}

impl Identity {
    pub fn of(given: &Path) -> Result<Self, Refusal> {
        let unreachable = |reason: String| Refusal::NotThere { device: given.to_owned(), reason };
        let path = fs::canonicalize(given).map_err(|cause| unreachable(cause.to_string()))?;
        let device = BlockDevice::at(&path).map_err(|error| match error.is(Errno::NOTBLK) {
            true => Refusal::NotABlockDevice { device: given.to_owned() },
            false => unreachable(error.to_string()),
        })?;
        let facts = device.facts();
        let size_bytes =
            facts.size_bytes.ok_or_else(|| unreachable("its size is not told".into()))?;
        if size_bytes == 0 {
            return Err(unreachable(of_no_size(&facts.name, &path)));
        }
        Ok(Self {
            path,
            name: facts.name,
            device_number: device.device_number(),
            size_bytes,
            disk_sequence: facts.disk_sequence,
            wwn: facts.wwn,
            serial: facts.serial,
            dm_uuid: facts.dm_uuid,
            boot_id: boot_id(),
        })
    }

    pub fn difference(&self, now: &Self) -> Option<(&'static str, String, String)> {
        let facts = [
            ("boot id", self.boot_id.clone(), now.boot_id.clone()),
            ("disk sequence number", text(&self.disk_sequence), text(&now.disk_sequence)),
            ("world-wide name", text(&self.wwn), text(&now.wwn)),
            ("serial number", text(&self.serial), text(&now.serial)),
            ("size", self.size_bytes.to_string(), now.size_bytes.to_string()),
            ("device-mapper uuid", text(&self.dm_uuid), text(&now.dm_uuid)),
            ("device number", number(self.device_number), number(now.device_number)),
            ("node", self.path.display().to_string(), now.path.display().to_string()),
        ];
        facts.into_iter().find(|(_, was, is)| was != is)
    }
}

fn of_no_size(name: &str, path: &Path) -> String {
    let path = path.display();
    if name.starts_with("loop") {
        return format!("no file is attached to it (`losetup {path} FILE` attaches one)");
    }
    if name.starts_with("zram") {
        return format!("it has no size yet (`zramctl --size 1G {path}` gives it one)");
    }
    "it holds nothing (is there a medium in it?)".into()
}

fn text(value: &Option<impl ToString>) -> String {
    value.as_ref().map_or_else(|| "none".into(), ToString::to_string)
}

fn number((major, minor): (u32, u32)) -> String {
    format!("{major}:{minor}")
}

/// Names this boot; empty where the kernel does not say, which equals nothing but itself.
pub fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            path: "/dev/sdb".into(),
            name: "sdb".into(),
            device_number: (8, 16),
            size_bytes: 1 << 30,
            disk_sequence: Some(9),
            wwn: Some("naa.5".into()),
            serial: None,
            dm_uuid: None,
            boot_id: "b".into(),
        }
    }

    #[test]
    fn every_fact_that_changes_is_named() {
        let was = identity();
        assert_eq!(was.difference(&was.clone()), None);
        let named = |change: &dyn Fn(&mut Identity)| {
            let mut now = identity();
            change(&mut now);
            was.difference(&now).map(|(what, ..)| what)
        };
        assert_eq!(named(&|now| now.boot_id = "c".into()), Some("boot id"));
        assert_eq!(named(&|now| now.disk_sequence = Some(10)), Some("disk sequence number"));
        assert_eq!(named(&|now| now.wwn = None), Some("world-wide name"));
        assert_eq!(named(&|now| now.serial = Some("1".into())), Some("serial number"));
        assert_eq!(named(&|now| now.size_bytes = 1), Some("size"));
        assert_eq!(named(&|now| now.device_number = (8, 32)), Some("device number"));
    }

    #[test]
    fn what_is_stored_reads_back() {
        let text = serde_json::to_string(&identity()).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), identity());
    }
}
