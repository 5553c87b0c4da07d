use std::{path::Path, process::Command, sync::Arc};

use pickfs_queue::{self as queue, Appender, Queue, ReadBy, Tailer};
use pickfs_workload::{fault::Fault, param::Resolved};

use crate::queue::{
    memory::{MemoryReader, MemoryWriter, Ring},
    params,
};

pub(super) enum Sink {
    Queue(Box<Appender>),
    Memory(MemoryWriter),
}

pub(super) enum Source {
    Queue(Box<Tailer>),
    Memory(MemoryReader),
}

pub(super) fn fault(error: queue::Error) -> Fault {
    let reason = format!("queue: {error}");
    match error {
        queue::Error::Refused { .. } => Fault::Skipped { reason },
        queue::Error::Damage(_) => Fault::Wrong { what: reason },
        _ => Fault::Failed { reason },
    }
}

pub(super) enum Channel {
    Queue(Queue),
    Memory(Arc<Ring>),
}

impl Channel {
    pub(super) fn make(directory: &Path, params: &Resolved) -> Result<Channel, Fault> {
        if params::is_memory(params) {
            return Ok(Channel::Memory(Ring::create()?));
        }
        let queue = Queue::create(directory, params::options(params)).map_err(fault)?;
        Ok(Channel::Queue(queue))
    }

    pub(super) fn open(directory: &Path, params: &Resolved) -> Result<Channel, Fault> {
        if params::is_memory(params) {
            return Ok(Channel::Memory(Ring::inherited()?));
        }
        let queue = Queue::open(directory, params::options(params)).map_err(fault)?;
        Ok(Channel::Queue(queue))
    }

    /// Lets the tailer's process inherit what it cannot open by itself.
    pub(super) fn hand_to(&self, command: &mut Command) {
        if let Channel::Memory(ring) = self {
            ring.hand_to(command);
        }
    }

    pub(super) fn queue(&self) -> Option<&Queue> {
        match self {
            Channel::Queue(queue) => Some(queue),
            Channel::Memory(_) => None,
        }
    }

    pub(super) fn sink(&self) -> Result<Sink, Fault> {
        Ok(match self {
            Channel::Queue(queue) => Sink::Queue(Box::new(queue.appender().map_err(fault)?)),
            Channel::Memory(ring) => Sink::Memory(MemoryWriter::new(Arc::clone(ring))),
        })
    }

    pub(super) fn source(&self, by: ReadBy) -> Result<Source, Fault> {
        Ok(match self {
            Channel::Queue(queue) => Source::Queue(Box::new(queue.tailer().map_err(fault)?.by(by))),
            Channel::Memory(ring) => Source::Memory(MemoryReader::new(Arc::clone(ring))),
        })
    }
}

impl Sink {
    #[inline]
    pub(super) fn append(&mut self, payload: &[u8]) -> Result<u64, Fault> {
        match self {
            Sink::Queue(appender) => Ok(appender.append(payload).map_err(fault)?.offset_bytes),
            Sink::Memory(writer) => Ok(writer.append(payload)),
        }
    }

    #[inline]
    pub(super) fn idle(&mut self) -> Result<(), Fault> {
        match self {
            Sink::Queue(appender) => appender.idle().map(drop).map_err(fault),
            Sink::Memory(_) => Ok(()),
        }
    }

    pub(super) fn rolls(&self) -> u64 {
        match self {
            Sink::Queue(appender) => appender.rolls(),
            Sink::Memory(_) => 0,
        }
    }
}

impl Source {
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
