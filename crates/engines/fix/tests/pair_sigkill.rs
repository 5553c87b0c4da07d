//! An engine with a copy on another host is killed under load: the other is promoted, or the same one starts again in
//! its place. Sessions go on with the right numbers either way, no acknowledged order is lost, and none is
//! acknowledged twice.

#![allow(clippy::unwrap_used)]

mod hosts;
mod kills;
mod peer;

use hosts::{FIRST, Hosts, Running, SECOND};
use kills::Trader;
use peer::Peer;
use pickfs_fix::codec::Version;

fn trader(seed: u64) -> Trader {
    Trader::new(Peer::new(Version::Fix44, "CLIENT"), seed)
}

fn log_on(trader: &mut Trader, engine: &Running) {
    assert!(trader.peer.log_on(engine.listening()), "{:?}", trader.peer.client.ending());
}

/// The engine is killed, the standby promoted, and the dead one comes back as its standby.
fn fails_over(degree: &'static str, kills: u64) {
    let hosts = Hosts::new(degree);
    let mut trader = trader(kills);
    let (mut standby, mut engine) = (hosts.standby(SECOND), hosts.primary(FIRST));
    for _ in 0..kills {
        log_on(&mut trader, &engine);
        trader.trade_until_killed(&mut engine.child);
        let returned = hosts.standby_beside_promotion(engine.host, standby.host);
        (engine, standby) = (standby, returned);
    }
    log_on(&mut trader, &engine);
    trader.check_all();
}

/// The engine is killed and started again where it was: what it had sent and not kept comes back from its standby.
fn goes_on_in_its_place(degree: &'static str, kills: u64) {
    let hosts = Hosts::new(degree);
    let mut trader = trader(7 * kills);
    let (_standby, mut engine) = (hosts.standby(SECOND), hosts.primary(FIRST));
    for _ in 0..kills {
        log_on(&mut trader, &engine);
        trader.trade_until_killed(&mut engine.child);
        engine = hosts.primary(FIRST);
    }
    log_on(&mut trader, &engine);
    trader.check_all();
}

#[test]
fn a_standby_that_is_promoted_goes_on_with_every_session() {
    fails_over("received", 12);
}

#[test]
fn a_standby_that_has_synced_goes_on_with_every_session() {
    fails_over("durable", 4);
}

#[test]
fn an_engine_that_starts_again_goes_on_with_every_session() {
    goes_on_in_its_place("received", 12);
}

#[test]
#[ignore = "heavy: two hundred kills"]
fn an_engine_with_a_standby_is_killed_two_hundred_times() {
    fails_over("received", 100);
    fails_over("durable", 50);
    goes_on_in_its_place("received", 50);
}

#[test]
fn an_engine_without_its_standby_says_whom_it_misses_and_ends() {
    let hosts = Hosts::new("received");
    let mut engine = hosts.start(FIRST, &["--patience", "50"]);
    engine.until("does not follow");
    engine.until("0 of 1 secondaries are there");
    assert!(!engine.child.wait().unwrap().success());
}
