//! The axes of a journal, each an enum whose names are the words of plans and reports.
//! [`crate::compatibility`] says which go together.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{axis} {word:?} is not known; use one of {allowed}")]
pub struct UnknownWord {
    pub axis: &'static str,
    pub word: String,
    pub allowed: String,
}

macro_rules! axis {
    ($(#[$doc:meta])* $name:ident, $noun:literal {
        $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> std::result::Result<Self, UnknownWord> {
                let found = Self::ALL.iter().copied().find(|variant| variant.word() == word);
                found.ok_or_else(|| UnknownWord {
                    axis: $noun,
                    word: word.to_owned(),
                    allowed: [$($word,)*].join(", "),
                })
            }
        }
    };
}

axis! {
    Preallocation, "preallocation" {
        /// Created when it is needed; it grows with each append.
        None = "none",
        /// Empty files are made ahead, so that a roll creates no inode.
        Precreated = "precreated",
        /// Full length by ftruncate(2), no blocks.
        Sparse = "sparse",
        /// Full length by fallocate(2): blocks reserved, marked unwritten.
        Fallocate = "fallocate",
        /// Full length of written zeros, synced.
        ZeroFilled = "zero-filled",
        /// As zero-filled, and a thread keeps the next two files in the page cache by reading them.
        ZeroFilledHot = "zero-filled-hot",
        /// Retired files of this journal under a new name, zero-filled ones where none is retired yet.
        Recycled = "recycled",
    }
}

axis! {
    WritePath, "write path" {
        /// lseek(2), then write(2): two system calls.
        SeekWrite = "seek-write",
        /// pwrite(2), or pwritev2(2) where the sync needs its flags.
        Pwrite = "pwrite",
        Append = "append",
        /// pwritev(2), one element for each record of a batch.
        Pwritev = "pwritev",
        Mmap = "mmap",
        /// pwrite(2) with O_DIRECT: whole 4 KiB blocks, the last one written again until it is full.
        Direct = "direct",
        /// io_uring with a registered buffer and a registered file, submit and wait for each write.
        IoUring = "io-uring",
    }
}

axis! {
    Sync, "sync" {
        /// Not at all: the kernel writes back when it likes.
        None = "none",
        Fdatasync = "fdatasync",
        Fsync = "fsync",
        /// The file is opened with O_DSYNC: every write is its own sync.
        ODsync = "o-dsync",
        /// Every write carries RWF_DSYNC, see pwritev2(2).
        RwfDsync = "rwf-dsync",
        /// sync_file_range(2): pages reach the device, neither metadata nor the device's cache does.
        SyncFileRange = "sync-file-range",
        /// msync(2) with MS_SYNC.
        Msync = "msync",
    }
}

axis! {
    Roll, "roll" {
        /// The appending thread, within the roll.
        Inline = "inline",
        /// A background thread, before the roll.
        Ahead = "ahead",
    }
}

axis! {
    Framing, "framing" {
        /// Header with length, sequence and CRC32C: see [`crate::layout`].
        Record = "record",
        /// The bytes as given, for comparison with other tools. No recovery and no replay.
        Raw = "raw",
    }
}

impl Sync {
    /// Whether the write itself is the sync, so that [`crate::Journal::sync`] has nothing to do.
    pub const fn is_write_through(self) -> bool {
        matches!(self, Self::ODsync | Self::RwfDsync)
    }

    /// Whether a synced record is expected to outlive a power cut, as far as the device is honest.
    pub const fn outlives_power_loss(self) -> bool {
        !matches!(self, Self::None | Self::SyncFileRange)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SyncEvery {
    Record,
    Records(NonZeroU32),
    /// The caller, or [`crate::GroupCommit`], syncs once for all that arrived during the sync before.
    GroupCommit,
}

impl SyncEvery {
    /// 16 records where a number is wanted.
    pub const ALL: &'static [Self] =
        &[Self::Record, Self::Records(NonZeroU32::MIN.saturating_add(15)), Self::GroupCommit];
}

impl fmt::Display for SyncEvery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record => f.pad("record"),
            Self::Records(count) => f.pad(&format!("{count}-records")),
            Self::GroupCommit => f.pad("group-commit"),
        }
    }
}

impl FromStr for SyncEvery {
    type Err = UnknownWord;

    fn from_str(word: &str) -> std::result::Result<Self, UnknownWord> {
        let count = || word.strip_suffix("-records")?.parse().ok();
        match word {
            "record" => Ok(Self::Record),
            "group-commit" => Ok(Self::GroupCommit),
            _ => count().map(Self::Records).ok_or_else(|| UnknownWord {
                axis: "sync every",
                word: word.to_owned(),
                allowed: "record, N-records, group-commit".to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back_as_the_variant_that_printed_it() {
        fn check<T: FromStr + ToString + PartialEq + fmt::Debug + Copy>(all: &[T]) {
            for &variant in all {
                assert_eq!(variant.to_string().parse().ok(), Some(variant));
            }
        }
        check(Preallocation::ALL);
        check(WritePath::ALL);
        check(Sync::ALL);
        check(SyncEvery::ALL);
        check(Roll::ALL);
        check(Framing::ALL);
    }

    #[test]
    fn an_unknown_word_is_answered_with_the_known_ones() {
        let error = "fast".parse::<Roll>().expect_err("not a word");
        assert_eq!(error.to_string(), "roll \"fast\" is not known; use one of inline, ahead");
        assert!("0-records".parse::<SyncEvery>().is_err());
    }
}
