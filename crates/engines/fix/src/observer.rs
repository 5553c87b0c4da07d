//! What an engine tells whoever measures it. By default nobody listens, and it costs nothing.

use crate::store::Gate;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    In,
    Out,
}

/// Called on the engine's thread, around the steps of an order. Between the two calls of a step stands nothing but
/// the step.
pub trait Observer: Send {
    /// Bytes were read from a connection; what follows is of them, until the next call.
    fn read(&mut self, _connection: usize) {}
    fn checking(&mut self) {}
    fn checked(&mut self) {}
    fn keeping(&mut self, _way: Way) {}
    fn kept(&mut self, _way: Way) {}
    /// A gate is about to be waited at: before the business sees what came in, or before answers leave.
    fn waiting(&mut self, _gate: Gate) {}
    fn waited(&mut self, _gate: Gate) {}
    /// A NewOrderSingle of a connection was answered; its reports wait to be sent.
    fn answered(&mut self, _connection: usize) {}
    fn sending(&mut self, _connection: usize) {}
    fn sent(&mut self, _connection: usize) {}
}

impl Observer for () {}
