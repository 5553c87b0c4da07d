//! `fix-engine DIR`: the engine as a program, on a loopback port unless told otherwise.
//!
//!     fix-engine DIR [--store queue] [--file-bytes N] [--orders-max N] [--listen 127.0.0.1:0] [--comp-id PICKFS]
//!                [--wait sleep] [--cpu N]
//!
//! It prints `listening on ADDRESS` and runs until it is killed; what it has acknowledged is in DIR.
//!
//! With `--store pair` it has a copy on another host, where the same program follows until it is promoted
//! (`pickfs-pair promote --dir DIR/pair`) and then listens itself:
//!
//!     other host:  fix-engine DIR --store pair --follow 10.0.0.2:7300 --secondary 10.0.0.1:7300
//!     this host:   fix-engine DIR --store pair --secondary 10.0.0.2:7300

mod node;
mod words;

use std::{io::Write, path::Path, process::ExitCode};

use pickfs_fix::engine::{Engine, Settings};
use pickfs_fix::store::{LogStore, Profile, Store};
use pickfs_fix::{Acceptor, now};

use crate::words::{USE, Words};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}")?;
    out.flush()
}

fn store(words: &Words, directory: &Path) -> Outcome<Box<dyn Store>> {
    match words.profile {
        Profile::Pair => Ok(Box::new(LogStore::new(node::open(words, directory)?))),
        profile => Ok(profile.open(directory, words.file_bytes)?),
    }
}

fn run(words: Words) -> Outcome<()> {
    if let Some(cpu) = words.cpu {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu);
        rustix::thread::sched_setaffinity(None, &set)?;
    }
    std::fs::create_dir_all(&words.directory)?;
    let store = store(&words, &words.directory.join(words.profile.word()))?;
    let settings = Settings { comp_id: words.comp_id, market: words.market, ..Settings::default() };
    let engine = Engine::open(settings, store, now())?;
    let mut acceptor = Acceptor::listen(engine, words.listen, words.wait)?;
    say(&format!("listening on {}", acceptor.address()?))?;
    loop {
        acceptor.round()?;
    }
}

fn main() -> ExitCode {
    let Some(words) = Words::read(std::env::args().skip(1)) else {
        eprintln!("{USE}");
        return ExitCode::from(2);
    };
    match run(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fix-engine: {error}");
            ExitCode::FAILURE
        }
    }
}
