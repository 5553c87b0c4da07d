//! The core of an exchange in one picture: gateway, risk check, pair, order book, and where the time from edge to edge
//! goes.
//!
//! ```text
//! client == FIX over TCP ==> gateway -> risk check -> pair ------------> order book -> pair -> gateway ==> client
//!                                                     |    ^ safe                     (the report)
//!                                                     |    |
//!                                                     +--> journal here
//!                                                     +== TCP ==> secondary: received, then journalled
//! ```
//!
//! The gateway is the FIX acceptor with its sessions. The risk check stands before the pair, and its verdict is kept with
//! the order. The book sees an order when it is safe, and a report leaves when it is safe: two trips of the wire.
//!
//! ```text
//! cargo run --release -p pickfs-fix --example exchange -- DIRECTORY [ORDERS]
//! ```
//!
//! One order is open at a time. Client, engine and secondary are threads of this program, so three processors are best;
//! it measures what this machine does now, and nothing is published from it.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use pickfs_fix::codec::{Decimal, Message, Version, tag};
use pickfs_fix::engine::{Engine, Settings};
use pickfs_fix::market::{Limits, Order, Risk};
use pickfs_fix::session::Phase;
use pickfs_fix::store::{Gate, LogStore, PairLog, SessionNumber};
use pickfs_fix::{Acceptor, Client, Observer, Wait, Way, now};
use pickfs_pair::{Primary, PrimaryOptions, Secondary, SecondaryOptions, Waiting};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const WITHIN: Duration = Duration::from_secs(10);

struct Quantities {
    left: BTreeMap<SessionNumber, Decimal>,
    each: Decimal,
}

impl Risk for Quantities {
    fn allows(&mut self, session: SessionNumber, order: &Order) -> bool {
        let left = self.left.entry(session).or_insert(self.each);
        let is_allowed = order.quantity <= *left;
        if is_allowed {
            *left = Decimal(left.0 - order.quantity.0);
        }
        is_allowed
    }
}

/// The stations of an order on its way through the engine, each until the next one begins.
const STATIONS: [&str; 7] = [
    "gateway in: read to parsed",
    "risk check",
    "journal + wire, order",
    "order book, report encoded",
    "journal + wire, report",
    "gateway out: send",
    "engine: read to sent",
];

struct Stations {
    reached_ns: [u64; STATIONS.len()],
    laps_ns: [Vec<u64>; STATIONS.len()],
    is_order: bool,
}

impl Stations {
    fn with_room(orders: usize) -> Stations {
        let laps_ns = std::array::from_fn(|_| Vec::with_capacity(orders));
        Stations { reached_ns: [0; STATIONS.len()], laps_ns, is_order: false }
    }

    fn reach(&mut self, station: usize) {
        self.reached_ns[station] = now().ns;
    }
}

impl Observer for Stations {
    fn read(&mut self, _connection: usize) {
        self.reach(0);
    }

    fn checking(&mut self) {
        self.reach(1);
        self.is_order = true;
    }

    fn checked(&mut self) {
        self.reach(2);
    }

    fn waited(&mut self, gate: Gate) {
        self.reach(if gate == Gate::Business { 3 } else { 5 });
    }

    fn kept(&mut self, way: Way) {
        // The last report of an order: behind it comes the gate.
        if way == Way::Out {
            self.reach(4);
        }
    }

    fn sent(&mut self, _connection: usize) {
        if !std::mem::take(&mut self.is_order) {
            return;
        }
        self.reach(6);
        let [laps @ .., whole] = &mut self.laps_ns;
        for (at, laps) in laps.iter_mut().enumerate() {
            laps.push(self.reached_ns[at + 1] - self.reached_ns[at]);
        }
        whole.push(self.reached_ns[6] - self.reached_ns[0]);
    }
}

