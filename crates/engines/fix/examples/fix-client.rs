//! A client with one order open at a time, of any engine on loopback: prints lines `metric value` of its round trips.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;

use pickfs_fix::codec::{Decimal, Version, tag};
use pickfs_fix::session::Phase;
use pickfs_fix::{Client, now};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fix-client: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let words: Vec<u64> =
        std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [port, warmup_s, measure_s, cpu @ ..] = &words[..] else {
        return Err("use: fix-client PORT WARMUP_S MEASURE_S [CPU]".into());
    };
    if let Some(cpu) = cpu.first() {
        let mut set = rustix::thread::CpuSet::new();
        set.set(usize::try_from(*cpu)?);
        rustix::thread::sched_setaffinity(None, &set)?;
    }
    let mut peer = Peer::connect(u16::try_from(*port)?)?;
    peer.round_trips(*warmup_s)?;
    let mut operations_ns = peer.round_trips(*measure_s)?;
    operations_ns.sort_unstable();
    println!("orders_per_s\t{:.1}", operations_ns.len() as f64 / *measure_s as f64);
    for (name, quantile) in
        [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)]
    {
        let at = (operations_ns.len() as f64 * quantile) as usize;
        println!("round_trip_{name}_ns\t{}", operations_ns[at.min(operations_ns.len() - 1)]);
    }
    println!("round_trip_max_ns\t{}", operations_ns[operations_ns.len() - 1]);
    Ok(())
}

struct Peer {
    client: Client,
    stream: TcpStream,
    bytes: Vec<u8>,
    orders: u64,
    reports: u64,
}

impl Peer {
    fn connect(port: u16) -> Result<Peer, Failure> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut client = Client::new(Version::Fix44, "CLIENT", "PICKFS", false);
        client.session().beat_every(30);
        client.connected(now());
        let mut peer = Peer { client, stream, bytes: vec![0; 65_536], orders: 0, reports: 0 };
        peer.send()?;
        while peer.client.session().phase() != Phase::In {
            peer.receive()?;
        }
        Ok(peer)
    }

    fn send(&mut self) -> Result<(), Failure> {
        self.stream.write_all(self.client.outbox())?;
        self.client.outbox().clear();
        Ok(())
    }

    fn receive(&mut self) -> Result<(), Failure> {
        let count = match self.stream.read(&mut self.bytes) {
            Ok(0) => return Err("the engine has closed the connection".into()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let reports = &mut self.reports;
        self.client.receive(&self.bytes[..count], now(), |_| *reports += 1);
        self.send()
    }

    fn round_trips(&mut self, seconds: u64) -> Result<Vec<u64>, Failure> {
        let end_ns = now().ns + seconds * 1_000_000_000;
        let mut operations_ns = Vec::with_capacity(1 << 20);
        loop {
            self.order();
            let start_ns = now().ns;
            self.send()?;
            while self.reports < self.orders {
                self.receive()?;
            }
            let now_ns = now().ns;
            operations_ns.push(now_ns - start_ns);
            if now_ns > end_ns {
                return Ok(operations_ns);
            }
        }
    }

    fn order(&mut self) {
        self.orders += 1;
        let (number, now) = (self.orders, now());
        self.client.send(b"D", now, |message| {
            message.uint(tag::CL_ORD_ID, number).text(tag::SYMBOL, "ACME").text(tag::SIDE, "1");
            message.time(tag::TRANSACT_TIME, now.utc_ns);
            message.decimal(tag::ORDER_QTY, Decimal::whole(100)).text(tag::ORD_TYPE, "2");
            message.text(tag::PRICE, "7.25");
        });
    }
}
