//! Either end of a pair as a program, and the commands of its operator.
//!
//! ```text
//! pickfs-pair secondary --dir /var/b --listen 10.0.0.2:7300
//! producer | pickfs-pair primary --dir /var/a --secondary 10.0.0.2:7300
//! ```
//!
//! The primary takes one message a line from standard input and answers `safe N` on standard output when all up to
//! message N are. What happens to the connections goes to standard error.

use std::{
    io::{BufRead, Write},
    net::SocketAddr,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{Receiver, TryRecvError, sync_channel},
    },
    thread,
    time::Duration,
};

use clap::{Args, Parser, ValueEnum};
use pickfs_pair::{
    Degree, Ended, Error, OnDiverged, OnLoss, Position, Primary, PrimaryOptions, Secondary,
    SecondaryOptions, StoreOptions, Transport, Waiting, read_state, read_store, request_promotion,
};
use signal_hook::consts::{SIGINT, SIGTERM};

/// A store and its copies on other hosts
#[derive(Parser)]
enum Verb {
    /// Messages from standard input, one a line; `safe N` on standard output
    Primary(Node),
    /// Follow a primary until it is promoted, then go on as primary
    Secondary(Node),
    /// Make this node the primary
    Promote(Place),
    /// Its number, epoch and last message
    Status(Place),
    /// All messages, one a line
    Dump {
        #[command(flatten)]
        place: Place,
        #[arg(long, default_value_t = 1)]
        from: u64,
    },
}

#[derive(Args)]
struct Place {
    #[arg(long)]
    dir: PathBuf,
}

#[derive(Args)]
struct Node {
    #[arg(long)]
    dir: PathBuf,
    #[arg(long = "secondary", value_name = "ADDRESS")]
    secondaries: Vec<SocketAddr>,
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// 1 of a primary, 2 of a secondary
    #[arg(long)]
    node: Option<u8>,
    #[arg(long, default_value = "received")]
    degree: Degree,
    #[arg(long, default_value_t = 1)]
    copies: usize,
    #[arg(long, default_value = "stop")]
    on_loss: OnLoss,
    /// Bytes of messages that are kept for secondaries which are slow
    #[arg(long, default_value_t = 4 << 20)]
    buffer: usize,
    #[arg(long, default_value = "refuse")]
    on_diverged: OnDiverged,
    #[arg(long, default_value = "journal")]
    store: StoreKind,
    #[arg(long, default_value = "none")]
    sync: Sync,
    #[arg(long, default_value_t = 64 << 20)]
    file_bytes: u64,
    /// Milliseconds of silence after which the other side is lost
    #[arg(long, default_value_t = 1_000)]
    timeout: u64,
    #[arg(long, default_value = "block")]
    waiting: Waiting,
    #[arg(long, default_value = "tcp")]
    transport: Transport,
}

