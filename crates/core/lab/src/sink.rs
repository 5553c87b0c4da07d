use pickfs_record::Event;

pub trait Sink {
    fn accept(&mut self, event: &Event);
}

impl<F: FnMut(&Event)> Sink for F {
    fn accept(&mut self, event: &Event) {
        self(event);
    }
}
