//! What stands against a format, each with its values and the way out. Nothing
//! was written when one of these comes back, but for [`MakeError::Io`].

use thiserror::Error;

use crate::kind::Kind;

/// Why a file system was not made.
#[derive(Debug, Error)]
pub enum MakeError {
    /// Less room than the fixed structures need.
    #[error(
        "{size_bytes} bytes are too few for {kind}; give it at least {minimum_bytes} or choose \
         another file system"
    )]
    TooSmall {
        /// What was to be made.
        kind: Kind,
        /// Size asked for.
        size_bytes: u64,
        /// Smallest size that is made.
        minimum_bytes: u64,
    },
    /// More than the format, its driver or this formatter counts.
    #[error("{size_bytes} bytes are too many for {kind}; give it at most {maximum_bytes}")]
    TooLarge {
        /// What was to be made.
        kind: Kind,
        /// Size asked for.
        size_bytes: u64,
        /// Largest size that is made.
        maximum_bytes: u64,
    },
    /// A size that ends within a sector.
    #[error(
        "{size_bytes} bytes are no whole number of sectors of {sector_bytes} bytes; {kind} can \
         have {}",
        size_bytes - size_bytes % sector_bytes
    )]
    NotWholeSectors {
        /// What was to be made.
        kind: Kind,
        /// Size asked for.
        size_bytes: u64,
        /// Sector size of the format.
        sector_bytes: u64,
    },
    /// A name that the volume cannot carry.
    #[error("{kind} cannot have the label `{label}`: {why}; choose another")]
    Label {
        /// What was to be made.
        kind: Kind,
        /// The label asked for.
        label: String,
        /// What is against it.
        why: &'static str,
    },
    /// A time stamp outside the format's calendar.
    #[error(
        "{kind} cannot say that it was made {made_s} s after 1970; choose a time from {earliest_s} \
         to {latest_s}"
    )]
    Time {
        /// What was to be made.
        kind: Kind,
        /// Seconds after 1970-01-01 00:00 UTC.
        made_s: u64,
        /// First second that the format knows.
        earliest_s: u64,
        /// Last second that the format knows.
        latest_s: u64,
    },
    /// Something lies where the file system would go.
    #[error(
        "byte {offset_bytes} is not zero, so something may be there; name an empty file or say \
         that it may be erased"
    )]
    NotEmpty {
        /// First byte found that is not zero.
        offset_bytes: u64,
    },
    /// A device that is smaller than the size asked for.
    #[error("the device holds {device_bytes} bytes, {size_bytes} were asked for; ask for less")]
    DeviceTooSmall {
        /// What it holds.
        device_bytes: u64,
        /// Size asked for.
        size_bytes: u64,
    },
    /// The kernel refused to read or write; parts may be written.
    #[error("cannot {what}: {cause}; parts of the file system may be missing, so make it again")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The kernel's answer.
        #[source]
        cause: std::io::Error,
    },
}

impl MakeError {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |cause| MakeError::Io { what, cause }
    }
}
