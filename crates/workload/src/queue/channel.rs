//! Both ends of what messages go through: the queue, or plain memory.

use std::path::Path;

use pickfs_journal::queue::{self, Appender, Queue, ReadBy, Tailer};

use crate::{
    fault::Fault,
    param::Resolved,
    queue::{
        memory::{self, MemoryReader, MemoryWriter},
        params,
    },
};

/// The appender's end.
pub(super) enum Sink {
    Queue(Box<Appender>),
    Memory(MemoryWriter),
}

/// The tailer's end.
pub(super) enum Source {
    Queue(Box<Tailer>),
    Memory(MemoryReader),
}

/// An error of the queue as the end of a trial.
pub(super) fn fault(error: queue::Error) -> Fault {
    let reason = format!("queue: {error}");
    match error {
        queue::Error::Refused { .. } => Fault::Skipped { reason },
        queue::Error::Damage(_) => Fault::Wrong { what: reason },
        _ => Fault::Failed { reason },
    }
}

/// What was made for a trial.
pub(super) struct Channel {
    pub(super) queue: Option<Queue>,
    pub(super) sink: Sink,
    pub(super) source: Option<Source>,
}

/// Makes the queue in a directory that holds none, or the ring.
pub(super) fn make(directory: &Path, params: &Resolved) -> Result<Channel, Fault> {
    let by = params::read_by(params);
    if params::is_memory(params) {
        let (writer, reader) = memory::ring();
        let source = by.map(|_| Source::Memory(reader));
        return Ok(Channel { queue: None, sink: Sink::Memory(writer), source });
    }
    let queue = Queue::create(directory, params::options(params)).map_err(fault)?;
    let sink = Sink::Queue(Box::new(queue.appender().map_err(fault)?));
    let source = by.map(|by| source(&queue, by)).transpose()?;
    Ok(Channel { queue: Some(queue), sink, source })
}

fn source(queue: &Queue, by: ReadBy) -> Result<Source, Fault> {
    Ok(Source::Queue(Box::new(queue.tailer().map_err(fault)?.by(by))))
}

impl Sink {
    /// Appends; gives where.
    #[inline]
    pub(super) fn append(&mut self, payload: &[u8]) -> Result<u64, Fault> {
        match self {
            Sink::Queue(appender) => Ok(appender.append(payload).map_err(fault)?.offset_bytes),
            Sink::Memory(writer) => Ok(writer.append(payload)),
        }
    }

    /// The time between two messages.
    #[inline]
    pub(super) fn idle(&mut self) -> Result<(), Fault> {
        match self {
            Sink::Queue(appender) => appender.idle().map(drop).map_err(fault),
            Sink::Memory(_) => Ok(()),
        }
    }

    /// How often it went to another file.
    pub(super) fn rolls(&self) -> u64 {
        match self {
            Sink::Queue(appender) => appender.rolls(),
            Sink::Memory(_) => 0,
        }
    }
}

impl Source {
    /// The payload of the next message, if there is one.
    #[inline]
    pub(super) fn poll(&mut self) -> Result<Option<&[u8]>, Fault> {
        match self {
            Source::Queue(tailer) => {
                Ok(tailer.poll().map_err(fault)?.map(|message| message.payload))
            }
            Source::Memory(reader) => Ok(reader.poll().then_some(&reader.payload[..])),
        }
    }
}
