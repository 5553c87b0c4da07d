//! `fix-engine DIR`: the engine as a program, on a loopback port unless told otherwise. It prints `listening on ADDRESS`
//! and runs until it is killed; what it has acknowledged is in DIR.
//!
//! With `--store pair` it has a copy on another host, where the same program follows until it is promoted
//! (`pickfs-pair promote --dir DIR/pair`) and then listens itself:
//!
//!     other host:  fix-engine DIR --store pair --follow 10.0.0.2:7300 --secondary 10.0.0.1:7300
//!     this host:   fix-engine DIR --store pair --secondary 10.0.0.2:7300

use std::{io::Write, net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Parser};
use pickfs_fix::engine::{Engine, Settings};
use pickfs_fix::market::Limits;
use pickfs_fix::store::{FILE_BYTES, LogStore, PairLog, Profile};
use pickfs_fix::{Acceptor, Wait, now};
use pickfs_journal::{Options, Sync};
use pickfs_pair::{
    Degree, OnDiverged, OnLoss, Primary, PrimaryOptions, Secondary, SecondaryOptions, StoreOptions,
    Transport, Waiting,
};

/// A FIX engine; what it has acknowledged is in DIR
#[derive(Parser)]
struct Words {
    dir: PathBuf,
    #[arg(long, default_value = "queue")]
    store: Profile,
    #[arg(long, default_value_t = FILE_BYTES)]
    file_bytes: u64,
    #[arg(long, default_value_t = Limits::default().orders_max)]
    orders_max: usize,
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    #[arg(long, default_value_t = Settings::default().comp_id)]
    comp_id: String,
    #[arg(long, default_value = "sleep")]
    wait: Wait,
    #[arg(long)]
    cpu: Option<usize>,
    #[command(flatten, next_help_heading = "With --store pair")]
    pair: PairWords,
}

#[derive(Args)]
struct PairWords {
    #[arg(long = "secondary", value_name = "ADDRESS")]
    secondaries: Vec<SocketAddr>,
    /// Be a secondary here until it is promoted
    #[arg(long, value_name = "ADDRESS")]
    follow: Option<SocketAddr>,
    /// 1, or 2 where it follows
    #[arg(long)]
    node: Option<u8>,
    #[arg(long, default_value_t = 1)]
    copies: usize,
    #[arg(long, default_value = "received")]
    degree: Degree,
    #[arg(long, default_value = "stop")]
    on_loss: OnLoss,
    #[arg(long, default_value = "refuse")]
    on_diverged: OnDiverged,
    /// Milliseconds
    #[arg(long, default_value_t = 10_000)]
    patience: u64,
    #[arg(long, default_value = "tcp")]
    transport: Transport,
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}")?;
    out.flush()
}

/// A primary with its secondaries, or a secondary until it is promoted.
fn pair(words: &Words) -> Outcome<PairLog> {
    let pair = &words.pair;
    let directory = words.dir.join(words.store.word());
    let node = pair.node.unwrap_or(if pair.follow.is_some() { 2 } else { 1 });
    let sync = if pair.degree == Degree::Durable { Sync::Fdatasync } else { Sync::None };
    let file_bytes = words.file_bytes;
    let store = StoreOptions::Journal(Options { sync, file_bytes, ..Options::default() });
    let waiting = if words.wait == Wait::Spin { Waiting::Spin } else { Waiting::Block };
    let options = PrimaryOptions {
        node,
        store: store.clone(),
        degree: pair.degree,
        copies: pair.copies,
        on_loss: pair.on_loss,
        waiting,
        transport: pair.transport,
        ..PrimaryOptions::new(&directory, pair.secondaries.clone())
    };
    // What it would be as a primary is checked before it is needed.
    options.validate()?;
    let primary = match pair.follow {
        None => Primary::open(options)?,
        Some(listen) => {
            let mut secondary = Secondary::open(SecondaryOptions {
                node,
                store,
                on_diverged: pair.on_diverged,
                waiting,
                transport: pair.transport,
                ..SecondaryOptions::new(&directory, listen)
            })?;
            say(&format!("following at {}", secondary.address()))?;
            secondary.run_while(|secondary| {
                while let Some(event) = secondary.next_event() {
                    eprintln!("fix-engine: {event}");
                }
                true
            })?;
            secondary.promote(options)?
        }
    };
    let patience = Duration::from_millis(pair.patience);
    Ok(PairLog::over(primary, patience, |event| eprintln!("fix-engine: {event}"))?)
}

fn run(words: Words) -> Outcome<()> {
    if let Some(cpu) = words.cpu {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu);
        rustix::thread::sched_setaffinity(None, &set)?;
    }
    std::fs::create_dir_all(&words.dir)?;
    let store = match words.store {
        Profile::Pair => Box::new(LogStore::new(pair(&words)?)),
        profile => profile.open(&words.dir.join(profile.word()), words.file_bytes)?,
    };
    let market = Limits { orders_max: words.orders_max, ..Limits::default() };
    let settings = Settings { comp_id: words.comp_id, market, ..Settings::default() };
    let engine = Engine::open(settings, store, now())?;
    let mut acceptor = Acceptor::listen(engine, words.listen, words.wait)?;
    say(&format!("listening on {}", acceptor.address()?))?;
    loop {
        acceptor.round()?;
    }
}

fn main() -> ExitCode {
    match run(Words::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fix-engine: {error}");
            ExitCode::FAILURE
        }
    }
}
