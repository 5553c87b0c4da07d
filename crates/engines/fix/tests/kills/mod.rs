#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::process::Child;
use std::time::{Duration, Instant};

use pickfs_fix::codec::tag;
use pickfs_fix::now;
use pickfs_testkit::Dice;

use crate::peer::Peer;

pub struct Trader {
    pub peer: Peer,
    pub orders: u64,
    pub dice: Dice,
}

impl Trader {
    pub fn new(peer: Peer, seed: u64) -> Trader {
        Trader { peer, orders: 0, dice: Dice::new(seed) }
    }

    /// Sends orders until the engine is dead; they may be on their way when it dies. Most rest, some trade.
    pub fn trade_until_killed(&mut self, engine: &mut Child) {
        let kill_at = Instant::now() + Duration::from_micros(500 + self.dice.below(40_000) as u64);
        while Instant::now() < kill_at {
            for _ in 0..=self.dice.below(4) {
                self.orders += 1;
                let (side, price) = match self.orders % 4 {
                    0 => ("2", "100"),
                    1 => ("1", "100"),
                    _ => ("1", "1"),
                };
                self.peer.order(&format!("order-{}", self.orders), side, 1, price);
            }
            if !self.peer.exchange() {
                break;
            }
        }
        engine.kill().unwrap();
        engine.wait().unwrap();
        self.peer.cut();
    }

    /// Every order was acknowledged once, numbers rise, and what rests is in the book, once.
    pub fn check_all(&mut self) {
        let orders = self.orders;
        let all = usize::try_from(orders).unwrap();
        let is_all_there = self.peer.until(|peer| new_reports(peer).len() == all);
        let counts = new_reports(&self.peer);
        assert!(is_all_there, "{} of {orders} orders were acknowledged", counts.len());
        assert!(counts.values().all(|count| *count == 1), "an order was acknowledged twice");
        let sequences: Vec<u64> = self.peer.told.iter().map(|(_, _, number)| *number).collect();
        assert!(sequences.is_sorted_by(|before, after| before < after));
        every_resting_order_can_be_cancelled(&mut self.peer, orders);
    }
}

fn new_reports(peer: &Peer) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for (name, exec_type, _) in &peer.told {
        if exec_type == "0" {
            *counts.entry(name.as_str()).or_default() += 1;
        }
    }
    counts
}

/// What was acknowledged and not filled is in the book, once.
fn every_resting_order_can_be_cancelled(peer: &mut Peer, orders: u64) {
    let resting: Vec<u64> = (1..=orders).filter(|order| order % 4 > 1).collect();
    let told_before = peer.told.len();
    for order in &resting {
        let (name, now) = (format!("order-{order}"), now());
        peer.client.send(b"F", now, |message| {
            message.text(tag::CL_ORD_ID, &format!("cancel-{order}"));
            message.text(tag::ORIG_CL_ORD_ID, &name).text(tag::SYMBOL, "ACME");
            message.text(tag::SIDE, "1").time(tag::TRANSACT_TIME, now.utc_ns);
        });
    }
    let wanted = resting.len();
    assert!(peer.until(|peer| peer.told.len() >= told_before + wanted));
    let canceled = peer.told[told_before..].iter().filter(|(_, exec_type, _)| exec_type == "4");
    assert_eq!(canceled.count(), wanted);
}
