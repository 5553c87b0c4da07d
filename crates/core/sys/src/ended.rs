//! The end of a child, which is seen and not waited for: for so long its number is its own, and that of its group, and a
//! signal reaches no stranger.

use std::{
    process::Child,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    io::retry_on_intr,
    process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, waitid},
};

use crate::program::Ended;

/// One that was killed may be in a long write, and has its files until then.
pub const KILLED_WITHIN: Duration = Duration::from_secs(600);
const LOOK_EACH: Duration = Duration::from_millis(5);

/// Of one that nobody has waited for; nothing where it goes on. Under an ignored SIGCHLD nothing either, and its number
/// is another's soon: see [`crate::signal_wait::keep_ended_children`].
pub fn ended_within(child: &Child, time: Duration) -> Option<WaitIdStatus> {
    let (began, process) = (Instant::now(), Pid::from_child(child));
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    loop {
        match retry_on_intr(|| waitid(WaitId::Pid(process), options)) {
            Ok(None) if began.elapsed() < time => thread::sleep(LOOK_EACH),
            // An error is of one that is nobody's child any more.
            ended => return ended.ok().flatten(),
        }
    }
}

/// `exit code 3`, `signal 9`
pub fn how(ended: WaitIdStatus) -> String {
    let (code, signal) = (ended.exit_status(), ended.terminating_signal());
    Ended { code, signal, ..Ended::default() }.how()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn an_end_is_seen_again_and_again_until_it_is_waited_for() {
        let shell = |script| Command::new("sh").args(["-c", script]).spawn().unwrap();
        let (mut ends, mut stays) = (shell("exit 3"), shell("exec sleep 600"));
        for _ in 0..2 {
            let ended = ended_within(&ends, Duration::from_secs(60));
            assert_eq!(ended.map(how).as_deref(), Some("exit code 3"));
        }
        ends.wait().unwrap();
        assert!([&ends, &stays].iter().all(|child| ended_within(child, LOOK_EACH).is_none()));
        stays.kill().unwrap();
        let ended = ended_within(&stays, Duration::from_secs(60));
        assert_eq!(ended.map(how).as_deref(), Some("signal 9"));
        stays.wait().unwrap();
    }
}