#[derive(Clone, Copy, ValueEnum)]
enum StoreKind {
    Journal,
    Queue,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sync {
    None,
    Fdatasync,
}

/// How long a promotion may take: the store is recovered in it.
const PROMOTED_WITHIN: Duration = Duration::from_secs(30);
const LINES: usize = 1024;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let outcome = match Verb::parse() {
        Verb::Primary(node) => primary(&node),
        Verb::Secondary(node) => secondary(&node),
        Verb::Promote(place) => promote(&place.dir),
        Verb::Status(place) => status(&place.dir),
        Verb::Dump { place, from } => dump(&place.dir, from),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pickfs-pair: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Node {
    fn store(&self) -> StoreOptions {
        let file_bytes = self.file_bytes;
        match self.store {
            StoreKind::Queue => StoreOptions::Queue(pickfs_queue::Options {
                sync: match self.sync {
                    Sync::None => pickfs_queue::Sync::None,
                    Sync::Fdatasync => pickfs_queue::Sync::Fdatasync,
                },
                segment_bytes: file_bytes,
                ..Default::default()
            }),
            StoreKind::Journal => StoreOptions::Journal(pickfs_journal::Options {
                sync: match self.sync {
                    Sync::None => pickfs_journal::Sync::None,
                    Sync::Fdatasync => pickfs_journal::Sync::Fdatasync,
                },
                file_bytes,
                ..Default::default()
            }),
        }
    }

    fn primary(&self, node: u8) -> PrimaryOptions {
        PrimaryOptions {
            node: self.node.unwrap_or(node),
            store: self.store(),
            degree: self.degree,
            copies: self.copies,
            on_loss: self.on_loss,
            timeout: Duration::from_millis(self.timeout),
            buffer_bytes: self.buffer,
            waiting: self.waiting,
            transport: self.transport,
            ..PrimaryOptions::new(&self.dir, self.secondaries.clone())
        }
    }
}

fn primary(node: &Node) -> Outcome {
    let mut primary = Primary::open(node.primary(1))?;
    if let Some(address) = node.listen {
        primary.listen(address)?;
    }
    serve(primary)
}

fn secondary(node: &Node) -> Outcome {
    // What it would be as a primary is checked before it is needed.
    let promoted = node.primary(2);
    let mut secondary = Secondary::open(SecondaryOptions {
        node: promoted.node,
        store: node.store(),
        on_diverged: node.on_diverged,
        timeout: promoted.timeout,
        waiting: node.waiting,
        transport: node.transport,
        ..SecondaryOptions::new(&node.dir, node.listen.ok_or("--listen ADDRESS is missing")?)
    })?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let last = secondary.status().last.sequence;
    println!("listens on {} after message {last}", secondary.address());
    let ended = secondary.run_while(|secondary| {
        while let Some(event) = secondary.next_event() {
            eprintln!("pickfs-pair: {event}");
        }
        !stop.load(Relaxed)
    })?;
    if ended == Ended::Stopped {
        return Ok(());
    }
    // From here on a signal ends it as any program.
    let over = Arc::new(AtomicBool::new(true));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register_conditional_shutdown(signal, 0, Arc::clone(&over))?;
    }
    serve(secondary.promote(promoted)?)
}

fn serve(mut primary: Primary) -> Outcome {
    let lines = lines();
    let mut out = std::io::stdout();
    let status = primary.status();
    writeln!(out, "ready: epoch {} after message {}", status.epoch, status.appended)?;
    let (mut told, mut waiting, mut is_over) = (status.appended, None, false);
    while !is_over || waiting.is_some() || told < primary.status().appended {
        let has_taken = take(&mut primary, &lines, &mut waiting, &mut is_over)?;
        let safe = primary.poll()?;
        while let Some(event) = primary.next_event() {
            eprintln!("pickfs-pair: {event}");
        }
        if safe > told {
            told = safe;
            writeln!(out, "safe {safe}")?;
        } else if !has_taken {
            primary.pause()?;
        }
    }
    Ok(())
}

fn take(
    primary: &mut Primary,
    lines: &Receiver<String>,
    waiting: &mut Option<String>,
    is_over: &mut bool,
) -> Result<bool, Error> {
    let mut has_taken = false;
    for _ in 0..LINES {
        let line = match waiting.take().map_or_else(|| lines.try_recv(), Ok) {
            Ok(line) => line,
            Err(error) => {
                *is_over |= error == TryRecvError::Disconnected;
                break;
            }
        };
        match primary.append(line.as_bytes()) {
            Ok(_) => has_taken = true,
            Err(Error::TooFew { .. } | Error::Behind { .. }) => {
                *waiting = Some(line);
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(has_taken)
}

fn lines() -> Receiver<String> {
    let (sender, receiver) = sync_channel(LINES);
    thread::spawn(move || {
        let mut lines = std::io::stdin().lock().lines().map_while(Result::ok);
        lines.try_for_each(|line| sender.send(line))
    });
    receiver
}

fn promote(dir: &Path) -> Outcome {
    println!("promoted: epoch {}", request_promotion(dir, PROMOTED_WITHIN)?);
    Ok(())
}

fn status(dir: &Path) -> Outcome {
    let Some(state) = read_state(dir)? else {
        return Err(format!("{} holds no node", dir.display()).into());
    };
    let mut last = Position::default();
    read_store(&dir.join("store"), 1, |at, _| {
        last = at;
        ControlFlow::Continue(())
    })?;
    println!("node {}", state.node);
    println!("pair {:016x}", state.identity);
    println!("follows epoch {}", state.epoch);
    println!("last message {} of epoch {}", last.sequence, last.epoch);
    Ok(())
}

fn dump(dir: &Path, from: u64) -> Outcome {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut failed = None;
    read_store(&dir.join("store"), from, |at, payload| {
        let text = String::from_utf8_lossy(payload);
        match writeln!(out, "{} {} {text}", at.sequence, at.epoch) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    failed.map_or(Ok(()), Err)?;
    Ok(out.flush()?)
}
