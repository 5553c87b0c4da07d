//! Written by several threads, read by one.

use std::{
    fs::File,
    io::BufReader,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::message::{FromGuest, send};

use super::system;

#[derive(Clone)]
pub struct Channel(Arc<Mutex<File>>);

/// A driver that was loaded a moment ago may still be making its port.
const APPEARS: Duration = Duration::from_secs(10);

impl Channel {
    pub fn open() -> Result<(Channel, BufReader<File>), String> {
        let path = system::channel_name().ok_or("no line to the lab is named")?;
        let began = Instant::now();
        let file = loop {
            match File::options().read(true).write(true).open(&path) {
                Ok(file) => break file,
                Err(_) if began.elapsed() < APPEARS => std::thread::sleep(Duration::from_millis(5)),
                Err(error) => return Err(format!("{path}: {error}")),
            }
        };
        let twin = file.try_clone().map_err(|error| format!("{path}: {error}"))?;
        Ok((Channel(Arc::new(Mutex::new(file))), BufReader::new(twin)))
    }

    /// A lab that is gone ends the guest by other means.
    pub fn tell(&self, what: &FromGuest) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = send(what, &mut *file);
    }
}
