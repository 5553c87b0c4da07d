//! `fix-engine DIR`: the engine as a program, on a loopback port unless told otherwise.
//!
//!     fix-engine DIR [--store queue] [--file-bytes N] [--orders-max N] [--listen 127.0.0.1:0] [--comp-id PICKFS]
//!                [--wait sleep] [--cpu N]
//!
//! It prints `listening on ADDRESS` and runs until it is killed; what it has acknowledged is in DIR.

use std::{io::Write, net::SocketAddr, path::PathBuf, process::ExitCode};

use pickfs_fix::engine::{Engine, Settings};
use pickfs_fix::market::Limits;
use pickfs_fix::store::{FILE_BYTES, Profile};
use pickfs_fix::{Acceptor, Wait, now};

/// The words of the command line.
struct Words {
    directory: PathBuf,
    profile: Profile,
    file_bytes: u64,
    market: Limits,
    listen: SocketAddr,
    comp_id: String,
    wait: Wait,
    cpu: Option<usize>,
}

const USE: &str = "use: fix-engine DIR [--store memory|queue|journal|journal-fdatasync|file-store] \
                   [--file-bytes N] [--orders-max N] [--listen ADDRESS:PORT] [--comp-id NAME] [--wait spin|sleep] [--cpu N]";

fn words() -> Option<Words> {
    let mut given = std::env::args().skip(1);
    let mut words = Words {
        directory: given.next()?.into(),
        profile: Profile::Queue,
        file_bytes: FILE_BYTES,
        market: Limits::default(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        comp_id: Settings::default().comp_id,
        wait: Wait::Sleep,
        cpu: None,
    };
    while let Some(word) = given.next() {
        let value = given.next()?;
        match word.as_str() {
            "--store" => words.profile = Profile::of(&value)?,
            "--file-bytes" => words.file_bytes = value.parse().ok()?,
            "--orders-max" => words.market.orders_max = value.parse().ok()?,
            "--listen" => words.listen = value.parse().ok()?,
            "--comp-id" => words.comp_id = value,
            "--wait" => words.wait = if value == "spin" { Wait::Spin } else { Wait::Sleep },
            "--cpu" => words.cpu = Some(value.parse().ok()?),
            _ => return None,
        }
    }
    Some(words)
}

fn run(words: Words) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(cpu) = words.cpu {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu);
        rustix::thread::sched_setaffinity(None, &set)?;
    }
    std::fs::create_dir_all(&words.directory)?;
    let directory = words.directory.join(words.profile.word());
    let store = words.profile.open(&directory, words.file_bytes)?;
    let settings = Settings { comp_id: words.comp_id, market: words.market, ..Settings::default() };
    let engine = Engine::open(settings, store, now())?;
    let mut acceptor = Acceptor::listen(engine, words.listen, words.wait)?;
    let mut out = std::io::stdout();
    writeln!(out, "listening on {}", acceptor.address()?)?;
    out.flush()?;
    loop {
        acceptor.round()?;
    }
}

fn main() -> ExitCode {
    let Some(words) = words() else {
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
