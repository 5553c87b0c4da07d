//! What stands against a format, each with its values and the way out. Nothing
//! was written when one of these comes back, but for [`MakeError::Io`].

use thiserror::Error;

use crate::kind::Kind;

#[derive(Debug, Error)]
pub enum MakeError {
    #[error(
        "{size_bytes} bytes are too few for {kind}; give it at least {minimum_bytes} or choose \
         another file system"
    )]
    TooSmall { kind: Kind, size_bytes: u64, minimum_bytes: u64 },
    #[error("{size_bytes} bytes are too many for {kind}; give it at most {maximum_bytes}")]
    TooLarge { kind: Kind, size_bytes: u64, maximum_bytes: u64 },
    #[error(
        "{size_bytes} bytes are no whole number of sectors of {sector_bytes} bytes; {kind} can \
         have {}",
        size_bytes - size_bytes % sector_bytes
    )]
    NotWholeSectors { kind: Kind, size_bytes: u64, sector_bytes: u64 },
    #[error("the device holds {device_bytes} bytes, {size_bytes} were asked for; ask for less")]
    DeviceTooSmall { device_bytes: u64, size_bytes: u64 },
    /// Parts may be written.
    #[error("cannot {what}: {cause}; parts of the file system may be missing, so make it again")]
    Io {
        what: &'static str,
        #[source]
        cause: std::io::Error,
    },
}

impl MakeError {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |cause| MakeError::Io { what, cause }
    }
}
