//! The core of an exchange in one picture: gateway, risk check, pair, order book, and the time from edge to edge.
//!
//! ```text
//! client == TCP ==> gateway -> risk check -> pair ----------> order book -> gateway == TCP ==> client
//!                                            |   ^ safe
//!                                            |   |
//!                                            +-> journal here
//!                                            +== TCP ==> secondary: received, then journalled
//! ```
//!
//! The risk check stands before the pair, as in the article: an order without funds is refused at the edge and never
//! journalled. The book sees an order when it is safe, and never before.
//!
//! ```text
//! cargo run --release -p pickfs-pair --example exchange -- DIRECTORY [ORDERS]
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use pickfs_pair::{Primary, PrimaryOptions, Secondary, SecondaryOptions, Waiting};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const ORDER_BYTES: usize = 32;
const WITHIN: Duration = Duration::from_secs(10);

/// An order: who, buy or sell, how many, at which price.
#[derive(Debug, Clone, Copy)]
struct Order {
    client: u64,
    is_buy: bool,
    quantity: u64,
    price: u64,
}

impl Order {
    fn bytes(self) -> [u8; ORDER_BYTES] {
        let mut bytes = [0; ORDER_BYTES];
        let words = [self.client, u64::from(self.is_buy), self.quantity, self.price];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn read(bytes: &[u8; ORDER_BYTES]) -> Order {
        let mut words = bytes
            .chunks_exact(8)
            .map(|chunk| chunk.iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte)));
        let mut word = || words.next().unwrap_or_default();
        Order { client: word(), is_buy: word() == 1, quantity: word(), price: word() }
    }
}

/// What is left to each client.
struct Risk(BTreeMap<u64, u64>);

impl Risk {
    /// Whether the client can pay; then it is set aside.
    fn allows(&mut self, order: &Order) -> bool {
        let funds = self.0.entry(order.client).or_insert(100_000_000);
        let Some(left) = funds.checked_sub(order.quantity * order.price) else { return false };
        *funds = left;
        true
    }
}

/// Price levels with what is on offer there.
#[derive(Default)]
struct Book {
    bids: BTreeMap<u64, u64>,
    asks: BTreeMap<u64, u64>,
}

impl Book {
    /// How many were filled; the rest waits in the book.
    fn execute(&mut self, order: &Order) -> u64 {
        let mut left = order.quantity;
        while left > 0 {
            let level = match order.is_buy {
                true => self.asks.first_entry().filter(|level| *level.key() <= order.price),
                false => self.bids.last_entry().filter(|level| *level.key() >= order.price),
            };
            let Some(mut level) = level else { break };
            let filled = left.min(*level.get());
            left -= filled;
            *level.get_mut() -= filled;
            if *level.get() == 0 {
                level.remove();
            }
        }
        let side = if order.is_buy { &mut self.bids } else { &mut self.asks };
        if left > 0 {
            *side.entry(order.price).or_insert(0) += left;
        }
        order.quantity - left
    }
}

/// The core: one thread from the gateway's socket to the gateway's socket.
fn serve(mut primary: Primary, mut gateway: TcpStream, orders: u64) -> Outcome<()> {
    let (mut risk, mut book) = (Risk(BTreeMap::new()), Book::default());
    let mut bytes = [0; ORDER_BYTES];
    for _ in 0..orders {
        gateway.read_exact(&mut bytes)?;
        let order = Order::read(&bytes);
        let mut filled = u64::MAX;
        if risk.allows(&order) {
            let ticket = primary.append(&bytes)?;
            primary.wait(ticket, WITHIN)?;
            filled = book.execute(&order);
        }
        gateway.write_all(&filled.to_le_bytes())?;
    }
    Ok(())
}

/// Sends orders one after the other; gives how long each took, sorted.
fn trade(mut gateway: TcpStream, orders: u64) -> Outcome<Vec<Duration>> {
    let mut times = Vec::with_capacity(orders as usize);
    let mut answer = [0; 8];
    for number in 0..orders {
        let (is_buy, price) = (number.is_multiple_of(2), 100 + number % 7);
        let order = Order { client: number % 50, is_buy, quantity: 1 + number % 9, price };
        let began = Instant::now();
        gateway.write_all(&order.bytes())?;
        gateway.read_exact(&mut answer)?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

fn run(dir: &Path, orders: u64) -> Outcome<()> {
    let mut options = SecondaryOptions::new(dir.join("secondary"), "127.0.0.1:0".parse()?);
    options.waiting = Waiting::Block;
    let mut secondary = Secondary::open(options)?;
    let address = secondary.address();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let following = scope.spawn(|| secondary.run(&stop));
        let mut primary = Primary::open(PrimaryOptions::new(dir.join("primary"), vec![address]))?;
        primary.wait_ready(WITHIN)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let client = TcpStream::connect(listener.local_addr()?)?;
        let (gateway, _) = listener.accept()?;
        client.set_nodelay(true)?;
        gateway.set_nodelay(true)?;
        let serving = scope.spawn(move || serve(primary, gateway, orders));
        let times = trade(client, orders)?;
        serving.join().map_err(|_| "the core died")??;
        stop.store(true, Relaxed);
        following.join().map_err(|_| "the secondary died")??;
        let at =
            |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
        println!("{orders} orders, edge to edge in microseconds:");
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("largest", 1.0)] {
            println!("{name:8} {:10.1}", at(share));
        }
        Ok(())
    })
}

fn main() -> Outcome<()> {
    let mut words = std::env::args().skip(1);
    let dir = words.next().ok_or("use: exchange DIRECTORY [ORDERS]; an empty directory is best")?;
    let orders = words.next().map_or(Ok(10_000), |word| word.parse())?;
    run(Path::new(&dir), orders)
}
