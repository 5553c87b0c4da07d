//! The trace points that this kernel has. Not a recorder: events are opened by `perf_event`.
//!
//! Where tracefs is not mounted it is mounted without a place: the mount has a descriptor and no
//! path, and is gone with the descriptor, so nothing is left behind.
//!
//! ```no_run
//! use pickfs_sys::trace_fs::TraceFs;
//! let switch = TraceFs::open()?.format("sched", "sched_switch")?;
//! println!("{} is number {}", switch.name, switch.id);
//! # Ok::<(), pickfs_sys::trace_fs::TraceFsError>(())
//! ```
//!
//! Source: Documentation/trace/ftrace.rst of the kernel; fsopen(2), fsmount(2) (Linux 5.2).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use thiserror::Error;

use crate::trace_format::TraceFormat;

/// Where it usually is mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The trace points of this kernel.
#[derive(Debug)]
pub struct TraceFs(OwnedFd);

/// Trace points could not be asked for.
#[derive(Debug, Error)]
pub enum TraceFsError {
    /// It is mounted nowhere and could not be mounted.
    #[error("no tracefs: {cause}; needs root and a kernel with CONFIG_FTRACE")]
    NotThere {
        /// What mounting it said.
        cause: io::Error,
    },
    /// The event is not there, or not for us.
    #[error("trace point {event} not readable: {cause}")]
    NoEvent {
        /// Group and name.
        event: String,
        /// Why.
        cause: io::Error,
    },
    /// Its format was not understood.
    #[error("trace point {event} has a format without a number")]
    NoNumber {
        /// Group and name.
        event: String,
    },
}

impl TraceFs {
    /// Finds a mounted one, or mounts one that nobody else sees.
    pub fn open() -> Result<TraceFs, TraceFsError> {
        let folder = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        for place in PLACES {
            let Ok(root) = open(place, folder, Mode::empty()) else { continue };
            if openat(&root, "events", folder, Mode::empty()).is_ok() {
                return Ok(TraceFs(root));
            }
        }
        detached().map(TraceFs).map_err(|cause| TraceFsError::NotThere { cause: cause.into() })
    }

    /// What a trace point is made of.
    pub fn format(&self, group: &str, name: &str) -> Result<TraceFormat, TraceFsError> {
        let event = format!("{group}:{name}");
        let text = self.text(&format!("events/{group}/{name}/format"));
        let text = text.map_err(|cause| TraceFsError::NoEvent { event: event.clone(), cause })?;
        TraceFormat::parse(&text).ok_or(TraceFsError::NoNumber { event })
    }

    fn text(&self, path: &str) -> io::Result<String> {
        let file = openat(&self.0, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut text = String::new();
        File::from(file).read_to_string(&mut text)?;
        Ok(text)
    }
}

fn detached() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}
