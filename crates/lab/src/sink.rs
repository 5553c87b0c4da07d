//! Listeners to a run: the progress line, the JSON stream.

use pickfs_model::Event;

/// Something that is told what happens.
pub trait Sink {
    /// Something happened.
    fn accept(&mut self, event: &Event);
}

impl<F: FnMut(&Event)> Sink for F {
    fn accept(&mut self, event: &Event) {
        self(event);
    }
}
