//! A report must not leave before it is safe on the standby, although its order is: engines over a network that keeps
//! reports back. What a client was told before a fail over, the next engine knows.

#![allow(clippy::unwrap_used)]

mod hosts;
mod kills;
mod peer;
mod relay;

use std::time::{Duration, Instant};

use hosts::{FIRST, Hosts, Running, SECOND};
use kills::Trader;
use peer::Peer;
use pickfs_fix::codec::Version;
use relay::Relay;

/// A report that leaves too early is there long before.
const QUIET_FOR: Duration = Duration::from_millis(150);

/// A standby, a primary that reaches it through a relay, and a client that has logged on.
struct Scene {
    hosts: Hosts,
    relay: Relay,
    standby: Running,
    engine: Running,
    trader: Trader,
}

impl Scene {
    /// The engine never reaches the other host but through the relay; the relay ends with it.
    fn new(degree: &'static str) -> Scene {
        let hosts = Hosts::new(degree);
        let relay = Relay::start(hosts.address(SECOND));
        let standby = hosts.standby(SECOND);
        let engine = hosts.start_beside(FIRST, &relay.address.to_string(), &[]);
        let mut trader = Trader::new(Peer::new(Version::Fix44, "CLIENT"), 1);
        assert!(trader.peer.log_on(engine.listening()));
        Scene { hosts, relay, standby, engine, trader }
    }

    fn order(&mut self, count: u64) {
        for _ in 0..count {
            self.trader.orders += 1;
            let name = format!("order-{}", self.trader.orders);
            self.trader.peer.order(&name, "1", 1, "1");
        }
    }

    fn told(&self) -> usize {
        self.trader.peer.told.len()
    }

    /// Sends an order whose report is kept on its way to the standby; fails where the client sees it.
    fn order_without_answer(&mut self) {
        let (told, held) = (self.told(), self.relay.held());
        self.relay.wait_came(told as u64);
        self.relay.hold_reports();
        self.order(1);
        assert!(self.trader.peer.exchange());
        self.relay.wait_held(held + 1);
        let began = Instant::now();
        while began.elapsed() < QUIET_FOR {
            assert!(self.trader.peer.exchange());
        }
        assert_eq!(self.told(), told, "a report left that is on one host alone");
    }

    /// Every order so far was answered once, by numbers that rise.
    fn is_answered(&mut self) {
        let orders = self.trader.orders as usize;
        assert!(self.trader.peer.until(|peer| peer.told.len() >= orders));
        let told = &self.trader.peer.told;
        let names: Vec<&str> = told.iter().map(|(name, ..)| name.as_str()).collect();
        let wanted: Vec<String> = (1..=orders).map(|order| format!("order-{order}")).collect();
        assert_eq!(names, wanted);
        assert!(told.is_sorted_by(|before, after| before.2 < after.2));
    }

    fn fail_over(&mut self) -> Running {
        self.engine.child.kill().unwrap();
        self.engine.child.wait().unwrap();
        self.trader.peer.cut();
        let returned = self.hosts.standby_beside_promotion(FIRST, SECOND);
        assert!(self.trader.peer.log_on(self.standby.listening()));
        returned
    }
}

#[test]
fn a_report_waits_until_the_standby_has_it() {
    let mut scene = Scene::new("received");
    scene.order(3);
    scene.is_answered();
    for _ in 0..3 {
        scene.order_without_answer();
        scene.relay.release();
        scene.is_answered();
    }
}

#[test]
fn a_report_that_never_left_is_sent_by_the_engine_that_takes_over() {
    for degree in ["received", "durable"] {
        let mut scene = Scene::new(degree);
        scene.order(3);
        scene.is_answered();
        let known = scene.trader.peer.told.clone();
        scene.order_without_answer();
        let _standby = scene.fail_over();
        let Scene { trader, standby: engine, .. } = &mut scene;
        takes_over(trader, &known);
        forgets_everything(trader, engine);
        trader.check_all();
    }
}

/// What the client knew stays, and the report that it never saw follows.
fn takes_over(trader: &mut Trader, known: &[peer::Told]) {
    let orders = trader.orders as usize;
    assert!(trader.peer.until(|peer| peer.told.len() == orders), "{:?}", trader.peer.told);
    assert_eq!(trader.peer.told[..known.len()], *known);
    let (name, kind, number) = trader.peer.told.last().unwrap();
    assert_eq!((name.as_str(), kind.as_str()), (&*format!("order-{orders}"), "0"));
    assert!(known.iter().all(|(_, _, before)| before < number));
}

/// Asked for everything again, the new engine sends what the client was told by the old one, under the same numbers.
fn forgets_everything(trader: &mut Trader, engine: &Running) {
    let told = trader.peer.told.clone();
    let next_out = trader.peer.client.session().next_out();
    trader.peer.cut();
    let began = Instant::now();
    loop {
        trader.peer = Peer::new(Version::Fix44, "CLIENT");
        trader.peer.client.session().go_on(None, Some(next_out));
        // The engine may not have seen yet that the other connection has ended.
        if trader.peer.log_on(engine.listening()) {
            break;
        }
        assert!(began.elapsed() < hosts::LONG, "{:?}", trader.peer.client.ending());
    }
    assert!(trader.peer.until(|peer| peer.told.len() >= told.len()));
    assert_eq!(trader.peer.told, told);
}