fn acceptor(directory: &Path, secondary: SocketAddr, orders: u64) -> Outcome<Acceptor<Stations>> {
    let options = PrimaryOptions::new(directory.join("primary"), vec![secondary]);
    let primary = Primary::open(PrimaryOptions { waiting: Waiting::Spin, ..options })?;
    let log = PairLog::over(primary, WITHIN, |event| eprintln!("exchange: {event}"))?;
    let orders = usize::try_from(orders)?;
    let market = Limits { orders_max: orders + 1024, ..Limits::default() };
    let settings = Settings { market, ..Settings::default() };
    let risk = Quantities { left: BTreeMap::new(), each: Decimal::whole(1_000_000_000) };
    let (store, stations) = (Box::new(LogStore::new(log)), Stations::with_room(orders));
    let engine = Engine::observed(settings, store, now(), stations, Some(Box::new(risk)))?;
    Ok(Acceptor::listen(engine, SocketAddr::from(([127, 0, 0, 1], 0)), Wait::Spin)?)
}

struct Trader {
    client: Client,
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Trader {
    fn log_on(address: SocketAddr) -> Outcome<Trader> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut client = Client::new(Version::Fix44, "CLIENT", "PICKFS", false);
        client.connected(now());
        let mut trader = Trader { client, stream, bytes: vec![0; 65_536] };
        while trader.client.session().phase() != Phase::In {
            trader.exchange(|_| ())?;
        }
        Ok(trader)
    }

    fn exchange(&mut self, each: impl FnMut(&Message<'_>)) -> Outcome<()> {
        self.stream.write_all(self.client.outbox())?;
        self.client.outbox().clear();
        match self.stream.read(&mut self.bytes) {
            Ok(0) => Err("the exchange has closed the connection".into()),
            Ok(count) => {
                self.client.receive(&self.bytes[..count], now(), each);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn order(&mut self, number: u64) -> Outcome<u64> {
        let now_utc = now();
        self.client.send(b"D", now_utc, |message| {
            message.uint(tag::CL_ORD_ID, number).text(tag::SYMBOL, "ACME");
            message.text(tag::SIDE, if number % 2 == 0 { "1" } else { "2" });
            message.time(tag::TRANSACT_TIME, now_utc.utc_ns);
            message.decimal(tag::ORDER_QTY, Decimal::whole(100)).text(tag::ORD_TYPE, "2");
            message.text(tag::PRICE, "7.25");
        });
        let (start_ns, mut reports) = (now().ns, 0);
        while reports == 0 {
            self.exchange(|_| reports += 1)?;
        }
        Ok(now().ns - start_ns)
    }
}

fn line(name: &str, laps_ns: &mut [u64]) {
    laps_ns.sort_unstable();
    let at = |share: f64| laps_ns[((laps_ns.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    let [p50, p99, p999, largest] = [0.5, 0.99, 0.999, 1.0].map(at);
    println!("{name:28} {p50:9.1} {p99:9.1} {p999:9.1} {largest:9.1}");
}

fn run(directory: &Path, orders: u64) -> Outcome<()> {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut secondary =
        Secondary::open(SecondaryOptions::new(directory.join("secondary"), listen))?;
    let (address, stop) = (secondary.address(), AtomicBool::new(false));
    thread::scope(|scope| {
        let following = scope.spawn(|| secondary.run(&stop));
        let mut acceptor = acceptor(directory, address, orders)?;
        let (address, is_over) = (acceptor.address()?, &stop);
        let serving = scope.spawn(move || -> Outcome<_> {
            while !is_over.load(Relaxed) {
                acceptor.round()?;
            }
            Ok(std::mem::take(&mut acceptor.engine().observer().laps_ns))
        });
        let traded = Trader::log_on(address).and_then(|mut trader| {
            (1..=orders).map(|number| trader.order(number)).collect::<Outcome<Vec<u64>>>()
        });
        stop.store(true, Relaxed);
        let mut laps_ns = serving.join().map_err(|_| "the core died")??;
        following.join().map_err(|_| "the secondary died")??;
        println!("{orders} orders, in microseconds        p50       p99     p99.9   largest");
        for (name, laps_ns) in STATIONS.iter().zip(&mut laps_ns) {
            line(name, laps_ns);
        }
        line("edge to edge, at the client", &mut traded?);
        Ok(())
    })
}

fn main() -> Outcome<()> {
    let mut words = std::env::args().skip(1);
    let directory =
        words.next().ok_or("use: exchange DIRECTORY [ORDERS]; an empty directory is best")?;
    let orders = words.next().map_or(Ok(10_000), |word| word.parse())?;
    run(Path::new(&directory), orders)
}
