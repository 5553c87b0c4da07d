//! What an engine tells whoever measures it. By default nobody listens, and it costs nothing.

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It came in.
    In,
    /// It goes out.
    Out,
}

/// Called on the engine's thread, around the steps of an order. Between the two calls of a step stands nothing but
/// the step.
pub trait Observer: Send {
    /// Bytes were read from a connection; what follows is of them, until the next call.
    fn read(&mut self, _connection: usize) {}
    /// A message is about to be kept: with the gate before the business where it came in.
    fn keeping(&mut self, _way: Way) {}
    /// It was kept.
    fn kept(&mut self, _way: Way) {}
    /// The gate before answers leave is about to be waited at.
    fn waiting(&mut self) {}
    /// It opened.
    fn waited(&mut self) {}
    /// A NewOrderSingle was answered; its reports wait to be sent.
    fn answered(&mut self) {}
    /// Bytes are about to be written to a connection.
    fn sending(&mut self, _connection: usize) {}
    /// They were.
    fn sent(&mut self, _connection: usize) {}
}

impl Observer for () {}
