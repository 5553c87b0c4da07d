#![allow(dead_code, clippy::unwrap_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use pickfs_fix::codec::{Decimal, Encoder, Message, Version, tag};
use pickfs_fix::engine::Now;
use pickfs_fix::{Client, now};

/// On the simulated clock, so many seconds in.
pub fn at(seconds: u64) -> Now {
    let ns = seconds * 1_000_000_000;
    Now { ns, utc_ns: 1_700_000_000_000_000_000 + ns }
}

pub fn order(message: &mut Encoder, name: &str, side: &str, quantity: i64, price: &str, now: Now) {
    message.text(tag::CL_ORD_ID, name).text(tag::SYMBOL, "ACME").text(tag::SIDE, side);
    message.time(tag::TRANSACT_TIME, now.utc_ns).decimal(tag::ORDER_QTY, Decimal::whole(quantity));
    message.text(tag::ORD_TYPE, "2").text(tag::PRICE, price);
}

/// ClOrdID, ExecType, MsgSeqNum.
pub type Told = (String, String, u64);

pub fn told(message: &Message<'_>) -> Told {
    let text = |tag| String::from_utf8(message.get(tag).unwrap_or(b"").to_vec()).unwrap();
    (text(tag::CL_ORD_ID), text(tag::EXEC_TYPE), message.header.sequence.unwrap())
}

pub struct Peer {
    pub client: Client,
    stream: Option<TcpStream>,
    pub told: Vec<Told>,
}

impl Peer {
    pub fn new(version: Version, name: &str) -> Peer {
        Peer { client: Client::new(version, name, "PICKFS", true), stream: None, told: Vec::new() }
    }

    /// `false` when nobody is there, or the connection ends before that.
    pub fn log_on(&mut self, address: SocketAddr) -> bool {
        let Ok(stream) = TcpStream::connect(address) else { return false };
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        self.stream = Some(stream);
        self.client.connected(now());
        self.until(|peer| peer.client.session().phase() == pickfs_fix::session::Phase::In)
    }

    /// `false` when the connection has ended.
    pub fn exchange(&mut self) -> bool {
        let is_alive = self.exchange_bytes().is_some() && self.client.ending().is_none();
        if !is_alive {
            self.cut();
        }
        is_alive
    }

    fn exchange_bytes(&mut self) -> Option<()> {
        let stream = self.stream.as_mut()?;
        stream.write_all(self.client.outbox()).ok()?;
        self.client.outbox().clear();
        let mut bytes = [0; 65_536];
        match stream.read(&mut bytes) {
            Ok(0) => None,
            Ok(count) => {
                let told_so_far = &mut self.told;
                self.client.receive(&bytes[..count], now(), |message| {
                    told_so_far.push(told(message));
                });
                stream.write_all(self.client.outbox()).ok()?;
                self.client.outbox().clear();
                Some(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                self.client.tick(now());
                Some(())
            }
            Err(_) => None,
        }
    }

    /// `false` when the connection ends, or after twenty seconds.
    pub fn until(&mut self, is_so: impl Fn(&mut Peer) -> bool) -> bool {
        let deadline = Instant::now() + pickfs_testkit::PATIENCE;
        while !is_so(self) {
            if !self.exchange() || Instant::now() > deadline {
                return false;
            }
        }
        true
    }

    /// Without a word.
    pub fn cut(&mut self) {
        self.stream = None;
        self.client.disconnected();
    }

    pub fn order(&mut self, name: &str, side: &str, quantity: i64, price: &str) {
        let now = now();
        self.client.send(b"D", now, |message| order(message, name, side, quantity, price, now));
    }
}
