//! Aeron: two streams of UDP datagrams, one each way, which media drivers keep in order and whole.
//!
//! A connection is bytes in order, as TCP's is: what one side hands over comes in fragments, and where these begin
//! means nothing. Who dials knocks at the door's port and says where it listens. The other side takes a port of its
//! own, connects there, and says which one that is; from then on both ways are their own:
//!
//! ```text
//! dialer                                 door
//!   │ stream 1 to the door's port          │
//!   ├─ knock: my port, my stream ─────────►│
//!   │◄───────── welcome: my port, my stream┤ stream of the dialer's choice
//!   ├─ entries ───────────────────────────►│ stream of this side's choice
//!   │◄──────────────────── acknowledgements┤
//! ```
//!
//! Addresses are those of the hosts themselves: it does not work through address translation. Tested by
//! `cargo test -p pickfs-pair --features aeron --test pair aeron`, which scripts/aeron runs.

mod door;
mod driver;
mod embedded;
mod stream;

use std::{
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr, UdpSocket},
    thread,
    time::{Duration, Instant},
};

use super::{Connection, LOOK_AGAIN};

pub(super) use door::listen;
pub(super) use driver::media;
use stream::Stream;

const KNOCKS: i32 = 1;

/// Knocks at a door, and waits until the way is open in both directions.
pub(super) fn connect(door: SocketAddr, limit: Duration) -> io::Result<Box<dyn Connection>> {
    let until = Instant::now() + limit;
    let media = driver::media()?;
    let (ears, here) = media.subscribe_near(door)?;
    let knocks = media.publish(door, KNOCKS)?;
    wait(until, || knocks.is_connected().then_some(())).map_err(|_| nobody())?;
    wait(until, || knocks.offer(here.told("knock").as_bytes()).ok())?;
    let there = wait(until, || Place::heard("welcome", &ears))?;
    let voice = media.publish(there.address, there.stream)?;
    wait(until, || voice.is_connected().then_some(()))?;
    let mut stream = Stream::new(media, voice, ears);
    stream.wait_at_most(Some(limit))?;
    Ok(Box::new(stream))
}

fn nobody() -> io::Error {
    io::Error::new(ErrorKind::ConnectionRefused, "nobody listens there by Aeron")
}

struct Place {
    address: SocketAddr,
    stream: i32,
}

impl Place {
    fn told(&self, verb: &str) -> String {
        format!("pickfs-pair {verb} {} {}", self.address, self.stream)
    }

    fn heard(verb: &str, ears: &rusteron_client::AeronSubscription) -> Option<Place> {
        let mut place = None;
        let _ = ears.poll_fn(|bytes, _| place = Place::parse(verb, bytes), 1);
        place
    }

    fn parse(verb: &str, bytes: &[u8]) -> Option<Place> {
        let mut words = std::str::from_utf8(bytes).ok()?.split(' ');
        let is_ours = words.next() == Some("pickfs-pair") && words.next() == Some(verb);
        let address = words.next()?.parse().ok()?;
        let stream = words.next()?.parse().ok()?;
        is_ours.then_some(Place { address, stream })
    }
}

fn near(there: SocketAddr) -> io::Result<IpAddr> {
    let any: SocketAddr = match there {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(there)?;
    Ok(socket.local_addr()?.ip())
}

fn wait<T>(until: Instant, mut look: impl FnMut() -> Option<T>) -> io::Result<T> {
    loop {
        match look() {
            Some(found) => return Ok(found),
            None if Instant::now() >= until => return Err(ErrorKind::TimedOut.into()),
            None => thread::sleep(LOOK_AGAIN),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_place_is_heard_as_it_was_told_and_nothing_else_is() {
        let place = Place { address: "[::1]:7".parse().unwrap(), stream: -5 };
        let told = place.told("knock");
        let heard = Place::parse("knock", told.as_bytes()).unwrap();
        assert_eq!((heard.address, heard.stream), (place.address, place.stream));
        for other in ["", "pickfs-pair knock", "pickfs-pair knock here 1", "hello knock [::1]:7 1"]
        {
            assert!(Place::parse("knock", other.as_bytes()).is_none(), "{other}");
        }
        assert!(Place::parse("welcome", told.as_bytes()).is_none());
    }
}
