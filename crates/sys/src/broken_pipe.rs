//! What happens when a reader of our output goes away: `pickfs plan --json | head`.

/// Lets SIGPIPE end the program quietly, as it ends other programs of a pipeline
/// (`signal(7)`); a Rust program starts with it ignored and would panic while printing.
pub fn end_quietly() {
    // SAFETY: called at the start of main, before any thread; SIG_DFL installs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
