//! NILFS2, a log that keeps its past. Source: mkfs.nilfs2(8), `-K`.

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Lack, Needs, Period, Place, recipe};

/// The row of nilfs2.
pub struct Nilfs2;

impl FileSystem for Nilfs2 {
    fn name(&self) -> &'static str {
        "nilfs2"
    }

    fn origin(&self) -> &'static str {
        "From NTT (2005), a log-structured file system with snapshots; served by the nilfs2 driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["nilfs2"],
            "the kernel module nilfs2 is in Debian's stock kernel; load it with modprobe nilfs2",
            "mkfs.nilfs2",
            "nilfs-tools",
        )
        .at_least(128 << 20)
        .whole_device()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q", "-f"], &["-K"], spec);
        args.push(place.device.clone());
        vec![recipe::exec("make", "mkfs.nilfs2", args)]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate, Lack::UserAttributes]
    }

    /// A segment is closed after five seconds at the latest.
    fn periods(&self, _options: &[String]) -> Vec<Period> {
        vec![Period::new("nilfs2 segment", 5.0)]
    }
}
