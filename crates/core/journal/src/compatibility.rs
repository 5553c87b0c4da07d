//! Which options go together, and why the others do not. Pairs that are not here always go
//! together.

use std::fmt::{Display, Write as _};

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

pub fn markdown() -> String {
    let mut text = String::new();
    let grids = [
        grid(
            "preallocation",
            Preallocation::ALL,
            "write path",
            WritePath::ALL,
            preallocation_and_path,
        ),
        grid("write path", WritePath::ALL, "sync", Sync::ALL, path_and_sync),
        grid("sync", Sync::ALL, "sync every", SyncEvery::ALL, sync_and_every),
    ];
    for grid in grids {
        text.push_str(&grid);
        text.push('\n');
    }
    text.push_str(
        "Roll and framing go with everything; framing raw has no recovery and no replay.\n",
    );
    text
}

fn grid<A: Copy + Display, B: Copy + Display>(
    row_axis: &str,
    rows: &[A],
    column_axis: &str,
    columns: &[B],
    judge: fn(A, B) -> std::result::Result<(), Reason>,
) -> String {
    let mut reasons: Vec<Reason> = Vec::new();
    let mut text = format!("| {row_axis} \\ {column_axis} |");
    for column in columns {
        push(&mut text, format_args!(" {column} |"));
    }
    push(&mut text, format_args!("\n|{}\n", "---|".repeat(columns.len() + 1)));
    for row in rows {
        push(&mut text, format_args!("| {row} |"));
        for column in columns {
            let cell = judge(*row, *column)
                .map_or_else(|why| note(&mut reasons, why), |()| "yes".to_owned());
            push(&mut text, format_args!(" {cell} |"));
        }
        text.push('\n');
    }
    text.push('\n');
    for (at, reason) in reasons.iter().enumerate() {
        push(&mut text, format_args!("{}. {reason}\n", at + 1));
    }
    text
}

fn note(reasons: &mut Vec<Reason>, reason: Reason) -> String {
    let known = reasons.iter().position(|known| *known == reason);
    let at = known.unwrap_or_else(|| {
        reasons.push(reason);
        reasons.len() - 1
    });
    format!("no ({})", at + 1)
}

fn push(text: &mut String, piece: std::fmt::Arguments<'_>) {
    text.write_fmt(piece).expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_tables_have_a_cell_for_every_pair() {
        let text = markdown();
        let cells = text.matches(" yes |").count() + text.matches(" no (").count();
        let pairs = 7 * 7 + 7 * 7 + 7 * 3;
        assert_eq!(cells, pairs);
    }

    #[test]
    fn a_refusal_names_both_options_and_the_way_out() {
        let options = Options { sync: Sync::Msync, ..Options::default() };
        let message = check(&options).expect_err("refused").to_string();
        let wanted = "write path pwrite does not go with sync msync: msync is for mapped memory; use fdatasync";
        assert_eq!(message, wanted);
    }
}
