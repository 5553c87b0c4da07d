//! The client of a media driver that all connections of this process share.
//!
//! Where `AERON_DIR` is set, the driver that works there is used; otherwise this process has one of its own.

use std::{
    ffi::CString,
    fmt::Display,
    hash::{BuildHasher, RandomState},
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

use rusteron_client::{
    Aeron, AeronCError, AeronContext, AeronExclusivePublication, AeronSubscription, Handlers,
};

use super::{Place, embedded::Embedded, near, wait};

/// A driver that does not answer by then is dead.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// Three terms make the log of a stream, at both ends.
const TERM: &str = "1m";

pub(in super::super) struct Media {
    aeron: Aeron,
    /// Gone after its client.
    _driver: Option<Embedded>,
}

/// The one of this process: made when it is first needed, gone with the last that needs it.
pub(in super::super) fn media() -> io::Result<Arc<Media>> {
    static SHARED: Mutex<Weak<Media>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(media) = shared.upgrade().filter(|media| !media.aeron.is_closed()) {
        return Ok(media);
    }
    let media = Arc::new(Media::start()?);
    *shared = Arc::downgrade(&media);
    Ok(media)
}

pub(super) fn failed(error: impl Display) -> io::Error {
    io::Error::other(format!("aeron: {error}"))
}

pub(super) fn c_string(text: impl Into<Vec<u8>>) -> io::Result<CString> {
    CString::new(text).map_err(io::Error::other)
}

impl Media {
    fn start() -> io::Result<Media> {
        let driver = match std::env::var_os("AERON_DIR") {
            Some(_) => None,
            None => Some(Embedded::start()?),
        };
        let aeron = client(driver.as_ref()).map_err(failed)?;
        Ok(Media { aeron, _driver: driver })
    }

    /// Gives the address with its port.
    pub(super) fn subscribe(
        &self,
        address: SocketAddr,
        stream: i32,
    ) -> io::Result<(AeronSubscription, SocketAddr)> {
        let until = Instant::now() + ANSWERS_WITHIN;
        let channel = c_string(format!("aeron:udp?endpoint={address}"))?;
        let (images, gone) = (Handlers::NONE, Handlers::NONE);
        let asked = self.aeron.async_add_subscription(&channel, stream, images, gone);
        let asked = asked.map_err(failed)?;
        let subscription = wait(until, || asked.poll().transpose())?.map_err(failed)?;
        let resolved = || subscription.resolved_endpoint_as_string(128).ok()?.parse().ok();
        let address = wait(until, resolved)?;
        Ok((subscription, address))
    }

    /// Listens at a free port of the address by which `there` is reached, to a stream that nobody had before.
    pub(super) fn subscribe_near(
        &self,
        there: SocketAddr,
    ) -> io::Result<(AeronSubscription, Place)> {
        let stream = RandomState::new().hash_one(there) as i32;
        let (subscription, address) = self.subscribe((near(there)?, 0).into(), stream)?;
        Ok((subscription, Place { address, stream }))
    }

    pub(super) fn publish(
        &self,
        address: SocketAddr,
        stream: i32,
    ) -> io::Result<AeronExclusivePublication> {
        let until = Instant::now() + ANSWERS_WITHIN;
        let channel = c_string(format!("aeron:udp?endpoint={address}|term-length={TERM}"))?;
        let asked = self.aeron.async_add_exclusive_publication(&channel, stream).map_err(failed)?;
        wait(until, || asked.poll().transpose())?.map_err(failed)
    }
}

fn client(driver: Option<&Embedded>) -> Result<Aeron, AeronCError> {
    let context = AeronContext::new()?;
    if let Some(driver) = driver {
        context.set_dir(driver.dir())?;
    }
    // Without one the C client ends the process.
    context.set_error_handler(Some(|code: i32, message: &str| {
        eprintln!("aeron: error {code}: {message}");
    }))?;
    let aeron = Aeron::new(&context)?;
    aeron.start()?;
    Ok(aeron)
}
