//! Appends three orders, "crashes" in the middle of a fourth, recovers, and replays.
//! `cargo run -p pickfs-journal --example quickstart -- /tmp/orders` (without a directory it uses one
//! that goes away).

use std::fs::OpenOptions;
use std::ops::ControlFlow;
use std::path::Path;

use pickfs_journal::{Journal, Options, Preallocation, replay};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let temporary = tempfile::tempdir()?;
    let dir = std::env::args().nth(1).map_or_else(|| temporary.path().join("orders"), Into::into);
    let options = Options { preallocation: Preallocation::None, ..Options::default() };

    let mut journal = Journal::create(&dir, options.clone())?;
    journal.notes().iter().for_each(|note| println!("note: {note}"));
    for order in ["buy 100 at 7.25", "sell 40 at 7.30", "buy 60 at 7.20"] {
        let appended = journal.append(order.as_bytes())?;
        println!("record {} is durable at offset {}", appended.sequence, appended.offset_bytes);
    }
    let file = dir.join(journal.file_name());
    drop(journal);

    tear(&file)?;
    let journal = Journal::open(&dir, options)?;
    println!("recovered: {:?}", journal.recovery());
    drop(journal);
    print_all(&dir)
}

fn tear(file: &Path) -> std::io::Result<()> {
    let length_bytes = file.metadata()?.len();
    OpenOptions::new().write(true).open(file)?.set_len(length_bytes - 10)
}

fn print_all(dir: &Path) -> Result<(), Box<dyn std::error::Error>> {
    replay(dir, 1, |record| {
        println!("{}: {}", record.sequence, String::from_utf8_lossy(record.payload));
        ControlFlow::Continue(())
    })?;
    Ok(())
}
