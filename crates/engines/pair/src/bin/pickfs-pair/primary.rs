use std::{
    io::{BufRead, Write},
    sync::mpsc::{Receiver, TryRecvError, sync_channel},
    thread,
};

use pickfs_pair::{Error, Primary};

use super::{Outcome, words::Words};

const LINES: usize = 1024;

pub(crate) fn run(words: &Words) -> Outcome {
    let mut primary = Primary::open(words.primary(1)?)?;
    if let Some(address) = words.listen()? {
        primary.listen(address)?;
    }
    serve(primary)
}

pub(crate) fn serve(mut primary: Primary) -> Outcome {
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
        let line = match waiting.take() {
            Some(line) => line,
            None => match lines.try_recv() {
                Ok(line) => line,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    *is_over = true;
                    break;
                }
            },
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
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
