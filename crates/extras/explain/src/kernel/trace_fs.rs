//! The trace points that this kernel has. Where tracefs is not mounted it is mounted without a
//! place: the mount has a descriptor and no path, and is gone with the descriptor.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use thiserror::Error;

use super::trace_format::TraceFormat;

const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

#[derive(Debug)]
pub struct TraceFs(OwnedFd);

#[derive(Debug, Error)]
pub enum TraceFsError {
    #[error("no tracefs: {cause}; needs root and a kernel with CONFIG_FTRACE")]
    NotThere { cause: io::Error },
    #[error("trace point {event} not readable: {cause}")]
    NoEvent { event: String, cause: io::Error },
    #[error("trace point {event} has a format without a number")]
    NoNumber { event: String },
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
