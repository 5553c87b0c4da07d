//! Written by several threads, read by one.

use std::{
    fs::File,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    frame::{Frame, FrameReader, Stream},
    message::{FromGuest, ToGuest},
};

use super::{lanes::Lanes, system};

#[derive(Clone)]
pub struct Channel(Arc<Mutex<File>>);

pub struct Orders(FrameReader<File>);

/// A driver that was loaded a moment ago may still be making its port.
const APPEARS: Duration = Duration::from_secs(10);

impl Channel {
    pub fn open() -> Result<(Channel, Orders), String> {
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
        Ok((Channel(Arc::new(Mutex::new(file))), Orders(FrameReader::new(twin))))
    }

    /// A lab that is gone ends the guest by other means.
    pub fn tell(&self, what: &FromGuest) {
        let payload = serde_json::to_vec(what).unwrap_or_default();
        self.send(&Frame::agent(payload));
    }

    pub fn pass(&self, stream: Stream, lane: u16, line: &str) {
        self.send(&Frame { stream, lane, payload: line.as_bytes().to_vec() });
    }

    fn send(&self, frame: &Frame) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = frame.write_to(&mut *file);
    }
}

impl Orders {
    /// The next order; words for lanes are passed on meanwhile. `None` when the lab is gone.
    pub fn next_order(&mut self, lanes: &Lanes) -> Result<Option<ToGuest>, String> {
        loop {
            let Some(frame) = self.0.next_frame().map_err(|error| error.to_string())? else {
                return Ok(None);
            };
            match frame.stream {
                Stream::Agent => {
                    let order = serde_json::from_slice(&frame.payload);
                    return order
                        .map(Some)
                        .map_err(|error| format!("an order is malformed: {error}"));
                }
                Stream::Words => lanes.say(frame.lane, &frame.payload),
                Stream::Errors => {}
            }
        }
    }
}
