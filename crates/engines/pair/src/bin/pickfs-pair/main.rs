//! Either end of a pair as a program, and the commands of its operator.
//!
//! ```text
//! pickfs-pair secondary --dir /var/b --listen 10.0.0.2:7300
//! producer | pickfs-pair primary --dir /var/a --secondary 10.0.0.2:7300
//! ```
//!
//! The primary takes one message a line from standard input and answers `safe N` on standard output when all up to
//! message N are. What happens to the connections goes to standard error.

mod primary;
mod secondary;
mod words;

use std::{io::Write, ops::ControlFlow, path::Path, process::ExitCode, time::Duration};

use pickfs_pair::{Kind, Position, read_state, read_store, request_promotion};
use words::{Words, usage};

/// How long a promotion may take: the store is recovered in it.
const PROMOTED_WITHIN: Duration = Duration::from_secs(30);

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let verb = given.next().unwrap_or_default();
    let outcome = match (verb.as_str(), Words::read(given)) {
        ("" | "help" | "--help" | "-h", _) => {
            print!("{}", usage());
            return ExitCode::SUCCESS;
        }
        (_, Err(error)) => Err(error.into()),
        ("primary", Ok(words)) => primary::run(&words),
        ("secondary", Ok(words)) => secondary::run(&words),
        ("promote", Ok(words)) => promote(&words),
        ("status", Ok(words)) => status(&words),
        ("dump", Ok(words)) => dump(&words),
        (other, Ok(_)) => Err(format!("no verb `{other}`\n{}", usage()).into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pickfs-pair: {error}");
            ExitCode::FAILURE
        }
    }
}

fn promote(words: &Words) -> Outcome {
    let epoch = request_promotion(&words.dir()?, PROMOTED_WITHIN)?;
    println!("promoted: epoch {epoch}");
    Ok(())
}

/// A journal, unless a queue is there.
fn kind(store: &Path) -> Kind {
    match pickfs_queue::Queue::open_read_only(store) {
        Ok(_) => Kind::Queue,
        Err(_) => Kind::Journal,
    }
}

fn status(words: &Words) -> Outcome {
    let dir = words.dir()?;
    let Some(state) = read_state(&dir)? else {
        return Err(format!("{} holds no node", dir.display()).into());
    };
    let store = dir.join("store");
    let mut last = Position::default();
    read_store(&store, kind(&store), 1, |at, _| {
        last = at;
        ControlFlow::Continue(())
    })?;
    println!("node {}", state.node);
    println!("pair {:016x}", state.identity);
    println!("follows epoch {}", state.epoch);
    println!("last message {} of epoch {}", last.sequence, last.epoch);
    Ok(())
}

fn dump(words: &Words) -> Outcome {
    let store = words.dir()?.join("store");
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut failed = None;
    read_store(&store, kind(&store), words.number("from", 1)?, |at, payload| {
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
