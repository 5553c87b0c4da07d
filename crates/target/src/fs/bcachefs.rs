//! bcachefs, copy on write with its own block cache. Source: bcachefs(8).

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Needs, Period, Place, recipe};

/// The row of bcachefs.
pub struct Bcachefs;

impl FileSystem for Bcachefs {
    fn name(&self) -> &'static str {
        "bcachefs"
    }

    fn origin(&self) -> &'static str {
        "Grown out of bcache; in Linux from 6.7 to 6.17, since then a module outside the kernel's tree."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["bcachefs"],
            "no kernel module bcachefs; a kernel from 6.7 to 6.17 may have it, a later one needs the \
             project's own module package",
            "bcachefs",
            "bcachefs-tools (not in Debian 12; see the project's own archive)",
        )
        .at_least(64 << 20)
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let ours = ["format", "--force", "--quiet"];
        let mut args = recipe::make_args(&ours, &["--nodiscard"], spec);
        if let Some(bytes) = place.make_bytes {
            args.push(format!("--fs_size={bytes}"));
        }
        args.push(place.device.clone());
        vec![recipe::exec("make", "bcachefs", args)]
    }

    /// The journal is flushed after `journal_flush_delay` milliseconds, 1,000 by default.
    fn periods(&self, options: &[String]) -> Vec<Period> {
        let (what, key) = ("bcachefs journal flush", "journal_flush_delay");
        let delay = Period::from_option(what, options, key, 1000.0);
        vec![Period::new(what, delay.seconds / 1000.0)]
    }
}
