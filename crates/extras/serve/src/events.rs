//! A run that is going on, as a stream of server-sent events (HTML standard, 9.2).
//!
//! Every two seconds the file's stamp is looked at, and only where it changed are
//! the new rows read. The stream ends with the run, when the reader leaves, or after
//! a while: a browser then asks again by itself, with the last number it has seen.

use std::{
    io::{self, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use pickfs_record::RunRecord;
use pickfs_report::serve::LiveRow;

use crate::{
    response::Response,
    shelf::{Place, Stamp},
};

const LOOK_EVERY: Duration = Duration::from_secs(2);
/// A stream that tells nothing says that it is still there.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// Longest stream; a browser asks again.
const STREAM_MAX: Duration = Duration::from_secs(600);

pub struct Followed {
    pub place: Place,
    pub head: RunRecord,
    /// The last trial that the reader knows.
    pub after: u32,
}

pub fn follow(stream: &mut TcpStream, head_only: bool, followed: &Followed) -> io::Result<()> {
    stream.write_all(Response::events().head(true).as_bytes())?;
    if head_only {
        return stream.flush();
    }
    let (began, mut told) = (Instant::now(), Instant::now());
    let (mut after, mut seen) = (followed.after, None::<Stamp>);
    while began.elapsed() < STREAM_MAX {
        let stamp = followed.place.stamp().map(|(_, stamp)| stamp);
        if stamp != seen {
            let (text, is_over) = news(followed, &mut after);
            stream.write_all(text.as_bytes())?;
            if is_over {
                break;
            }
            (seen, told) = (stamp, Instant::now());
        } else if told.elapsed() >= SILENCE_MAX {
            stream.write_all(b": still here\n\n")?;
            told = Instant::now();
        }
        thread::sleep(LOOK_EVERY);
    }
    stream.flush()
}

/// Events for what is new, and whether the run is over. A file that cannot be read now is looked
/// at again when it changed.
fn news(followed: &Followed, after: &mut u32) -> (String, bool) {
    let mut text = String::new();
    let Ok(file) = followed.place.open() else { return (text, false) };
    // Before its trials: none is added behind an end.
    let end = file.read_head().ok().and_then(|head| head.ended);
    for row in file.trials_after(*after).unwrap_or_default() {
        *after = row.number;
        text.push_str(&format!("id: {}\n", row.number));
        let row = live_row(&followed.head, row);
        text.push_str(&format!("event: trial\ndata: {}\n\n", row.json()));
    }
    let Some(end) = end else { return (text, false) };
    let said: String =
        format!("Ended: {}. {}", end.how, end.note).chars().filter(|c| !c.is_control()).collect();
    text.push_str(&format!("event: ended\ndata: {said}\n\n"));
    (text, true)
}

pub fn live_row(head: &RunRecord, row: pickfs_store::TrialRow) -> LiveRow {
    let again = if row.attempt > 1 { ", repeated" } else { "" };
    LiveRow::new(head, row.number, &row.cell.0, row.block, format!("{}{again}", row.outcome))
}
