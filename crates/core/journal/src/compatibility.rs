//! Which options go together, and why the others do not. Pairs that are not here always go
//! together.

use std::fmt::Display;

use crate::axes::{Preallocation, Sync, SyncEvery, WritePath};
use crate::error::{Error, Result};
use crate::options::Options;

pub type Reason = &'static str;

pub const fn preallocation_and_path(
    made: Preallocation,
    path: WritePath,
) -> std::result::Result<(), Reason> {
    use Preallocation as P;
    match (path, made) {
        (WritePath::Append, P::Sparse | P::ZeroFilled | P::ZeroFilledHot | P::Recycled) => Err(
            "O_APPEND writes behind the end of the file, and the file is at full length already; \
             use none, precreated or fallocate (which then keeps the length at 0)",
        ),
        (WritePath::Mmap, P::None | P::Precreated) => Err(
            "a mapping needs the file at full length; use sparse, fallocate, zero-filled or recycled",
        ),
        _ => Ok(()),
    }
}

pub const fn path_and_sync(path: WritePath, sync: Sync) -> std::result::Result<(), Reason> {
    use WritePath as W;
    match (sync, path) {
        (Sync::Msync, W::Mmap) => Ok(()),
        (Sync::Msync, _) => Err("msync is for mapped memory; use fdatasync"),
        (Sync::ODsync, W::Mmap) => {
            Err("O_DSYNC acts on write calls and a mapping makes none; use msync")
        }
        (Sync::RwfDsync, W::Mmap) => {
            Err("RWF_DSYNC is a flag of pwritev2 and a mapping makes no call; use msync")
        }
        (Sync::RwfDsync, W::SeekWrite | W::Append) => {
            Err("RWF_DSYNC is a flag of pwritev2, and write has no flags; use o-dsync or pwrite")
        }
        (Sync::SyncFileRange, W::Direct) => Err(
            "sync_file_range writes back the page cache, which direct writes pass by; use fdatasync",
        ),
        _ => Ok(()),
    }
}

pub const fn sync_and_every(sync: Sync, every: SyncEvery) -> std::result::Result<(), Reason> {
    match (sync, every) {
        (Sync::None, SyncEvery::Records(_)) => Err("there is no sync to make; use record"),
        (Sync::ODsync | Sync::RwfDsync, SyncEvery::Records(_)) => {
            Err("each write is its own sync and covers no other; use record or group-commit")
        }
        _ => Ok(()),
    }
}

pub fn check(options: &Options) -> Result<()> {
    let Options { preallocation, write_path, sync, sync_every, .. } = *options;
    preallocation_and_path(preallocation, write_path).map_err(|reason| {
        refuse("preallocation", &preallocation, "write path", &write_path, reason)
    })?;
    path_and_sync(write_path, sync)
        .map_err(|reason| refuse("write path", &write_path, "sync", &sync, reason))?;
    sync_and_every(sync, sync_every)
        .map_err(|reason| refuse("sync", &sync, "sync every", &sync_every, reason))
}

fn refuse(
    axis: &str,
    one: &dyn Display,
    other_axis: &str,
    other: &dyn Display,
    reason: Reason,
) -> Error {
    Error::Incompatible {
        first: format!("{axis} {one}"),
        second: format!("{other_axis} {other}"),
        reason,
    }
}

/// The pairs that do not go together, a line for each reason.
pub fn markdown() -> String {
    let mut refused: Vec<(Reason, Vec<String>, Vec<String>)> = Vec::new();
    let mut add = |judged, one: String, other: String| {
        let Err(reason) = judged else { return };
        let known = refused.iter().position(|(known, ..)| *known == reason);
        let at = known.unwrap_or_else(|| {
            refused.push((reason, Vec::new(), Vec::new()));
            refused.len() - 1
        });
        let (_, ones, others) = &mut refused[at];
        for (names, name) in [(ones, one), (others, other)] {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    };
    for path in WritePath::ALL {
        for made in Preallocation::ALL {
            add(preallocation_and_path(*made, *path), made.to_string(), path.to_string());
        }
        for sync in Sync::ALL {
            add(path_and_sync(*path, *sync), sync.to_string(), path.to_string());
        }
    }
    for sync in Sync::ALL {
        for every in SyncEvery::ALL {
            add(sync_and_every(*sync, *every), every.to_string(), sync.to_string());
        }
    }
    let line = |(reason, ones, others): &(Reason, Vec<String>, Vec<String>)| {
        format!("- {} with {}: {reason}\n", ones.join(", "), others.join(", "))
    };
    refused.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_both_options_and_the_way_out() {
        let options = Options { sync: Sync::Msync, ..Options::default() };
        let message = check(&options).expect_err("refused").to_string();
        let wanted = "write path pwrite does not go with sync msync: msync is for mapped memory; use fdatasync";
        assert_eq!(message, wanted);
    }
}
