//! The wait between trials: one trial's writes must not fall on the next
//! (validity rule 12).

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use pickfs_record::record::SettleRecord;
use pickfs_sys::{block::BlockDevice, vm_state::WritebackPages};

#[derive(Debug, Clone, Default)]
pub struct Quiet {
    /// Folders on the file systems that hold the image or are measured; they are synced first.
    pub host_folders: Vec<PathBuf>,
    pub devices: Vec<BlockDevice>,
}

/// Dirty and write-back memory below which the machine counts as quiet: a hundred-megabyte
/// disk writes this in some 80 ms.
pub const DIRTY_BYTES_MAX: u64 = 8 << 20;

const POLL: Duration = Duration::from_millis(20);

pub fn settle(quiet: &Quiet, limit: Duration) -> SettleRecord {
    let began = Instant::now();
    quiet.host_folders.iter().for_each(|folder| sync_file_system(folder));
    loop {
        let dirty_bytes = WritebackPages::now().map_or(0, |pages| pages.waiting_bytes());
        let queue_empty = quiet.devices.iter().all(is_idle);
        let calm = dirty_bytes <= DIRTY_BYTES_MAX && queue_empty;
        if calm || began.elapsed() >= limit {
            return SettleRecord {
                waited_s: began.elapsed().as_secs_f64(),
                timed_out: !calm,
                dirty_bytes,
                raw_probes: 0,
            };
        }
        std::thread::sleep(POLL);
    }
}

fn is_idle(device: &BlockDevice) -> bool {
    device.statistics().is_none_or(|statistics| statistics.in_flight_count == 0)
}

fn sync_file_system(folder: &std::path::Path) {
    if let Ok(folder) = std::fs::File::open(folder) {
        let _ = rustix::fs::syncfs(&folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_limit_and_says_so() {
        let record = settle(&Quiet::default(), Duration::ZERO);
        assert_eq!(record.timed_out, record.dirty_bytes > DIRTY_BYTES_MAX);
    }

    #[test]
    fn freshly_written_data_is_waited_for() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder on disk");
        std::fs::write(folder.path().join("dirt"), vec![1u8; 32 << 20]).expect("write");
        let quiet = Quiet { host_folders: vec![folder.path().into()], devices: Vec::new() };
        let record = settle(&quiet, pickfs_testkit::PATIENCE);
        assert!(!record.timed_out, "{record:?}");
        assert!(record.dirty_bytes <= DIRTY_BYTES_MAX);
    }
}
