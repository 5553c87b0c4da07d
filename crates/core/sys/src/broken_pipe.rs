//! What happens when a reader of our output goes away: `pickfs plan --json | head`.

#![allow(unsafe_code)]

/// Lets SIGPIPE end the program quietly, as it ends other programs of a pipeline
/// (`signal(7)`); a Rust program starts with it ignored and would panic while printing.
/// Not for a program that writes to children of its own: their end would be its end.
pub fn end_quietly() {
    // SAFETY: called at the start of main, before any thread; SIG_DFL installs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
