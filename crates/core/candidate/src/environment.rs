//! What a mount and its device say of themselves, as facts by key. Nothing is guessed: what the
//! kernel does not say is left out.

use std::path::Path;

use pickfs_record::Environment;
use pickfs_sys::block::{BlockDevice, BlockFacts, WriteCache};
use pickfs_sys::mount;
use pickfs_sys::mount_table::MountEntry;

use crate::error::TargetError;
use crate::fs::{self, FileSystem};
use crate::host_folder::HostFolder;

pub fn put_mount(
    facts: &mut Environment,
    path: &Path,
    row: Option<&'static FileSystem>,
) -> Result<(), TargetError> {
    let entry = mount::mount_of(path)?;
    let space = mount::file_system_use(path)?;
    facts.put("mount.type", &entry.fs_type);
    facts.put("mount.driver", fs::driver_of(&entry.fs_type, &entry.source, row));
    facts.put("mount.options", options_in_force(&entry));
    facts.put("mount.source", entry.source.display());
    facts.put("mount.block_size_bytes", space.block_bytes);
    facts.put("mount.size_bytes", space.total_bytes);
    facts.put("mount.free_bytes", space.available_bytes);
    Ok(())
}

/// Each once.
fn options_in_force(entry: &MountEntry) -> String {
    let mut options: Vec<&str> = entry.options.split(',').collect();
    for option in entry.super_options.split(',') {
        if !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    options.join(",")
}

/// Under `prefix`: `device` or `host`.
pub(crate) fn put_device(facts: &mut Environment, prefix: &str, path: &Path) {
    if let Ok(device) = BlockDevice::at(path) {
        put_block_facts(facts, prefix, &device.facts());
    }
}

fn put_block_facts(facts: &mut Environment, prefix: &str, block: &BlockFacts) {
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.put(&format!("{prefix}.{name}"), value);
        }
    };
    let number = |bytes: Option<u32>| bytes.map(|bytes| bytes.to_string());
    let flag = |flag: Option<bool>| flag.map(|flag| u8::from(flag).to_string());
    put("name", Some(block.name.clone()));
    put("model", block.model.clone());
    put("link", block.link.clone());
    put("size_bytes", block.size_bytes.map(|bytes| bytes.to_string()));
    put("rotational", flag(block.rotational));
    put("write_cache", block.write_cache.map(write_cache).map(String::from));
    put("fua", flag(block.fua));
    put("logical_sector_bytes", number(block.logical_sector_bytes));
    put("physical_sector_bytes", number(block.physical_sector_bytes));
    put("read_ahead_bytes", block.read_ahead_bytes.map(|bytes| bytes.to_string()));
    put("scheduler", block.scheduler.clone());
    put("discard_max_bytes", block.discard_bytes_max.map(|bytes| bytes.to_string()));
    put("queue_requests", number(block.queue_requests));
    put("writeback_target_us", block.writeback_target_us.map(|target| target.to_string()));
}

fn write_cache(cache: WriteCache) -> &'static str {
    match cache {
        WriteCache::WriteBack => "write back",
        WriteCache::WriteThrough => "write through",
    }
}

pub(crate) fn put_host(facts: &mut Environment, host: &HostFolder) {
    facts.put("host.fs_type", &host.fs_type);
    facts.put("host.source", &host.source);
    let (major, minor) = host.device_number;
    if major != 0 {
        put_device_number(facts, "host", major, minor);
    } else {
        put_device(facts, "host", Path::new(&host.source));
    }
}

/// By way of its name in sysfs: its node need not exist.
fn put_device_number(facts: &mut Environment, prefix: &str, major: u32, minor: u32) {
    let link = format!("/sys/dev/block/{major}:{minor}");
    let Ok(target) = std::fs::read_link(link) else { return };
    if let Some(name) = target.file_name() {
        put_device(facts, prefix, &Path::new("/dev").join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_listed_once() {
        let line = b"63 43 7:0 / /mnt rw,relatime - xfs /dev/loop0 rw,inode64,noquota";
        let entry = pickfs_sys::mount_table::parse_line(line).unwrap();
        assert_eq!(options_in_force(&entry), "rw,relatime,inode64,noquota");
    }

    #[test]
    fn an_unknown_type_is_its_own_driver() {
        let mut facts = Environment::default();
        put_mount(&mut facts, Path::new("/proc"), None).unwrap();
        assert_eq!(facts.get("mount.driver"), Some("proc"));
    }

    #[test]
    fn what_the_device_does_not_say_is_left_out() {
        let mut facts = Environment::default();
        let block = BlockFacts { rotational: Some(true), ..BlockFacts::default() };
        put_block_facts(&mut facts, "device", &block);
        assert_eq!(facts.get("device.rotational"), Some("1"));
        assert_eq!(facts.get("device.fua"), None);
    }
}
