//! An order on its way - read, kept, matched, answered, kept, sent - allocates nothing, over any store that an engine
//! would run on, whether it rests or trades. The allocator of this test counts for the thread that asks.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use pickfs_fix::codec::Version;
use pickfs_fix::engine::{Engine, Settings};
use pickfs_fix::session::Phase;
use pickfs_fix::store::{LogStore, MemoryLog, Profile, Store};
use pickfs_fix::{Acceptor, Client, Wait, now};
use pickfs_pair::Primary;
use pickfs_testkit::{Counting, allocated};

use crate::pair_store::{options, secondary, store};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Bench {
    acceptor: Acceptor,
    client: Client,
    stream: TcpStream,
    orders: u64,
    reports: u64,
    allocations: u64,
}

impl Bench {
    fn new(store: Box<dyn Store>) -> Bench {
        let engine = Engine::open(Settings::default(), store, now()).unwrap();
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let acceptor = Acceptor::listen(engine, anywhere, Wait::Spin).unwrap();
        let stream = TcpStream::connect(acceptor.address().unwrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut client = Client::new(Version::Fix44, "CLIENT", "PICKFS", false);
        client.connected(now());
        let mut bench = Bench { acceptor, client, stream, orders: 0, reports: 0, allocations: 0 };
        while bench.client.session().phase() != Phase::In {
            bench.exchange();
        }
        bench
    }

    fn exchange(&mut self) {
        self.stream.write_all(self.client.outbox()).unwrap();
        self.client.outbox().clear();
        let before = allocated();
        self.acceptor.round().unwrap();
        self.allocations += allocated() - before;
        let mut bytes = [0; 8192];
        if let Ok(count) = std::io::Read::read(&mut self.stream, &mut bytes) {
            assert!(count > 0, "the engine has closed the connection");
            let reports = &mut self.reports;
            self.client.receive(&bytes[..count], now(), |_| *reports += 1);
        }
    }

    /// Some rest and some trade; gives the engine's allocations.
    fn trade(&mut self, orders: u64) -> u64 {
        self.allocations = 0;
        for _ in 0..orders {
            self.orders += 1;
            let (side, price) = match self.orders % 4 {
                0 => ("1", "7.25"),
                1 => ("2", "7.25"),
                2 => ("1", "1"),
                _ => ("2", "90"),
            };
            let (name, now) = (self.orders.to_string(), now());
            self.client.send(b"D", now, |message| {
                crate::peer::order(message, &name, side, 100, price, now);
            });
            let before = self.reports;
            while self.reports == before {
                self.exchange();
            }
        }
        self.allocations
    }
}

/// The first orders find out how much room there is to be, then none is asked for.
fn check(name: &str, store: Box<dyn Store>) {
    let mut bench = Bench::new(store);
    bench.trade(200);
    assert_eq!(bench.trade(1_000), 0, "{name}");
    assert_eq!(bench.orders, 1_200);
    assert!(bench.reports > 1_200, "some traded");
}

#[test]
fn an_order_on_its_way_allocates_nothing_over_any_store() {
    check("memory", Box::new(LogStore::new(MemoryLog::with_room(16 << 20))));
    for profile in [Profile::Queue, Profile::Journal, Profile::JournalFdatasync, Profile::FileStore]
    {
        let directory = tempfile::tempdir().unwrap();
        let store = profile.open(&directory.path().join("store"), 16 << 20).unwrap();
        check(profile.word(), store);
    }
}

#[test]
fn an_order_on_its_way_allocates_nothing_over_a_pair() {
    let directory = tempfile::tempdir().unwrap();
    let follower = secondary(&directory.path().join("b")).follow().unwrap();
    let primary = Primary::open(options(&directory.path().join("a"), &[follower.address()]));
    check("pair", store(primary.unwrap(), pickfs_testkit::PATIENCE));
}
