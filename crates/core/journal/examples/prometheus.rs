//! Serves the figures of a journal to Prometheus on loopback, with the standard library alone.
//! `cargo run -p pickfs-journal --example prometheus -- 127.0.0.1:9185 10` appends for ten seconds while
//! `curl http://127.0.0.1:9185/metrics` shows a histogram of all appends, and the worst append, sync and
//! roll of the last second.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pickfs_journal::{Histogram, Journal, Observed, Observer, Options, Roll, Second};

/// Upper borders, in seconds and in nanoseconds.
const BORDERS: [(&str, u64); 8] = [
    ("0.000005", 5_000),
    ("0.00001", 10_000),
    ("0.00002", 20_000),
    ("0.00005", 50_000),
    ("0.0001", 100_000),
    ("0.0003", 300_000),
    ("0.001", 1_000_000),
    ("0.01", 10_000_000),
];

/// What a scrape sees: everything so far, and the last second.
struct Figures {
    appends: Histogram<u64>,
    last: Second,
}

struct Publish(Arc<Mutex<Figures>>);

impl Observer for Publish {
    fn second(&mut self, second: &Second) {
        let mut figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Both have the same bounds.
        let _ = figures.appends.add(&second.append);
        figures.last = second.clone();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9185".to_owned());
    let seconds = std::env::args().nth(2).map_or(Ok(10), |text| text.parse())?;
    let last = Second::default();
    let figures = Arc::new(Mutex::new(Figures { appends: last.append.clone(), last }));
    let listener = TcpListener::bind(&address)?;
    println!("serving http://{}/metrics for {seconds} s", listener.local_addr()?);
    let served = Arc::clone(&figures);
    std::thread::spawn(move || serve(&listener, &served));
    append_for(Duration::from_secs(seconds), Publish(figures))
}

fn append_for(duration: Duration, publish: Publish) -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let options = Options { roll: Roll::Ahead, file_bytes: 4 << 20, ..Options::default() };
    let mut journal = Observed::new(Journal::create(dir.path(), options)?, publish);
    let start = Instant::now();
    while start.elapsed() < duration {
        journal.append(&[0x42; 256])?;
        std::thread::sleep(Duration::from_micros(200));
    }
    println!("appended {} records", journal.finish().written_sequence());
    Ok(())
}

fn serve(listener: &TcpListener, figures: &Mutex<Figures>) {
    for stream in listener.incoming().flatten() {
        // A client that goes away in the middle is no reason to stop.
        let _ = answer(stream, figures);
    }
}

fn answer(mut stream: TcpStream, figures: &Mutex<Figures>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut request = [0; 1024];
    let length = stream.read(&mut request)?;
    let known = request[..length].starts_with(b"GET /metrics ");
    let (status, body) = match known {
        true => ("200 OK", text(&figures.lock().unwrap_or_else(PoisonError::into_inner))),
        false => ("404 Not Found", "ask for /metrics\n".to_owned()),
    };
    let kind = "text/plain; version=0.0.4";
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// The text format of Prometheus: names, types, one value a line; buckets are cumulative.
fn text(figures: &Figures) -> String {
    let mut text = String::from("# TYPE journal_append_seconds histogram\n");
    let appends = &figures.appends;
    for (border, border_ns) in BORDERS {
        let count = appends.count_between(0, border_ns);
        let _ = writeln!(text, "journal_append_seconds_bucket{{le=\"{border}\"}} {count}");
    }
    let _ = writeln!(text, "journal_append_seconds_bucket{{le=\"+Inf\"}} {}", appends.len());
    let _ = writeln!(
        text,
        "journal_append_seconds_sum {}",
        appends.mean() * appends.len() as f64 / 1e9
    );
    let _ = writeln!(text, "journal_append_seconds_count {}", appends.len());
    let worst = [
        ("append", &figures.last.append),
        ("sync", &figures.last.sync),
        ("roll", &figures.last.roll),
    ];
    for (op, histogram) in worst {
        let _ = writeln!(text, "# TYPE journal_{op}_worst_seconds gauge");
        let _ = writeln!(text, "journal_{op}_worst_seconds {}", histogram.max() as f64 / 1e9);
    }
    text
}
