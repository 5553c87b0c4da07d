use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use pickfs_fix::Client;
use pickfs_fix::codec::{Decimal, Encoder, Message, Version, tag, uint};
use pickfs_fix::engine::Now;
use pickfs_fix::session::Phase;
use pickfs_record::{Clock, MonotonicClock, OpIndex};
use pickfs_workload::bench::Bench;
use pickfs_workload::drive::{Due, Work};
use pickfs_workload::fault::Fault;
use pickfs_workload::param::Resolved;

/// Orders that may be open at the same time and still be measured.
const OPEN_MAX: usize = 1 << 16;
/// So long before an order is due, sockets are left alone.
const QUIET_NS: u64 = 5_000;
const PATIENCE: Duration = Duration::from_secs(30);

struct Trader {
    client: Client,
    stream: TcpStream,
    orders: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    number: u64,
    origin_ns: u64,
    start_ns: u64,
}

/// A round trip that is over and not yet kept.
#[derive(Debug, Clone, Copy)]
struct Trip {
    sent: Sent,
    end_ns: u64,
}

pub(super) struct Clients {
    traders: Vec<Trader>,
    flow: Flow,
    bytes: Vec<u8>,
    sent: Vec<Sent>,
    trips: Vec<Trip>,
    pub(super) orders: u64,
    /// Orders whose New was seen.
    pub(super) acknowledged: u64,
    pub(super) reports: u64,
    pub(super) arrivals_late: u64,
    is_closed: bool,
    is_ready: bool,
}

fn io(verb: &'static str) -> impl FnOnce(std::io::Error) -> Fault {
    Fault::io(verb, "the engine's socket")
}

impl Clients {
    pub(super) fn connect(address: SocketAddr, params: &Resolved) -> Result<Clients, Fault> {
        let version = Version::of(params.text("version").as_bytes()).unwrap_or(Version::Fix44);
        let traders = (0..params.integer("clients")).map(|number| {
            let stream = TcpStream::connect(address).map_err(io("connect to"))?;
            stream
                .set_nodelay(true)
                .and_then(|()| stream.set_nonblocking(true))
                .map_err(io("set"))?;
            let mut client =
                Client::new(version, &format!("CLIENT{number}"), super::ready::COMP_ID, false);
            // Nobody reads between the warm-up and the measurement.
            client.session().beat_every(0);
            client.connected(pickfs_fix::now());
            Ok(Trader { client, stream, orders: 0 })
        });
        Ok(Clients {
            traders: traders.collect::<Result<_, Fault>>()?,
            flow: if params.text("flow") == "cross" { Flow::Cross } else { Flow::Rest },
            bytes: vec![0; 64 << 10],
            sent: vec![Sent::default(); OPEN_MAX],
            trips: Vec::with_capacity(OPEN_MAX),
            orders: 0,
            acknowledged: 0,
            reports: 0,
            arrivals_late: 0,
            is_closed: params.text("arrival") == "closed",
            is_ready: false,
        })
    }

    /// How many there are: a store numbers them from 0.
    pub(super) fn sessions(&self) -> u32 {
        self.traders.len() as u32
    }

    pub(super) fn are_in(&mut self) -> bool {
        self.traders.iter_mut().all(|trader| trader.client.session().phase() == Phase::In)
    }

    #[inline]
    pub(super) fn exchange(&mut self) -> Result<(), Fault> {
        for trader in &mut self.traders {
            if !trader.client.outbox().is_empty() {
                trader.send()?;
            }
            let count = match trader.stream.read(&mut self.bytes) {
                Ok(0) => return Err(trader.gone()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => return Err(io("read")(error)),
            };
            let end_ns = MonotonicClock.now_ns();
            let (sent, trips) = (&self.sent, &mut self.trips);
            let (reports, acknowledged) = (&mut self.reports, &mut self.acknowledged);
            trader.client.receive(&self.bytes[..count], pickfs_fix::now(), |message| {
                *reports += 1;
                if let Some(number) = acknowledges(message) {
                    *acknowledged += 1;
                    let sent = sent[number as usize % OPEN_MAX];
                    if sent.number == number && trips.len() < OPEN_MAX {
                        trips.push(Trip { sent, end_ns });
                    }
                }
            });
            if trader.client.ending().is_some() {
                return Err(trader.gone());
            }
        }
        Ok(())
    }

    fn until_answered(&mut self) -> Result<(), Fault> {
        let deadline = Instant::now() + PATIENCE;
        while self.acknowledged < self.orders {
            self.exchange()?;
            if Instant::now() > deadline {
                let what =
                    format!("{} of {} orders were acknowledged", self.acknowledged, self.orders);
                return Err(Fault::Wrong { what });
            }
        }
        Ok(())
    }

    fn keep(&mut self, bench: &mut Bench) {
        for trip in &self.trips {
            let Trip { sent, end_ns } = *trip;
            bench.operation_since(OpIndex(0), sent.origin_ns, sent.start_ns, end_ns);
        }
        self.trips.clear();
    }

    /// In a closed loop the answer is part of the arrival.
    fn answer(&mut self) -> Result<(), Fault> {
        while self.acknowledged < self.orders {
            for _ in 0..1024 {
                self.exchange()?;
                if self.acknowledged == self.orders {
                    return Ok(());
                }
            }
            self.until_answered()?;
        }
        Ok(())
    }
}

/// The number of the order that a report says was taken: every order has one of these.
#[inline]
fn acknowledges(message: &Message<'_>) -> Option<u64> {
    let (mut number, mut is_new) = (None, false);
    for field in message.body().filter_map(Result::ok) {
        match field.tag {
            tag::EXEC_TYPE => is_new = field.value == b"0",
            tag::CL_ORD_ID => number = uint(field.value),
            _ => {}
        }
    }
    number.filter(|_| is_new)
}

impl Trader {
    /// Sends all that waits; a full socket is tried again.
    #[inline]
    fn send(&mut self) -> Result<(), Fault> {
        let mut from = 0;
        let outbox = self.client.outbox();
        while from < outbox.len() {
            match self.stream.write(&outbox[from..]) {
                Ok(count) => from += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                Err(error) => return Err(io("write")(error)),
            }
        }
        outbox.clear();
        Ok(())
    }

