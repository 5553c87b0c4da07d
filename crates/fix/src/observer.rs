//! What an engine tells whoever measures it. By default nobody listens, and it costs nothing.

use crate::store::Gate;

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
    /// A NewOrderSingle is about to be looked at by the risk check, where there is one.
    fn checking(&mut self) {}
    /// It was.
    fn checked(&mut self) {}
    /// A message is about to be kept.
    fn keeping(&mut self, _way: Way) {}
    /// It was kept.
    fn kept(&mut self, _way: Way) {}
    /// A gate is about to be waited at: before the business sees what came in, or before answers leave.
    fn waiting(&mut self, _gate: Gate) {}
    /// It opened.
    fn waited(&mut self, _gate: Gate) {}
    /// A NewOrderSingle of a connection was answered; its reports wait to be sent.
    fn answered(&mut self, _connection: usize) {}
    /// Bytes are about to be written to a connection.
    fn sending(&mut self, _connection: usize) {}
    /// They were.
    fn sent(&mut self, _connection: usize) {}
}

impl Observer for () {}
