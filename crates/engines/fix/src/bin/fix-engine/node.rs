//! The store of profile `pair`: a primary with its secondaries, or a secondary until it is promoted.

use std::{net::SocketAddr, path::Path};

use pickfs_fix::Wait;
use pickfs_fix::store::PairLog;
use pickfs_journal::{Options, Sync};
use pickfs_pair::{
    Degree, Primary, PrimaryOptions, Secondary, SecondaryOptions, StoreOptions, Waiting,
};

use crate::{Outcome, say, words::Words};

pub(crate) fn open(words: &Words, directory: &Path) -> Outcome<PairLog> {
    let pair = &words.pair;
    let options = PrimaryOptions {
        node: node(words),
        store: store(words),
        degree: pair.degree,
        copies: pair.copies,
        on_loss: pair.on_loss,
        waiting: waiting(words),
        transport: pair.transport,
        ..PrimaryOptions::new(directory, pair.secondaries.clone())
    };
    // What it would be as a primary is checked before it is needed.
    options.validate()?;
    let primary = match pair.follow {
        None => Primary::open(options)?,
        Some(listen) => follow(words, directory, listen)?.promote(options)?,
    };
    Ok(PairLog::over(primary, pair.patience, |event| eprintln!("fix-engine: {event}"))?)
}

fn follow(words: &Words, directory: &Path, listen: SocketAddr) -> Outcome<Secondary> {
    let mut secondary = Secondary::open(SecondaryOptions {
        node: node(words),
        store: store(words),
        on_diverged: words.pair.on_diverged,
        waiting: waiting(words),
        transport: words.pair.transport,
        ..SecondaryOptions::new(directory, listen)
    })?;
    say(&format!("following at {}", secondary.address()))?;
    secondary.run_while(|secondary| {
        while let Some(event) = secondary.next_event() {
            eprintln!("fix-engine: {event}");
        }
        true
    })?;
    Ok(secondary)
}

fn node(words: &Words) -> u8 {
    words.pair.node.unwrap_or(if words.pair.follow.is_some() { 2 } else { 1 })
}

fn waiting(words: &Words) -> Waiting {
    match words.wait {
        Wait::Spin => Waiting::Spin,
        Wait::Sleep => Waiting::Block,
    }
}

fn store(words: &Words) -> StoreOptions {
    let sync = match words.pair.degree {
        Degree::Durable => Sync::Fdatasync,
        _ => Sync::None,
    };
    StoreOptions::Journal(Options { sync, file_bytes: words.file_bytes, ..Options::default() })
}