    fn gone(&self) -> Fault {
        let why = self.client.ending().map_or("closed by the engine".into(), |end| end.text());
        Fault::Failed { reason: format!("a client's connection has ended: {why}") }
    }
}

impl Work for Clients {
    /// Reports are read until shortly before the arrival; then its order is written, all but sent.
    fn ready(&mut self, time_ns: u64) -> Result<(), Fault> {
        if self.is_ready {
            return Ok(());
        }
        while MonotonicClock.now_ns() + QUIET_NS < time_ns {
            self.exchange()?;
        }
        let number = self.orders + 1;
        let client = self.orders % self.traders.len() as u64;
        let trader = &mut self.traders[client as usize];
        let (flow, of_client, now) = (self.flow, trader.orders, pickfs_fix::now());
        trader.client.send(b"D", now, |message| {
            write(message, flow, client, number, of_client, now);
        });
        trader.orders += 1;
        self.is_ready = true;
        Ok(())
    }

    #[inline]
    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        self.is_ready = false;
        let client = self.orders as usize % self.traders.len();
        self.orders += 1;
        let (number, start_ns) = (self.orders, arrival.start_ns);
        let sent = Sent { number, origin_ns: bench.origin_ns(start_ns), start_ns };
        self.sent[number as usize % OPEN_MAX] = sent;
        self.traders[client].send()?;
        if self.is_closed {
            self.answer()?;
        }
        let end_ns = clock.now_ns();
        self.arrivals_late += crate::late(arrival);
        self.keep(bench);
        Ok(end_ns)
    }

    /// An order that was written but whose arrival never came goes out as well: numbers leave no gaps.
    fn settle<C: Clock>(&mut self, clock: &C, bench: &mut Bench) -> Result<u64, Fault> {
        if std::mem::take(&mut self.is_ready) {
            self.orders += 1;
        }
        self.until_answered()?;
        self.keep(bench);
        Ok(clock.now_ns())
    }
}

// The orders that clients send: which one is the n-th follows from n alone.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// Buys below, sells above: nothing trades.
    Rest,
    /// A sell, then a buy that takes it.
    Cross,
}

const LEVELS: u64 = 50;
const MIDDLE: i64 = 1_000;

const NAME_BYTES: usize = 12;

/// The n-th order of all clients as its ClOrdID: twelve digits.
fn name(number: u64) -> [u8; NAME_BYTES] {
    let mut name = [b'0'; NAME_BYTES];
    let mut rest = number;
    for digit in name.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    name
}

#[inline]
pub(super) fn write(
    message: &mut Encoder,
    flow: Flow,
    client: u64,
    number: u64,
    of_client: u64,
    now: Now,
) {
    let is_sell = of_client % 2 == 0;
    let level = (of_client / 2 % LEVELS) as i64 + 1;
    let price = match (flow, is_sell) {
        (Flow::Cross, _) => MIDDLE,
        (Flow::Rest, true) => MIDDLE + level,
        (Flow::Rest, false) => MIDDLE - level,
    };
    message
        .bytes(tag::CL_ORD_ID, &name(number))
        .bytes(tag::SIDE, if is_sell { b"2" } else { b"1" });
    message.bytes(tag::SYMBOL, &[b'S', b'0' + (client / 10) as u8, b'0' + (client % 10) as u8]);
    message.time(tag::TRANSACT_TIME, now.utc_ns).decimal(tag::ORDER_QTY, Decimal::whole(100));
    message.bytes(tag::ORD_TYPE, b"2").decimal(tag::PRICE, Decimal::whole(price));
}

#[cfg(test)]
mod tests {
    use pickfs_fix::codec::{Message, Version};

    use super::*;

    #[test]
    fn resting_orders_never_meet_and_crossing_ones_do() {
        let price = |flow, of_client| {
            let mut encoder = Encoder::default();
            let message = encoder.begin(Version::Fix44, b"D");
            write(message, flow, 3, 42, of_client, Now::default());
            let bytes = message.finish().to_vec();
            let message = Message::parse(&bytes).unwrap();
            assert_eq!(message.get(tag::CL_ORD_ID), Some(&b"000000000042"[..]));
            assert_eq!(message.get(tag::SYMBOL), Some(&b"S03"[..]));
            Decimal::parse(message.get(tag::PRICE).unwrap()).unwrap()
        };
        let highest_buy = (1..200).step_by(2).map(|n| price(Flow::Rest, n)).max();
        let lowest_sell = (0..200).step_by(2).map(|n| price(Flow::Rest, n)).min();
        assert!(highest_buy < lowest_sell);
        assert_eq!(price(Flow::Cross, 0), price(Flow::Cross, 1));
    }
}
