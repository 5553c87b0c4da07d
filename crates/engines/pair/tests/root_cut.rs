//! Two hosts in two network namespaces: the network is cut and heals. Needs root and `ip` (iproute2).
#![allow(clippy::unwrap_used)]

mod hosts;

use hosts::Hosts;
use pickfs_testkit::{may_run, only_if};

#[test]
fn a_cut_network_stops_acknowledgements_and_a_healed_one_catches_up() {
    only_if!(may_run(&["ip"]));
    let hosts = Hosts::apart();
    let mut primary = hosts.primary(1, &["--timeout", "400"]);
    let secondary = hosts.secondary(2, &["--timeout", "400"]);
    primary.ready();
    primary.load(0);
    primary.wait_safe(100);
    hosts.plug("down");
    primary.program.until("is lost: silent for 400 ms");
    let safe = primary.settled();
    hosts.plug("up");
    primary.wait_safe(safe + 1_000);
    secondary.program.until("follows");
}

#[test]
fn a_cut_network_lets_a_primary_degrade_that_was_told_to() {
    only_if!(may_run(&["ip"]));
    let hosts = Hosts::apart();
    let mut primary = hosts.primary(1, &["--timeout", "400", "--on-loss", "degrade"]);
    let _secondary = hosts.secondary(2, &["--timeout", "400"]);
    primary.program.until("restored: copies of all up to message 0");
    primary.ready();
    primary.load(0);
    primary.wait_safe(100);
    hosts.plug("down");
    primary.wait_said_again("degraded: behind message");
    primary.wait_safe(primary.safe() + 10_000);
    hosts.plug("up");
    primary.pause_load();
    primary.wait_said_again("restored: copies of all");
}
