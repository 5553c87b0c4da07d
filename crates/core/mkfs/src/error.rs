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
    #[error("{kind} cannot have the label `{label}`: {why}; choose another")]
    Label { kind: Kind, label: String, why: &'static str },
    #[error(
        "{kind} cannot say that it was made {made_s} s after 1970; choose a time from {earliest_s} \
         to {latest_s}"
    )]
    Time {
        kind: Kind,
        /// After 1970-01-01 00:00 UTC.
        made_s: u64,
        earliest_s: u64,
        latest_s: u64,
    },
    #[error(
        "byte {offset_bytes} is not zero, so something may be there; name an empty file or say \
         that it may be erased"
    )]
    NotEmpty {
        /// First byte found that is not zero.
        offset_bytes: u64,
    },
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
